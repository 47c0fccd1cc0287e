#include <penstock/error.hpp>

namespace penstock {

const char* to_string(ErrorClass cls) noexcept {
  switch (cls) {
    case ErrorClass::none: return "none";
    case ErrorClass::argument: return "argument";
    case ErrorClass::section: return "section";
    case ErrorClass::disagreement: return "disagreement";
    case ErrorClass::format: return "format";
    case ErrorClass::state: return "state";
    case ErrorClass::storage: return "storage";
    case ErrorClass::internal: return "internal";
  }
  return "unknown";
}

Error::Error(const std::string& message, std::string path, std::int64_t offset, int error_number)
    : std::runtime_error(message),
      cls_(ErrorClass::storage),
      path_(std::move(path)),
      offset_(offset),
      errno_(error_number) {}

Error::~Error() = default;

Error Error::from_rank(int rank, ErrorClass cls, const std::string& message,
                       const std::string& path, std::int64_t offset, int error_number) {
  Error error(cls, message);
  error.rank_ = rank;
  error.path_ = path;
  error.offset_ = offset;
  error.errno_ = error_number;
  return error;
}

}  // namespace penstock
