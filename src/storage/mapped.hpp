// Reading from a mapped file: one copy from the page cache to user memory, without a system call
// per run.
#pragma once

#include <mutex>
#include <optional>

#include "storage/storage.hpp"

namespace penstock {

/// Pages of a file in memory, for reading.
class Mapping {
 public:
  /// `pages` begins at a page boundary.
  Mapping(int fd, Extent pages);
  Mapping(const Mapping&) = delete;
  ~Mapping();
  /// Null: it could not be mapped.
  const std::byte* address() const noexcept { return address_; }
  const Extent& pages() const noexcept { return pages_; }

 private:
  Extent pages_;
  std::byte* address_ = nullptr;
};

/// False if the environment has PENSTOCK_MAPPED_READS=never. Throws Error(argument) for values
/// other than never and auto.
bool may_map_files();

/// One open file. A mapping is kept for the next call, up to `most_kept` bytes: setting up and
/// removing page table entries costs as much as copying the pages.
class MappedFile {
 public:
  static constexpr std::int64_t most_kept = std::int64_t{256} << 20;

  /// Passes a range of the file to `copy`. False if it cannot be mapped, does not lie within the
  /// file, or some of it became unavailable (the file was shortened, the device failed): then
  /// `copy` was not called, or took zeros in place of some bytes.
  ///
  /// An unavailable page raises SIGBUS. A handler turns those raised by this function's own copying
  /// into zeros, and passes all others to the previous handler. If the program has set one of its
  /// own since, nothing is mapped any more. Nor if may_map_files() is false; no handler is
  /// installed then.
  bool read(int fd, Extent range, const Storage::MappedCopy& copy);

 private:
  std::mutex mutex_;  // guards the rest; threads that find it locked make their own mapping
  std::optional<Mapping> kept_;
};

}  // namespace penstock
