// ChunkGrid: where the elements of a chunked array are in its *virtual space*, the bytes that the
// engine reads and writes. Shards follow each other in C order of the grid; within a shard the
// chunks, and within a chunk the elements, also in C order. Chunks at the edge of the array are as
// large as the others. An array without shards has one chunk in each.
#pragma once

#include <cstdint>
#include <vector>

#include "pattern/units.hpp"

namespace penstock {

using Shape = std::vector<std::int64_t>;

struct ChunkGrid {
  Shape shape, shard, chunk;  // in elements; each extent of shard is a multiple of that of chunk
  std::int64_t element_size = 1;

  /// Throws Error(argument) if the extents fit no array.
  void check() const;
  std::int64_t chunk_bytes() const noexcept;
  std::int64_t shard_bytes() const noexcept;
  std::int64_t chunks_in_shard() const noexcept { return shard_bytes() / chunk_bytes(); }
  /// Shards in each dimension.
  Shape shards() const;
  std::int64_t shard_count() const;
  std::int64_t total_bytes() const { return shard_count() * shard_bytes(); }
  /// Of the chunk with these coordinates, counted over the whole array.
  std::int64_t offset_of(const Shape& chunk_at) const noexcept;
  /// Of the shard with this number, which may lie beyond the array's present length.
  Shape coordinates(std::int64_t shard_number) const;
  FileUnits units() const;
};

/// Extents of chunks of some MiB: the array's, halved in the slowest dimensions first.
Shape choose_chunk(const Shape& shape, std::int64_t element_size);

}  // namespace penstock
