// The codecs of a Zarr array, as given in zarr.json.
#pragma once

#include "formats/zarr/array.hpp"
#include "formats/zarr/types.hpp"

namespace penstock::zarr {

/// Throws Error(format).
[[noreturn]] void refuse_metadata(const std::string& what);
/// A member of an object, or `otherwise` if there is none. Throws Error(format) if it is of another
/// type.
int number_or(const Json& object, const char* name, int otherwise);
bool flag_or(const Json& object, const char* name, bool otherwise);
std::string text_or(const Json& object, const char* name, const std::string& otherwise);
/// A list of whole numbers. Throws Error(format).
Shape shape_of(const Json& value, const std::string& name);
/// The configuration of an extension point ("chunk_grid", a codec); an empty object if there is
/// none.
Json configuration_of(const Json& extension);
/// Sets codecs and shards from the list; returns whether elements are little-endian. Throws
/// Error(format), and Error(argument) for what this library does not support.
bool parse_codecs(const Json& list, Array& array);
/// "zstd:3", "blosc,crc32c", or JSON. Throws Error(argument).
std::vector<CodecSettings> parse_compressors(const std::string& text, const Type& type);
Json codecs_json(const Array& array);

}  // namespace penstock::zarr
