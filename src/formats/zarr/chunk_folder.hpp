// The chunks of a Zarr array, as files in its folder. They are replaced as a whole
// (storage/replacement.hpp).
#pragma once

#include <memory>
#include <string>

#include "formats/zarr/array.hpp"
#include "formats/zarr/chunk_store.hpp"

namespace penstock {

std::shared_ptr<ChunkStore> make_chunk_folder(std::string folder, const zarr::Array& array);

}  // namespace penstock
