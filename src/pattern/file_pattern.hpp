// FilePattern: which bytes of a file, ascending. Queries cost the depth of its nest, and in an
// irregular part the logarithm of its length.
//
// Invariant: the bytes ascend and none comes twice. So positions in the stream are in the order of
// offsets in the file, and each query has an inverse.
#pragma once

#include "pattern/nest.hpp"

namespace penstock {

class FilePattern {
 public:
  /// Nothing.
  FilePattern() = default;
  /// Throws Error(argument) where the bytes do not ascend, come twice, or lie below offset 0.
  explicit FilePattern(Nest nest);
  static FilePattern run(Extent extent) {
    return FilePattern(Nest::run(extent.begin, extent.length()));
  }
  /// `bytes` bytes of a stream that goes through copies of `pattern`, `extent` bytes apart without
  /// an end, from stream position `first` on: a file view (MPI 4.1, section 14.3). Copies must
  /// follow each other; what is within one has been checked before.
  static FilePattern tiles(const FilePattern& pattern, std::int64_t extent, std::int64_t first,
                           std::int64_t bytes);

  const Nest& nest() const noexcept { return nest_; }
  bool empty() const noexcept { return nest_.empty(); }
  std::int64_t size() const noexcept { return nest_.size(); }
  Extent hull() const noexcept { return nest_.hull(); }
  std::int64_t run_count() const noexcept { return nest_.run_count(0, size()); }

  /// Bytes at file offsets below `offset`.
  std::int64_t below(std::int64_t offset) const noexcept;
  /// File offset of the byte at `position`.
  std::int64_t offset_at(std::int64_t position) const noexcept { return nest_.place_of(position); }
  /// The bytes within `range`.
  FilePattern within(Extent range) const;

  void encode(std::vector<std::int64_t>& words) const { nest_.encode(words); }
  /// Of words that encode() has made. Throws Error for others.
  static FilePattern decode(NestReader& reader);

 private:
  Nest nest_;
};

/// Whether no byte is in two of the patterns. `unknown`: that would take long to find out.
enum class Apart { yes, no, unknown };
Apart are_apart(std::span<const FilePattern* const> patterns);

}  // namespace penstock
