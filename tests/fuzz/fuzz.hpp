// A fuzzer: one function of some bytes, which must return for any of them. driver.cpp runs it with
// inputs derived from those of corpus/NAME.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <penstock/error.hpp>

/// Ends the program by a signal, or throws, if Penstock misbehaves with these bytes.
void fuzz_one(const std::uint8_t* data, std::size_t size);
/// Pieces of the format that random bytes would hardly contain.
std::span<const std::string_view> fuzz_words();

namespace penstock::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::abort();
}

/// Whether the work succeeded; a refusal must have one of these classes, and a message that fits a
/// terminal.
template <class Work>
bool accepted(Work&& work, std::initializer_list<ErrorClass> refusals) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    bool expected = false;
    for (const ErrorClass refusal : refusals) expected = expected || refusal == error.error_class();
    require(expected, error.what());
    require(std::strlen(error.what()) < 4096, "the message is longer than 4096 bytes");
    return false;
  }
}

}  // namespace penstock::fuzz
