// A file that several hosts have, each with a page cache of its own, as clients of a network file
// system have: what a host has in its cache stays as it is until it is forgotten, and what it has
// written goes to the server in whole pages, when it is synced or forgotten.
#pragma once

#include <memory>

#include "storage/storage.hpp"

namespace penstock::test {

/// What an access past the cache may be. With `early` a write is answered before the server has it,
/// which it gets when the host asks it for something.
enum class PastCacheAccess { any, aligned, none, early };

struct OwnCache {
  std::int64_t page = 64;
  PastCacheAccess past = PastCacheAccess::any;
};

/// One host's view of what `server` has. Locks are had, and exclude nobody.
std::unique_ptr<Storage> with_own_cache(std::shared_ptr<Storage> server, const OwnCache& cache);

}  // namespace penstock::test
