// Common parts of tests of datatypes and views.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include <penstock/error.hpp>

#include "mpi_io/datatype.hpp"
#include "support/random_patterns.hpp"

namespace penstock {

using test::Places;

/// A datatype, freed by the destructor.
struct Type {
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  ~Type() {
    if (handle != MPI_DATATYPE_NULL) MPI_Type_free(&handle);
  }
  MPI_Datatype* operator&() { return &handle; }
  operator MPI_Datatype() const { return handle; }
};

inline Places places_of(const TypeLayout& layout) {
  return test::places_of(layout.nest, 0, layout.nest.size());
}

inline std::size_t words_of(const Nest& nest) {
  std::vector<std::int64_t> words;
  nest.encode(words);
  return words.size();
}

inline void expect_error(const std::string& part, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "no error; expected one that says: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.error_class(), ErrorClass::argument);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

}  // namespace penstock
