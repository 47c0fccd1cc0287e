// ChunkStorage: the virtual space of a chunked array (see ChunkGrid) as a Storage. A chunk is
// encoded when it is written and decoded when it is read; writing a part of a chunk means reading
// and rewriting all of it. So a chunk must have one writer at a time, which the engine learns from
// FileUnits::indivisible, and accesses of whole chunks are cheapest.
//
// A chunk that is not stored has the fill value; one with only that need not be stored.
//
// Errors of a chunk are thrown, with the name of its file; the return values of a Storage have no
// room for that.
#pragma once

#include <atomic>
#include <memory>

#include "formats/zarr/array.hpp"
#include "formats/zarr/chunk_store.hpp"
#include "storage/storage.hpp"

namespace penstock {

/// `reach`: size of the virtual space, which grows with the array.
std::unique_ptr<Storage> make_chunk_storage(std::shared_ptr<ChunkStore> store,
                                            const zarr::Array& array,
                                            std::shared_ptr<const std::atomic<std::int64_t>> reach);

}  // namespace penstock
