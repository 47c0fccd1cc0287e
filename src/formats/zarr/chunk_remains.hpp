// Chunks beyond the shape of an array that is to grow: left by a program that was killed before it
// updated zarr.json. New steps must not show them.
#pragma once

#include "formats/zarr/array.hpp"
#include "storage/storage.hpp"

namespace penstock {

/// Removes the chunks beyond the first dimension's extent, and sets the elements of the last ones
/// that lie beyond it to the fill value. Throws Error(storage), Error(format) if one is damaged.
void remove_remains(const std::string& folder, const zarr::Array& array, Storage& storage);

}  // namespace penstock
