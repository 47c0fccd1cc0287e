#include "base/failure.hpp"

#include <cerrno>
#include <cstring>

namespace penstock {

void throw_argument(const std::string& message) {
  throw Error(ErrorClass::argument, message);
}

std::string text_of_errno(int number) {
  std::string text = std::strerror(number);
  text += " (errno " + std::to_string(number) + ")";
  if (number == ENOSPC) text += "; free some space and write again";
  if (number == EDQUOT) text += "; the disk quota is used up";
  if (number == EFBIG) text += "; the file system or a limit (ulimit -f) forbids files this large";
  return text;
}

void throw_errno(const std::string& what, const std::string& path, std::int64_t code) {
  const int number = static_cast<int>(-code);
  throw Error(what + " '" + path + "': " + text_of_errno(number), path, -1, number);
}

}  // namespace penstock
