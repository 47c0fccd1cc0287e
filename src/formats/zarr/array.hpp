// Zarr 3 array metadata: parsing and formatting zarr.json. Pure.
#pragma once

#include <string>
#include <string_view>

#include <penstock/array_file.hpp>

#include "formats/zarr/chunk_grid.hpp"
#include "formats/zarr/codec/codec.hpp"

namespace penstock::zarr {

struct Array {
  ChunkGrid grid;
  bool is_scalar = false;  // one element, without dimensions in the metadata; the grid has one
  std::string dtype;  // in NumPy's notation, with the byte order of the chunks; or a type's name
  std::vector<std::byte> fill;
  std::vector<CodecSettings> codecs;  // of chunks, from bytes to bytes
  bool sharded = false;
  bool index_at_end = true, index_little = true, index_has_sum = true;  // for shards
  bool named_by_prefix = true;  // chunk keys: "c" and the coordinates (default), or just these (v2)
  char separator = '/';
  std::vector<std::string> dimension_names;
  std::string attributes;  // a JSON object; empty: none

  /// Name of a chunk's (or shard's) file in the array's folder.
  std::string key_of(std::int64_t shard_number) const;
  /// Whether a file or folder of this name in the array's folder belongs to chunks.
  bool names_chunks(std::string_view entry) const;
  ArraySpec spec() const;
};

/// Throws Error(format) unless it is the metadata of an array, or if this library does not support
/// it.
Array parse(std::string_view text);
/// For a new array. Throws Error(argument) for what Zarr does not support.
Array make(const ArraySpec& spec);
std::string document_of(const Array& array);
/// For a group without attributes.
std::string group_text();
/// The node type in zarr.json: "array", "group"... Throws Error(format).
std::string node_type_of(std::string_view text);
/// Throws Error(argument) unless the text is a JSON object. Without a JSON library any text passes.
void check_attributes(const std::string& text);

}  // namespace penstock::zarr
