// Many accesses at once, through io_uring. Compiled where liburing was found.
#pragma once

#include <memory>

#include "storage/blocks.hpp"

namespace penstock {

/// Null where the kernel gives no ring; `error` is then an errno.
std::unique_ptr<Mover> make_ring_mover(const BlockFile& file, int depth, int& error);

}  // namespace penstock
