// Storage of simulated ranks that has locks, and keeps what it is asked for; that is held up.
#pragma once

#include <algorithm>
#include <map>

#include "background_gate.hpp"
#include "operations_support.hpp"

namespace penstock::test {

class Observed : public StorageView {
 public:
  struct Write {
    Extent range;
    std::uintptr_t address;
    std::optional<LockKind> lock;  // held around all of it
  };
  struct Log {
    std::vector<Write> writes;
    std::vector<Extent> reads_under_no_exclusive_lock;
    std::size_t most_locks = 0, locks = 0;  // at a time, and all
  };

  Observed(std::shared_ptr<Storage> shared, Log& log) : StorageView(std::move(shared)), log_(log) {}

  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override {
    const Extent range{offset, offset + size_of(memory)};
    if (direction == Direction::write)
      log_.writes.push_back(
          {range, reinterpret_cast<std::uintptr_t>(memory[0].iov_base), lock_around(range)});
    else if (lock_around(range) != LockKind::exclusive)
      log_.reads_under_no_exclusive_lock.push_back(range);
    return StorageView::move_some(direction, memory, offset);
  }
  std::unique_ptr<RangeLock> lock(Extent range, LockKind kind, int& error) override {
    error = 0;
    log_.most_locks = std::max(log_.most_locks, held_.size() + 1);
    ++log_.locks;
    return std::make_unique<Held>(held_, range, kind);
  }

 private:
  using Locks = std::multimap<std::int64_t, std::pair<Extent, LockKind>>;
  struct Held : RangeLock {
    Held(Locks& locks, Extent range, LockKind kind)
        : locks(locks), at(locks.insert({range.begin, {range, kind}})) {}
    ~Held() override { locks.erase(at); }
    Locks& locks;
    Locks::iterator at;
  };
  std::optional<LockKind> lock_around(Extent range) const {
    for (const auto& [begin, held] : held_)
      if (begin <= range.begin && held.first.end >= range.end) return held.second;
    return std::nullopt;
  }

  Log& log_;
  Locks held_;
};

/// Writes nothing while the gate is closed.
class HeldUp final : public StorageView {
 public:
  HeldUp(std::shared_ptr<Storage> shared, Gate& gate)
      : StorageView(std::move(shared)), gate_(gate) {}

  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override {
    if (direction == Direction::write) gate_.pass();
    return StorageView::move_some(direction, memory, offset);
  }

 private:
  Gate& gate_;
};

/// One run in the file; `bytes` must live as long as the access.
inline Access write_of(Extent range, std::vector<std::byte>& bytes) {
  Access access;
  access.direction = Direction::write;
  access.file = Footprint({FilePattern::run(range)});
  access.memory.emplace_back(bytes.data(), Nest::run(0, range.length()));
  return access;
}

}  // namespace penstock::test
