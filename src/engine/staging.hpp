// NodeStaging: the staging buffers of one node's ranks in shared memory, and the boards that say
// what may be copied where.
//
// Steps of one window, or of one chunk of a proxy's bundle:
//   1. its owner opens a slot: it fills in the ranges of the ranks with bytes there, stores the
//      window's id in each range, and marks the slot as ready for these ranks (release)
//   2. each of these ranks finds the slot among those ready for it (acquire), copies its bytes
//      between its own memory and the slot, resets mark and id, and decrements `missing`; the last
//      one wakes the owner
//   3. the owner reuses the slot
// Invariants:
//   1. A range belongs to the slot's owner while its window_id is no_window, otherwise to the rank.
//      So a rank never reads a range that the owner is writing, although chunks of one bundle have
//      the same id. A rank without bytes in a slot reads only its own window_id there.
//   2. Between two calls every window_id is no_window: ids of different calls are never compared.
//   3. Where ranks want the same bytes, `turn` lets them copy one at a time, in rank order.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "mpi/team.hpp"

namespace penstock {

class NodeStaging {
 public:
  static constexpr std::int64_t no_window = -1, page = 4096;
  static constexpr std::int32_t anyone = -1;

  /// One rank's part of a slot.
  struct RankPart {
    std::atomic<std::int64_t> window_id;  // no_window: the owner may change the other fields
    std::int64_t begin, end;              // of its bytes in the window, in file order
    std::int64_t slot_offset;             // of its packed bytes; negative: laid out as in the file
    std::int32_t next;                    // the rank whose turn is next
  };
  struct alignas(64) Board {
    std::atomic<std::int32_t> missing;  // ranks that have not copied yet
    std::atomic<std::int32_t> turn;
    bool in_arena;       // the window lies in the owner's active buffer instead of the slot,
    std::int64_t image;  // laid out as in the file; arena address of file offset 0
    RankPart* ranges() noexcept { return reinterpret_cast<RankPart*>(this + 1); }  // one per rank
  };

  /// How the memory is divided: slots of each rank of the team, bytes of a slot.
  struct Shape {
    std::vector<int> slots;
    std::int64_t slot_bytes = 0;
    friend bool operator==(const Shape&, const Shape&) = default;
  };

  /// Collective over the team. Grows the memory if needed. Returns false on all ranks, and sets
  /// `why`, if that fails. `slot`: of the team's meetings.
  Task<bool> fit(Team& team, int slot, const Shape& shape, std::string& why);

  int slots(int owner) const noexcept { return shape_.slots[static_cast<std::size_t>(owner)]; }
  Board& board(int owner, int slot) noexcept { return board_at(index(owner, slot)); }
  /// Visits slots of any owner that are ready for this rank: calls visit(owner, slot) until it
  /// returns true. The cost is that of the ready slots, plus a word per 64 slots of the node.
  template <class Visit>
  bool for_each_ready(int place, Visit&& visit) {
    std::atomic<std::uint64_t>* const words = ready(place);
    for (int w = 0; w < ready_words(); ++w)
      for (std::uint64_t bits = words[w].load(std::memory_order_acquire); bits != 0;
           bits &= bits - 1) {
        const int at = w * 64 + std::countr_zero(bits);
        const int owner = owner_of_[static_cast<std::size_t>(at)];
        if (visit(owner, at - first_[static_cast<std::size_t>(owner)])) return true;
      }
    return false;
  }
  void mark_ready(int place, int owner, int slot) noexcept {
    const auto at = index(owner, slot);
    ready(place)[at / 64].fetch_or(std::uint64_t{1} << at % 64, std::memory_order_release);
  }
  /// To be called before the range is returned to its owner.
  void unmark_ready(int place, int owner, int slot) noexcept {
    const auto at = index(owner, slot);
    ready(place)[at / 64].fetch_and(~(std::uint64_t{1} << at % 64), std::memory_order_relaxed);
  }
  /// At a page boundary if slots are large.
  std::byte* bytes(int owner, int slot) noexcept;
  std::int64_t own_bytes(int owner) const noexcept {
    return shape_.slots.empty() ? 0
                                : slots(owner) * shape_.slot_bytes;  // it may have been released
  }
  void release() noexcept { *this = NodeStaging(); }
  /// Releases the memory to the team, which keeps it for its next file and so saves the page
  /// faults. Collective over the team.
  void leave_to(Team& team) noexcept {
    team.keep(std::move(segment_));
    release();
  }

 private:
  std::int64_t index(int owner, int slot) const noexcept {
    return first_[static_cast<std::size_t>(owner)] + slot;
  }
  Board& board_at(std::int64_t index) noexcept {
    return *reinterpret_cast<Board*>(segment_.data() + index * board_bytes_);
  }
  int ready_words() const noexcept { return (static_cast<int>(owner_of_.size()) + 63) / 64; }
  std::atomic<std::uint64_t>* ready(int place) noexcept {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(segment_.data() + boards_bytes_ +
                                                         place * ready_bytes_);
  }

  SharedSegment segment_;  // boards, ready marks of each rank, slots
  Shape shape_;
  std::vector<int> first_;     // first slot of each owner
  std::vector<int> owner_of_;  // of each slot
  std::int64_t board_bytes_ = 0, boards_bytes_ = 0, ready_bytes_ = 0, slots_at_ = 0;
};

}  // namespace penstock
