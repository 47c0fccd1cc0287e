// Errors that Penstock throws. Every rank of a collective call throws the same class.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <penstock/export.hpp>

namespace penstock {

/// The kind of error. The numbers order by gravity: if ranks fail differently, all of them throw
/// the largest class.
enum class ErrorClass : int {
  none = 0,
  argument = 1,      ///< an invalid value (unknown method, buffer of the wrong size)
  section = 2,       ///< a section that does not fit the array (zero stride, out of bounds)
  disagreement = 3,  ///< ranks passed different values where all must pass the same
  format = 4,    ///< the content of the file is not as expected (foreign, truncated, other shape)
  state = 5,     ///< the file is closed, or was opened in another mode
  storage = 6,   ///< the operating system refused (see errno)
  internal = 7,  ///< a defect of Penstock or of the MPI library
};

PENSTOCK_EXPORT const char* to_string(ErrorClass cls) noexcept;

/// An error whose message is for the user: which argument, rank and file, what was expected, what
/// to do.
class PENSTOCK_EXPORT Error : public std::runtime_error {
 public:
  /// `message`: for the user, in full sentences.
  Error(ErrorClass cls, const std::string& message) : std::runtime_error(message), cls_(cls) {}
  /// A failed system call on `path`: `offset` in bytes (-1: none), `error_number` an errno.
  Error(const std::string& message, std::string path, std::int64_t offset, int error_number);
  ~Error() override;

  ErrorClass error_class() const noexcept { return cls_; }  ///< the gravest of all ranks
  int rank() const noexcept { return rank_; }  ///< the rank that failed first; -1: unknown
  const std::string& path() const noexcept { return path_; }  ///< of a file; empty: none
  std::int64_t offset() const noexcept { return offset_; }    ///< bytes into the file; -1: none
  int error_number() const noexcept { return errno_; }        ///< an errno; 0: none

  /// The same error as seen from another rank.
  static Error from_rank(int rank, ErrorClass cls, const std::string& message,
                         const std::string& path, std::int64_t offset, int error_number);

 private:
  ErrorClass cls_;
  int rank_ = -1;
  std::string path_;
  std::int64_t offset_ = -1;
  int errno_ = 0;
};

}  // namespace penstock
