#include <penstock/tiling.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <penstock/error.hpp>

#include "base/failure.hpp"
#include "base/human.hpp"

namespace penstock {
namespace {

/// The indices of a dimension with numbers from `first` to before `last`.
Indices part_of(const Indices& indices, std::int64_t first, std::int64_t last) {
  if (const auto* list = std::get_if<IndexList>(&indices))
    return IndexList(list->begin() + first, list->begin() + last);
  const Range& range = std::get<Range>(indices);
  if (range.block == 1) {
    const std::int64_t begin = range.lower + first * range.stride;
    return Range{begin, begin + (last - first - 1) * range.stride + 1, range.stride};
  }
  IndexList list;
  for (std::int64_t at = first; at < last; ++at)
    list.push_back(range.lower + at / range.block * range.stride + at % range.block);
  return list;
}

bool is_contiguous(const Indices& indices) {
  const auto* range = std::get_if<Range>(&indices);
  return range != nullptr && range->block == 1 && (range->stride == 1 || range->count() <= 1);
}

std::int64_t divided_up(std::int64_t number, std::int64_t by) {
  return (number + by - 1) / by;
}

}  // namespace

Tiling::Tiling(TilingSpec spec) : spec_(std::move(spec)) {
  if (spec_.halo.empty()) spec_.halo = {0};
  if (spec_.halo.size() == 1) spec_.halo.resize(spec_.shape.size(), spec_.halo.front());
  check();
  order_dimensions();
  extents_ = spec_.section.shape();
  // A section without dimensions has no elements.
  if (spec_.section.empty()) extents_.assign(spec_.shape.size(), 0);
  tile_shape_ = extents_;
  if (spec_.section.empty()) return;
  fit();
  count_ = 1;
  counts_.resize(extents_.size());
  for (std::size_t d = 0; d < extents_.size(); ++d)
    count_ *= counts_[d] = divided_up(extents_[d], tile_shape_[d]);
}

void Tiling::check() const {
  const std::size_t dimensions = spec_.shape.size();
  if (spec_.section.is_extents())
    throw_argument(
        "tiles: a section of runs along the file cannot be cut; give ranges or index lists");
  if (!spec_.section.empty()) spec_.section.check(spec_.shape);
  if (spec_.axis < -1 || spec_.axis >= static_cast<int>(dimensions))
    throw_argument("tiles: axis " + std::to_string(spec_.axis) + " is none of an array of " +
                   std::to_string(dimensions) + " dimensions");
  if (spec_.halo.size() != dimensions)
    throw_argument("tiles: the halo has " + std::to_string(spec_.halo.size()) +
                   " widths, the array " + std::to_string(dimensions) + " dimensions");
  if (!spec_.tile_shape.empty() && spec_.tile_shape.size() != dimensions)
    throw_argument("tiles: the shape of a tile has " + std::to_string(spec_.tile_shape.size()) +
                   " extents, the array " + std::to_string(dimensions) + " dimensions");
  for (const std::int64_t extent : spec_.tile_shape)
    if (extent < 1)
      throw_argument("tiles: an extent of a tile must be at least 1, not " +
                     std::to_string(extent));
  for (std::size_t d = 0; d < dimensions; ++d) {
    if (spec_.halo[d] < 0)
      throw_argument("tiles: a halo must not be negative, as " + std::to_string(spec_.halo[d]));
    if (spec_.halo[d] > 0 && !spec_.section.empty() &&
        !is_contiguous(spec_.section.dimensions()[d]))
      throw_argument(
          "tiles: dimension " + std::to_string(d) +
          " has a halo, so its indices must be neighbours: a block, not cyclic and no list");
  }
}

/// From the dimension in which tiles follow each other to the one that is cut last.
void Tiling::order_dimensions() {
  const int dimensions = static_cast<int>(spec_.shape.size());
  for (int d = 0; d < dimensions; ++d)
    order_.push_back(spec_.order == Order::c ? d : dimensions - 1 - d);
  if (spec_.axis >= 0) {
    order_.erase(std::find(order_.begin(), order_.end(), spec_.axis));
    order_.insert(order_.begin(), spec_.axis);
  }
}

std::int64_t Tiling::haloed(std::size_t dimension, std::int64_t extent) const {
  return std::min(extent + 2 * spec_.halo[dimension], std::max(spec_.shape[dimension], extent));
}

/// All dimensions but the first of the order are whole, if that fits; else one index of that, and
/// the next dimension is cut.
void Tiling::fit() {
  const std::int64_t room = spec_.bytes / spec_.element_size;
  const auto elements = [&] {
    std::int64_t product = 1;
    for (std::size_t d = 0; d < tile_shape_.size(); ++d) product *= haloed(d, tile_shape_[d]);
    return product;
  };
  for (std::size_t d = 0; d < spec_.tile_shape.size(); ++d)
    tile_shape_[d] = std::min(spec_.tile_shape[d], extents_[d]);
  for (std::size_t i = 0; i < order_.size() && spec_.tile_shape.empty(); ++i) {
    const auto d = static_cast<std::size_t>(order_[i]);
    if (i == 0) tile_shape_[d] = divided_up(extents_[d], std::min(spec_.parts, extents_[d]));
    if (elements() <= room) break;
    const std::int64_t others = elements() / haloed(d, tile_shape_[d]);
    tile_shape_[d] = std::clamp<std::int64_t>(room / others - 2 * spec_.halo[d], 1, tile_shape_[d]);
  }
  bytes_ = elements() * spec_.element_size;
  if (bytes_ > spec_.bytes)
    throw_argument("tiles of at most " + text_of_bytes(spec_.bytes) + ": " +
                   (spec_.tile_shape.empty() ? "one element with its halo has "
                                             : "one of the shape given has ") +
                   text_of_bytes(bytes_) + (spec_.tile_shape.empty() ? "" : ", its halo included"));
  if (!spec_.tile_shape.empty()) return;
  // The same number of tiles, but of equal size.
  const auto first = static_cast<std::size_t>(order_.front());
  std::int64_t tiles = divided_up(extents_[first], tile_shape_[first]);
  const std::int64_t parts = std::min(spec_.parts, extents_[first]);
  tiles = divided_up(tiles, parts) * parts;
  tile_shape_[first] = divided_up(extents_[first], std::min(tiles, extents_[first]));
  bytes_ = elements() * spec_.element_size;
}

TileSections Tiling::tile(std::int64_t index) const {
  std::vector<Indices> own(extents_.size()), around(extents_.size());
  TileSections result;
  result.halo_before.assign(extents_.size(), 0);
  for (std::size_t i = order_.size(); i-- > 0;) {
    const auto d = static_cast<std::size_t>(order_[i]);
    const std::int64_t first = index % counts_[d] * tile_shape_[d];
    index /= counts_[d];
    own[d] = around[d] = part_of(spec_.section.dimensions()[d], first,
                                 std::min(first + tile_shape_[d], extents_[d]));
    if (spec_.halo[d] == 0) continue;
    const Range& mine = std::get<Range>(own[d]);
    const std::int64_t lower = std::max<std::int64_t>(mine.lower - spec_.halo[d], 0);
    around[d] = Range{lower, std::min(mine.upper + spec_.halo[d], spec_.shape[d])};
    result.halo_before[d] = mine.lower - lower;
  }
  result.section = Section(std::move(own));
  result.with_halo = Section(std::move(around));
  return result;
}

}  // namespace penstock
