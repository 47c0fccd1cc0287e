// View: which bytes of a file a process sees, and in what order (MPI 4.1, section 14.3). Copies of
// the filetype follow each other without an end from the displacement on; what they hold is a
// stream of etypes, in which offsets are counted.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mpi_io/type_layout.hpp"
#include "pattern/memory_map.hpp"

namespace penstock {

/// Where regions of a filetype overlap, its file may only be read.
enum class ViewUse { read, write };

class View {
 public:
  /// Bytes from the begin of the file on.
  View();
  /// Layouts in the representation of the file. Throws Error(argument) that says what the standard
  /// does not allow: a negative displacement; etypes of no bytes; a filetype that is not made of
  /// whole etypes; of class MPI_ERR_IO: one whose displacements are negative or descend, or whose
  /// regions overlap in a file that is written.
  View(std::int64_t displacement, std::shared_ptr<const TypeLayout> etype,
       std::shared_ptr<const TypeLayout> filetype, ViewUse use);

  std::int64_t displacement() const noexcept { return displacement_; }
  const TypeLayout& etype() const noexcept { return *etype_; }
  const TypeLayout& filetype() const noexcept { return *filetype_; }
  std::int64_t etype_size() const noexcept { return etype_size_; }
  /// The stream is one run of the file.
  bool contiguous() const noexcept { return contiguous_; }
  /// Every access ascends: it has one pattern. Otherwise copies of the filetype reach into each
  /// other, or its regions overlap.
  bool ascends() const noexcept { return ascends_; }

  /// `bytes` bytes of the stream from etype `offset` on, as patterns one after the other: one,
  /// unless the view does not ascend; none of no bytes. Throws Error(argument) for a negative
  /// offset, and where nothing can be seen.
  std::vector<FilePattern> patterns_of(std::int64_t offset, std::int64_t bytes) const;
  /// The only one; for views that ascend.
  FilePattern pattern_of(std::int64_t offset, std::int64_t bytes) const;
  /// Where in the file etype `offset` begins (MPI_File_get_byte_offset).
  std::int64_t byte_offset(std::int64_t offset) const;
  /// The first etype from which on no byte is below `file_size`: what MPI_SEEK_END counts from.
  std::int64_t end_position(std::int64_t file_size) const;

 private:
  std::int64_t position_of(std::int64_t offset) const;
  void check_visible(std::int64_t bytes) const;
  /// Bytes of the stream before the first one of those that all lie at `offset` or above.
  std::int64_t bytes_until(std::int64_t offset) const;

  std::int64_t displacement_ = 0, etype_size_ = 1, tile_size_ = 1, tile_extent_ = 1;
  std::shared_ptr<const TypeLayout> etype_, filetype_;
  bool contiguous_ = true, ascends_ = true;
  std::int64_t first_ = 0;          // where the stream begins in the file
  std::vector<FilePattern> parts_;  // of the first filetype, where it is in the file
};

/// The memory of each of several patterns, of the memory of all.
std::vector<MemoryMap> split(const MemoryMap& memory, std::span<const FilePattern> patterns);

}  // namespace penstock
