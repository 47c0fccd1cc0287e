// A counting adapter that owns the storage behind it.
#pragma once

#include <memory>

#include "storage/count.hpp"

namespace penstock::test {

class OwnedCount : std::unique_ptr<Storage>, public CountedStorage {
 public:
  OwnedCount(std::unique_ptr<Storage> inner, StorageCounts& counts)
      : std::unique_ptr<Storage>(std::move(inner)),
        CountedStorage(*static_cast<std::unique_ptr<Storage>&>(*this), counts, counts) {}
};

inline std::unique_ptr<Storage> count(std::unique_ptr<Storage> inner, StorageCounts& counts) {
  return std::make_unique<OwnedCount>(std::move(inner), counts);
}

}  // namespace penstock::test
