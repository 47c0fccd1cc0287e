// Throwing errors with consistent messages.
#pragma once

#include <cstdint>
#include <string>

#include <penstock/error.hpp>

namespace penstock {

[[noreturn]] void throw_argument(const std::string& message);
/// "No space left on device (errno 28); free some space and write again".
std::string text_of_errno(int number);
/// "WHAT 'PATH': ..." of a system call that failed; `code` is -errno.
[[noreturn]] void throw_errno(const std::string& what, const std::string& path, std::int64_t code);

}  // namespace penstock
