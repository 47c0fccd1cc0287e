// What a fuzzer is: one function of some bytes, which returns whatever they are. driver.cpp runs it
// with inputs that it makes from those of corpus/NAME.
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

/// Ends the program by a signal, or throws, where Penstock does wrong with these bytes.
void fuzz_one(const std::uint8_t* data, std::size_t size);
/// Pieces of the format, which random bytes would hardly make up.
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

/// Whether the work came to its end; what it refuses must be of one of these classes, in words that
/// fit a terminal.
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
