// The data types of Zarr's core specification, and their fill values in JSON.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "formats/zarr/json_text.hpp"

namespace penstock::zarr {

struct Type {
  const char* name;  // in zarr.json
  char kind;         // in NumPy: b, i, u, f, c
  int size;          // bytes of an element
};

/// Throw Error(format) for an unknown name, and Error(argument) for an unsupported NumPy dtype
/// ("<f8").
const Type& type_named(const std::string& name);
const Type& type_of(const std::string& dtype);

/// An element with this value, in the byte order of the chunks. Throws Error(format).
std::vector<std::byte> fill_of(const Json& value, const Type& type, bool little);
Json json_of(std::span<const std::byte> fill, const Type& type, bool little);

}  // namespace penstock::zarr
