// NodeStaging: the staging buffers of one node's ranks, in memory that all of them see, and the
// boards that say what may be copied where.
//
// Steps of one window:
//   1. its owner opens a slot: fills in the ranges, then the ticket (release)
//   2. each rank with a range looks for the ticket (acquire), copies its bytes straight between
//      its own memory and the slot, and counts itself off; the last one rings the owner
//   3. the owner takes the ticket down and uses the slot again
// Invariants:
//   1. No board shows a ticket between two calls: tickets of one call never meet those of another.
//   2. Where ranks want the same bytes, `turn` lets them copy one at a time, in rank order.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "mpi/team.hpp"

namespace penstock {

class NodeStaging {
 public:
  static constexpr std::int64_t no_ticket = -1, page = 4096;
  static constexpr std::int32_t anyone = -1;

  /// What one rank of the team has in a window.
  struct Range {
    std::int64_t begin, end;  // of its bytes in the window, in file order; equal: nothing
    std::int64_t place;       // in the slot, packed; negative: where the bytes lie in the file
    std::int32_t next;        // whose turn is after it
  };
  struct alignas(64) Board {
    std::atomic<std::int64_t> ticket;
    std::atomic<std::int32_t> missing;  // ranks that have not copied yet
    std::atomic<std::int32_t> turn;
    bool in_arena;       // the window lies in the owner's active buffer and not in the slot,
    std::int64_t image;  // as in the file; where in the arena its byte at file offset 0 would be
    Range* ranges() noexcept { return reinterpret_cast<Range*>(this + 1); }  // one per rank
  };

  /// How the memory is divided: slots of each rank of the team, bytes of a slot.
  struct Shape {
    std::vector<int> slots;
    std::int64_t slot_bytes = 0;
    friend bool operator==(const Shape&, const Shape&) = default;
  };

  /// Collective over the team. Makes room where there is too little. False on all ranks, and
  /// `why`, where it cannot be had.
  bool fit(Team& team, const Shape& shape, std::string& why);
  bool fits(const Shape& shape) const noexcept { return shape == shape_; }

  int slots(int owner) const noexcept { return shape_.slots[static_cast<std::size_t>(owner)]; }
  Board& board(int owner, int slot) noexcept;
  /// At a page boundary if slots are large.
  std::byte* bytes(int owner, int slot) noexcept;
  std::int64_t own_bytes(int owner) const noexcept {
    return shape_.slots.empty() ? 0 : slots(owner) * shape_.slot_bytes;  // it may have been released
  }
  void release() noexcept { *this = NodeStaging(); }

 private:
  std::int64_t index(int owner, int slot) const noexcept;

  SharedSegment segment_;
  Shape shape_;
  std::vector<int> first_;  // slot of each owner
  std::int64_t board_bytes_ = 0, boards_bytes_ = 0;
};

}  // namespace penstock
