// ChunkSpec: how an array is divided into chunks, and how these are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace penstock {

struct PlacedChunks;  // <penstock/placed_chunks.hpp>

/// For a chunked array (Zarr, HDF5). For an existing one fields may be left empty, and those given
/// must agree with it.
struct ChunkSpec {
  std::vector<std::int64_t> chunks;  ///< extents of a chunk; empty: chosen, some MiB
  std::vector<std::int64_t>
      shards;  ///< extents of a file of several chunks; empty: one file per chunk
  /// Names with levels, such as "zstd:3" or "blosc:5,crc32c"; or JSON as in zarr.json. Empty: none
  std::string compressors;
  std::vector<std::byte> fill_value;         ///< an element, for missing chunks; empty: zeros
  std::vector<std::string> dimension_names;  ///< one per dimension; empty: none
  std::string attributes;                    ///< a JSON object; empty: none
  /// For chunks in a file that another library has made, with mode "r" or "r+": only `chunks` and
  /// `fill_value` above are used then. Null: a Zarr array
  std::shared_ptr<const PlacedChunks> placed;
  friend bool operator==(const ChunkSpec&, const ChunkSpec&) = default;
};

}  // namespace penstock
