// ChunkStorage: the virtual space of a chunked array (see ChunkGrid) as a Storage. A chunk is
// encoded when it is written and decoded when it is read; what is written of a part of one is a
// change of all of it. So a chunk must have one writer at a time, which FileUnits::indivisible
// says to the engine; and accesses of whole chunks are the cheap ones.
//
// One that is not stored holds the fill value; one that would hold nothing else need not be stored.
//
// What goes wrong with a chunk is thrown, in words that name its file; the numbers that a Storage
// returns have no place for that.
#pragma once

#include <atomic>
#include <memory>

#include "formats/zarr/array.hpp"
#include "formats/zarr/chunk_store.hpp"
#include "storage/storage.hpp"

namespace penstock {

/// `reach`: bytes of the virtual space, which becomes longer with the array.
std::unique_ptr<Storage> make_chunk_storage(std::shared_ptr<ChunkStore> store,
                                            const zarr::Array& array,
                                            std::shared_ptr<const std::atomic<std::int64_t>> reach);

}  // namespace penstock
