#include "mpi/rank_map.hpp"

#include <algorithm>

namespace penstock {

RankMap RankMap::blocks(int ranks, int width) noexcept {
  return {Form::blocks, ranks, width};
}

RankMap RankMap::in_turn(int ranks, int nodes) noexcept {
  return {Form::in_turn, ranks, nodes};
}

RankMap RankMap::table(std::byte* memory, int ranks) noexcept {
  RankMap map(Form::table, ranks, 0);
  map.node_of_ = reinterpret_cast<std::int32_t*>(memory);
  map.local_rank_of_ = map.node_of_ + ranks;
  map.start_of_ = map.local_rank_of_ + ranks;
  map.by_node_ = map.start_of_ + ranks + 1;
  return map;
}

void RankMap::set(int rank, const Place& place) noexcept {
  node_of_[rank] = place.node;
  local_rank_of_[rank] = place.local_rank;
}

void RankMap::index() noexcept {
  for (int rank = 0; rank < ranks_; ++rank) ++start_of_[node_of_[rank] + 1];
  for (int node = 0; node < ranks_; ++node) start_of_[node + 1] += start_of_[node];
  for (int rank = 0; rank < ranks_; ++rank)
    by_node_[start_of_[node_of_[rank]] + local_rank_of_[rank]] = rank;
}

RankMap::Place RankMap::place_of(int rank) const noexcept {
  switch (form_) {
    case Form::blocks: return {rank / step_, rank % step_};
    case Form::in_turn: return {rank % step_, rank / step_};
    default: return {node_of_[rank], local_rank_of_[rank]};
  }
}

int RankMap::size_of(int node) const noexcept {
  switch (form_) {
    case Form::blocks: return std::min(step_, ranks_ - node * step_);
    case Form::in_turn: return (ranks_ - node + step_ - 1) / step_;
    default: return start_of_[node + 1] - start_of_[node];
  }
}

int RankMap::rank_at(const Place& place) const noexcept {
  switch (form_) {
    case Form::blocks: return place.node * step_ + place.local_rank;
    case Form::in_turn: return place.local_rank * step_ + place.node;
    default: return by_node_[start_of_[place.node] + place.local_rank];
  }
}

}  // namespace penstock
