// Errors that Penstock throws. Every rank of a collective call throws the same class.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <penstock/export.hpp>

namespace penstock {

/// What kind of thing went wrong. The numbers order by gravity: when ranks fail differently, the
/// largest class is the one that all of them throw.
enum class ErrorClass : int {
  none = 0,
  argument = 1,      ///< a value that no call accepts (unknown method, buffer of the wrong size)
  section = 2,       ///< a section that does not fit the array (zero stride, out of bounds)
  disagreement = 3,  ///< ranks passed different values where all must pass the same
  format = 4,        ///< the file is not what it should be (foreign, truncated, other shape)
  state = 5,         ///< the file is closed, or was opened in another mode
  storage = 6,       ///< the operating system refused (errno says why)
  internal = 7,      ///< a defect of Penstock or of the MPI library
};

PENSTOCK_EXPORT const char* to_string(ErrorClass cls) noexcept;

/// An error for the reader: which argument, which rank, which file, what was expected, what to do.
class PENSTOCK_EXPORT Error : public std::runtime_error {
 public:
  /// `message`: for the reader, in whole words.
  Error(ErrorClass cls, const std::string& message) : std::runtime_error(message), cls_(cls) {}
  /// A failed system call on `path`: `offset` in bytes (-1: none), `error_number` an errno.
  Error(const std::string& message, std::string path, std::int64_t offset, int error_number);
  ~Error() override;

  ErrorClass error_class() const noexcept { return cls_; }  ///< of the gravest error of all ranks
  int rank() const noexcept { return rank_; }  ///< the rank that failed first; -1: not known
  const std::string& path() const noexcept { return path_; }  ///< of a file; empty: none
  std::int64_t offset() const noexcept { return offset_; }    ///< bytes into the file; -1: none
  int error_number() const noexcept { return errno_; }        ///< an errno; 0: none

  /// The same error seen from another rank.
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
