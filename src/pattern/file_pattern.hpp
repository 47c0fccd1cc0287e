// FilePattern: ascending bytes of a file. Queries cost the depth of its nest, and in an irregular
// part the logarithm of its length.
//
// Invariant: the bytes ascend, and none occurs twice. So positions in the stream are in the order
// of file offsets, and each query has an inverse.
#pragma once

#include "pattern/nest.hpp"

namespace penstock {

class FilePattern {
 public:
  /// Nothing.
  FilePattern() = default;
  /// Throws Error(argument) if the bytes do not ascend, occur twice, or lie below offset 0.
  explicit FilePattern(Nest nest);
  static FilePattern run(Extent extent) {
    return FilePattern(Nest::run(extent.begin, extent.length()));
  }
  /// `bytes` bytes, from stream position `first` on, of an endless series of copies of `pattern`,
  /// `extent` bytes apart: a file view (MPI 4.1, section 14.3). Copies must follow each other; the
  /// inside of a copy has been checked before.
  static FilePattern tiles(const FilePattern& pattern, std::int64_t extent, std::int64_t first,
                           std::int64_t bytes);

  const Nest& nest() const noexcept { return nest_; }
  bool empty() const noexcept { return nest_.empty(); }
  std::int64_t size() const noexcept { return nest_.size(); }
  Extent hull() const noexcept { return nest_.hull(); }
  std::int64_t run_count() const noexcept { return nest_.run_count(0, size()); }

  /// Number of its bytes at file offsets below `offset`.
  std::int64_t below(std::int64_t offset) const noexcept;
  /// File offset of the byte at `position`.
  std::int64_t offset_at(std::int64_t position) const noexcept { return nest_.place_of(position); }
  /// The bytes within `range`.
  FilePattern within(Extent range) const;

  void encode(std::vector<std::int64_t>& words) const { nest_.encode(words); }
  /// From words made by encode(). Throws Error for others.
  static FilePattern decode(NestReader& reader);

 private:
  Nest nest_;
};

/// Whether no byte is in two of the patterns. `unknown`: too expensive to determine.
enum class Apart { yes, no, unknown };
Apart are_apart(std::span<const FilePattern* const> patterns);

}  // namespace penstock
