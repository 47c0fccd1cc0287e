// PlacedChunks: an array whose chunks lie anywhere in one file, whose metadata is maintained by
// another library (HDF5): it returns where chunks are, and where new ones may go.
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
  std::int64_t size = 0;     ///< stored bytes
  std::int64_t skipped = 0;  ///< bit i: filter i was not applied to it
};

/// A transformation of a chunk before it is stored.
struct ChunkFilter {
  std::string name;        ///< shuffle, deflate, zstd or blosc
  int level = 0;           ///< for the last three
  std::string compressor;  ///< for blosc
  int shuffle = 0;         ///< for blosc: 0 none, 1 bytes, 2 bits
};

/// The functions are called on rank 0 alone, while the other ranks wait. They may throw.
struct PlacedChunks {
  std::vector<ChunkFilter> filters;  ///< in the order of application
  std::vector<ChunkPlace> places;    ///< of existing chunks, the same on every rank
  std::int64_t extent = 0;           ///< of the slowest dimension, if that is `unlimited`
  /// Sets the offsets of chunks to be stored, in an array of that shape. Bytes in use by the file's
  /// present state must stay as they are.
  std::function<void(const std::vector<std::int64_t>& shape, std::vector<ChunkPlace>& chunks)>
      place;
  /// Called when all placed chunks are in the file: updates the file's metadata with these and that
  /// shape.
  std::function<void(const std::vector<std::int64_t>& shape)> publish;
};

}  // namespace penstock
