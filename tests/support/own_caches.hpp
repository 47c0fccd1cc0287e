// A file shared by several hosts, each with a page cache of its own, like clients of a network file
// system: what a host has cached stays until it is dropped, and what it has written goes to the
// server in whole pages, when it is synced or dropped.
#pragma once

#include <memory>

#include "storage/storage.hpp"

namespace penstock::test {

/// How accesses past the cache work. With `early` a write returns before the server has it, which
/// gets it at the host's next request.
enum class PastCacheAccess { any, aligned, none, early };

struct OwnCache {
  std::int64_t page = 64;
  PastCacheAccess past = PastCacheAccess::any;
};

/// One host's view of the file on `server`. Locks are granted, and exclude nobody.
std::unique_ptr<Storage> with_own_cache(std::shared_ptr<Storage> server, const OwnCache& cache);

}  // namespace penstock::test
