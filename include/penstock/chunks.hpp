// ChunkSpec: how an array is divided into chunks, and how these are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace penstock {

struct PlacedChunks;  // <penstock/placed_chunks.hpp>

/// Of an array in chunks (Zarr, HDF5). Of an existing one fields may be left empty, and those given
/// must agree with it.
struct ChunkSpec {
  std::vector<std::int64_t> chunks;  ///< extents of a chunk; empty: chosen, of some MiB
  std::vector<std::int64_t>
      shards;  ///< extents of a file of several chunks; empty: a file for each
  /// Names with levels, as "zstd:3" or "blosc:5,crc32c"; or JSON as zarr.json has it. Empty: none
  std::string compressors;
  std::vector<std::byte> fill_value;  ///< an element, for chunks that are not there; empty: zeros
  std::vector<std::string> dimension_names;  ///< one for each dimension; empty: none
  std::string attributes;                    ///< a JSON object; empty: none
  /// Of chunks that lie in a file which another library has made, with mode "r" or "r+": these have
  /// no more than `chunks` and `fill_value` of what is above. Null: it is a Zarr array
  std::shared_ptr<const PlacedChunks> placed;
  friend bool operator==(const ChunkSpec&, const ChunkSpec&) = default;
};

}  // namespace penstock
