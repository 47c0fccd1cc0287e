// The data types of Zarr's core specification and of zarr-extensions, and their fill values in
// JSON.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "formats/zarr/json_text.hpp"

namespace penstock::zarr {

/// Which bits of a float are no finite number.
enum class Special {
  ieee,         // with all exponent bits: infinity and NaNs
  no_infinity,  // with all bits but the sign: NaN
  one_nan,      // the sign alone: NaN; zero has no sign
  power_of_two  // an exponent alone; all bits: NaN
};

/// Bits of a float of 1 or 2 bytes.
struct FloatFormat {
  int exponent = 0, mantissa = 0, bias = 0;
  Special special = Special::ieee;
};

struct Type {
  const char* name;         // in zarr.json
  char kind;                // as NumPy's: b, i, u, f, c
  int size;                 // bytes of an element
  FloatFormat format = {};  // of small floats
  bool is_numpy = true;     // otherwise its dtype is its name
};

/// Throw Error(format) for an unknown name, and Error(argument) for an unsupported dtype.
const Type& type_named(const std::string& name);
const Type& type_of(const std::string& dtype);
/// "<f8", or for types that NumPy lacks their name; ">bfloat16" in big-endian chunks.
std::string dtype_of(const Type& type, bool little);

/// An element with this value, in the byte order of the chunks. Throws Error(format).
std::vector<std::byte> fill_of(const Json& value, const Type& type, bool little);
Json json_of(std::span<const std::byte> fill, const Type& type, bool little);

}  // namespace penstock::zarr
