// PlacedChunks: an array whose chunks lie anywhere in one file, of which another library (HDF5)
// keeps the metadata: it says where chunks are, and where new ones may go.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace penstock {

/// A chunk in the file.
struct ChunkPlace {
  std::int64_t chunk = 0;    ///< its number in the grid of chunks, in order C
  std::int64_t offset = 0;   ///< of its first byte in the file
  std::int64_t size = 0;     ///< bytes that are stored
  std::int64_t skipped = 0;  ///< bit i: the filter i was left out for it
};

/// What is done to a chunk before it is stored.
struct ChunkFilter {
  std::string name;        ///< shuffle, deflate, zstd or blosc
  int level = 0;           ///< of the last three
  std::string compressor;  ///< of blosc
  int shuffle = 0;         ///< of blosc: 0 none, 1 bytes, 2 bits
};

/// The functions are called on rank 0 alone, while the other ranks wait for it. They may throw.
struct PlacedChunks {
  std::vector<ChunkFilter> filters;  ///< in the order in which they are applied
  std::vector<ChunkPlace> places;    ///< of the chunks that are there, the same on every rank
  std::int64_t extent = 0;           ///< of the slowest dimension, where that is `unlimited`
  /// Sets the offsets of chunks that are to be stored, in an array of that shape. Bytes of what
  /// the file says now must stay as they are.
  std::function<void(const std::vector<std::int64_t>& shape, std::vector<ChunkPlace>& chunks)>
      place;
  /// All that was placed is in the file: from now on the file says so, and that it has that shape.
  std::function<void(const std::vector<std::int64_t>& shape)> publish;
};

}  // namespace penstock
