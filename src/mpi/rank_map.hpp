// RankMap: the node of each rank. Launchers place ranks in blocks (the first ranks on the first
// node) or cyclically (one on each node, and again): these are formulas. Any other placement is a
// table in the shared memory of a node.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

class RankMap {
 public:
  struct Place {
    int node, local_rank;
    bool operator==(const Place&) const = default;
  };

  RankMap() noexcept : RankMap(blocks(1, 1)) {}
  /// `width` ranks on each node, fewer on the last.
  static RankMap blocks(int ranks, int width) noexcept;
  static RankMap in_turn(int ranks, int nodes) noexcept;
  /// In zeroed memory, which one rank fills: set() for every rank, then index(). Readers must have
  /// met that rank since.
  static RankMap table(std::byte* memory, int ranks) noexcept;
  static std::int64_t table_bytes(int ranks) noexcept {
    return (4 * std::int64_t{ranks} + 1) * static_cast<std::int64_t>(sizeof(std::int32_t));
  }
  void set(int rank, const Place& place) noexcept;
  void index() noexcept;

  bool is_table() const noexcept { return form_ == Form::table; }
  Place place_of(int rank) const noexcept;
  int size_of(int node) const noexcept;
  int rank_at(const Place& place) const noexcept;

 private:
  enum class Form { blocks, in_turn, table };
  RankMap(Form form, int ranks, int step) noexcept : form_(form), ranks_(ranks), step_(step) {}

  Form form_;
  int ranks_;
  int step_;  // ranks of a node (blocks), or nodes (cyclic)
  // For a table:
  std::int32_t* node_of_ = nullptr;
  std::int32_t* local_rank_of_ = nullptr;
  std::int32_t* start_of_ = nullptr;  // of each node's ranks in by_node_
  std::int32_t* by_node_ = nullptr;
};

}  // namespace penstock
