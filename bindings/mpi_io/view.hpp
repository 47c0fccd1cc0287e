// View: the visible bytes of a file, and their order (MPI 4.1, section 14.3). Copies of the
// filetype follow each other endlessly from the displacement on; their data is a stream of etypes,
// in which offsets are counted.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mpi_io/type_layout.hpp"
#include "pattern/memory_map.hpp"

namespace penstock {

/// If regions of a filetype overlap, the file may only be read.
enum class ViewUse { read, write };

class View {
 public:
  /// Bytes from the beginning of the file on.
  View();
  /// Layouts in the representation of the file. Throws Error(argument) for what the standard does
  /// not allow: a negative displacement; empty etypes; a filetype that does not consist of whole
  /// etypes; with class MPI_ERR_IO: one whose displacements are negative or descend, or whose
  /// regions overlap in a file opened for writing.
  View(std::int64_t displacement, std::shared_ptr<const TypeLayout> etype,
       std::shared_ptr<const TypeLayout> filetype, ViewUse use);

  std::int64_t displacement() const noexcept { return displacement_; }
  const TypeLayout& etype() const noexcept { return *etype_; }
  const TypeLayout& filetype() const noexcept { return *filetype_; }
  std::int64_t etype_size() const noexcept { return etype_size_; }
  /// The stream is one run of the file.
  bool contiguous() const noexcept { return contiguous_; }
  /// Whether every access is one ascending pattern. Otherwise copies of the filetype interleave, or
  /// its regions overlap.
  bool ascends() const noexcept { return ascends_; }

  /// `bytes` bytes of the stream from etype `offset` on, as consecutive patterns: one, unless the
  /// view does not ascend; none for 0 bytes. Throws Error(argument) for a negative offset, and if
  /// nothing is visible.
  std::vector<FilePattern> patterns_of(std::int64_t offset, std::int64_t bytes) const;
  /// The single pattern, for views that ascend.
  FilePattern pattern_of(std::int64_t offset, std::int64_t bytes) const;
  /// File offset of etype `offset` (MPI_File_get_byte_offset).
  std::int64_t byte_offset(std::int64_t offset) const;
  /// The first etype after which no byte is below `file_size`: the origin of MPI_SEEK_END.
  std::int64_t end_position(std::int64_t file_size) const;

 private:
  std::int64_t position_of(std::int64_t offset) const;
  void check_visible(std::int64_t bytes) const;
  /// Bytes of the stream before the first of those that all lie at or above `offset`.
  std::int64_t bytes_until(std::int64_t offset) const;

  std::int64_t displacement_ = 0, etype_size_ = 1, tile_size_ = 1, tile_extent_ = 1;
  std::shared_ptr<const TypeLayout> etype_, filetype_;
  bool contiguous_ = true, ascends_ = true;
  std::int64_t first_ = 0;          // file offset at which the stream begins
  std::vector<FilePattern> parts_;  // of the first filetype, at its place in the file
};

/// Splits the memory of several patterns into that of each.
std::vector<MemoryMap> split(const MemoryMap& memory, std::span<const FilePattern> patterns);

}  // namespace penstock
