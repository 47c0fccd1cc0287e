// The codecs of a Zarr array, as zarr.json has them.
#pragma once

#include "formats/zarr/array.hpp"
#include "formats/zarr/types.hpp"

namespace penstock::zarr {

/// Throws Error(format).
[[noreturn]] void refuse_metadata(const std::string& what);
/// A member of an object, or `otherwise` where there is none. Throw Error(format) where it is of
/// another type.
int number_or(const Json& object, const char* name, int otherwise);
bool flag_or(const Json& object, const char* name, bool otherwise);
std::string text_or(const Json& object, const char* name, const std::string& otherwise);
/// A list of whole numbers. Throws Error(format).
Shape shape_of(const Json& value, const std::string& name);
/// What an extension point ("chunk_grid", a codec) is told; an empty object where it is nothing.
Json configuration_of(const Json& extension);
/// Sets what the list says of codecs and shards; returns whether elements have their lowest byte
/// first. Throws Error(format), and Error(argument) for what this library does not have.
bool parse_codecs(const Json& list, Array& array);
/// "zstd:3", "blosc,crc32c", or JSON. Throws Error(argument).
std::vector<CodecSettings> parse_compressors(const std::string& text, const Type& type);
Json codecs_json(const Array& array);

}  // namespace penstock::zarr
