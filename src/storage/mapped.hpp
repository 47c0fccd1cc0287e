// Reading out of a mapped file: one copy from the page cache to user memory, without a call of the
// kernel for each run.
#pragma once

#include <mutex>
#include <optional>

#include "storage/storage.hpp"

namespace penstock {

/// Pages of a file in memory, to be read.
class Mapping {
 public:
  /// `pages` begins at a page.
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

/// False: the program's environment has PENSTOCK_MAPPED_READS=never. Throws Error(argument) where
/// that has another value than never and auto.
bool may_map_files();

/// One open file. What is mapped for a call stays for the next one, up to `most_kept` bytes:
/// entering pages into the page table, and taking them out, costs as much as copying them.
class MappedFile {
 public:
  static constexpr std::int64_t most_kept = std::int64_t{256} << 20;

  /// Hands a range of the file to `copy`. False where it cannot be mapped, where it does not lie
  /// within the file, or where some of it could not be had meanwhile (the file was shortened, the
  /// device failed): then `copy` was not called, or took zeros in place of some bytes.
  ///
  /// What cannot be had is a SIGBUS. A handler turns those of this function's own copying into
  /// zeros, and passes on all others to the handler that was there before. Where the program has
  /// set one of its own since, nothing is mapped any more. Nor is it where may_map_files() is
  /// false, and there is no handler then.
  bool read(int fd, Extent range, const Storage::MappedCopy& copy);

 private:
  std::mutex mutex_;  // of what follows; who finds it locked maps for himself
  std::optional<Mapping> kept_;
};

}  // namespace penstock
