// Error codes and texts.
#include <exception>
#include <new>

#include "c/guard.hpp"

namespace penstock::c {
namespace {

thread_local std::string last_text;

constexpr bool same(ErrorClass cls, penstock_code code) {
  return static_cast<int>(cls) == static_cast<int>(code);
}
static_assert(same(ErrorClass::none, PENSTOCK_SUCCESS) &&
              same(ErrorClass::argument, PENSTOCK_ERROR_ARGUMENT) &&
              same(ErrorClass::section, PENSTOCK_ERROR_SECTION) &&
              same(ErrorClass::disagreement, PENSTOCK_ERROR_DISAGREEMENT) &&
              same(ErrorClass::format, PENSTOCK_ERROR_FORMAT) &&
              same(ErrorClass::state, PENSTOCK_ERROR_STATE) &&
              same(ErrorClass::storage, PENSTOCK_ERROR_STORAGE) &&
              same(ErrorClass::internal, PENSTOCK_ERROR_INTERNAL));

}  // namespace

int keep_error(ErrorClass cls, const char* text) noexcept {
  try {
    last_text = text;
  } catch (...) {
    last_text.clear();  // no memory for the text: only the code is available
  }
  return static_cast<int>(cls);
}

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {ErrorClass::internal, "out of memory"};
  } catch (const std::exception& error) {
    return {ErrorClass::internal, error.what()};
  } catch (...) {
    return {ErrorClass::internal, "an exception of unknown type"};
  }
}

}  // namespace penstock::c

const char* penstock_error_text(void) {
  return penstock::c::last_text.c_str();
}

const char* penstock_error_name(int code) {
  if (code == PENSTOCK_SUCCESS) return "success";
  return penstock::to_string(static_cast<penstock::ErrorClass>(code));
}
