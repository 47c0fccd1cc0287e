// What is beyond the shape of a chunked array that is to grow: chunks of a program that was ended
// before zarr.json told of them. New steps must not show it.
#pragma once

#include "formats/zarr/array.hpp"
#include "storage/storage.hpp"

namespace penstock {

/// Removes the chunks beyond the first dimension's extent, and gives the elements of the last ones
/// that lie beyond it the fill value. Throws Error(storage), Error(format) where one is damaged.
void remove_remains(const std::string& folder, const zarr::Array& array, Storage& storage);

}  // namespace penstock
