#include "engine/staging.hpp"

#include <new>
#include <utility>

namespace penstock {
namespace {

std::int64_t round_up(std::int64_t bytes, std::int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// Large slots begin at a page, for O_DIRECT; for small ones that would be mostly padding.
std::int64_t padded(std::int64_t slot_bytes) {
  return round_up(slot_bytes, slot_bytes < 64 * 1024 ? 64 : NodeStaging::page);
}

}  // namespace

Task<bool> NodeStaging::fit(Team& team, int slot, const Shape& shape, std::string& why) {
  first_.clear();
  owner_of_.clear();
  for (std::size_t owner = 0; owner < shape.slots.size(); ++owner) {
    first_.push_back(static_cast<int>(owner_of_.size()));
    owner_of_.insert(owner_of_.end(), static_cast<std::size_t>(shape.slots[owner]),
                     static_cast<int>(owner));
  }
  const auto slots = static_cast<std::int64_t>(owner_of_.size());
  board_bytes_ = round_up(
      static_cast<std::int64_t>(sizeof(Board) + shape.slots.size() * sizeof(RankPart)), 64);
  boards_bytes_ = slots * board_bytes_;
  ready_bytes_ = round_up(ready_words() * 8, 64);
  slots_at_ = round_up(boards_bytes_ + ready_bytes_ * team.size(), page);
  shape_ = shape;
  const std::int64_t needed = slots_at_ + slots * padded(shape.slot_bytes);
  if (segment_.size() < needed) {
    segment_ = team.take_kept();  // release the old segment first
    if (segment_.size() < needed) segment_ = SharedSegment();
    if (!segment_) segment_ = co_await team.share(slot, needed, why);
    if (!segment_) {
      release();
      co_return false;
    }
  }
  // Boards may be where bytes were before.
  co_await team.meet(slot);
  for (int w = 0; w < ready_words(); ++w)
    new (ready(team.rank()) + w) std::atomic<std::uint64_t>(0);
  for (int i = 0; i < shape_.slots[static_cast<std::size_t>(team.rank())]; ++i) {
    Board* const b = new (&board(team.rank(), i)) Board;
    b->missing.store(0, std::memory_order_relaxed);
    for (int local_rank = 0; local_rank < team.size(); ++local_rank)
      (new (b->ranges() + local_rank) RankPart)
          ->window_id.store(no_window, std::memory_order_release);
  }
  co_await team.meet(slot);
  co_return true;
}

std::byte* NodeStaging::bytes(int owner, int slot) noexcept {
  return segment_.data() + slots_at_ + index(owner, slot) * padded(shape_.slot_bytes);
}

}  // namespace penstock
