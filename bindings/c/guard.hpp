// The boundary of C++: every function of the C interface runs in guarded(), which catches all
// exceptions.
#pragma once

#include <penstock/penstock.h>

#include <optional>
#include <string>

#include <penstock/error.hpp>

namespace penstock::c {

/// Keeps the text for penstock_error_text, and returns the code of its class.
int keep_error(ErrorClass cls, const char* text) noexcept;

/// The exception that is being handled, as an Error.
Error current_error();

/// The exception of `work`, as an Error; nothing if it threw none.
template <class Work>
std::optional<Error> fault_of(Work&& work) {
  try {
    work();
    return std::nullopt;
  } catch (...) {
    return current_error();
  }
}

/// PENSTOCK_SUCCESS, or the class of the error that `work` threw.
template <class Work>
int guarded(Work&& work) noexcept {
  try {
    const std::optional<Error> error = fault_of(work);
    return error ? keep_error(error->error_class(), error->what()) : PENSTOCK_SUCCESS;
  } catch (...) {  // no memory for an Error
    return keep_error(ErrorClass::internal, "");
  }
}

/// Checks a pointer that must not be NULL: returns *pointer, or throws Error(argument).
template <class T>
T& given(T* pointer, const char* name) {
  if (pointer == nullptr) throw Error(ErrorClass::argument, std::string(name) + " is NULL");
  return *pointer;
}

/// The text of an argument, or a default for NULL.
inline std::string text_or(const char* text, const char* otherwise) {
  return text != nullptr ? text : otherwise;
}

}  // namespace penstock::c
