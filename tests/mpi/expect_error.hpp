// Errors of collective calls, the same on every rank.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include <penstock/error.hpp>

namespace penstock {

/// Expects an error of this class whose message contains this text.
template <class Call>
void expect_error(ErrorClass kind, const std::string& words, Call&& call) {
  try {
    std::forward<Call>(call)();
    ADD_FAILURE() << "nothing was thrown; expected: " << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.error_class(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

}  // namespace penstock
