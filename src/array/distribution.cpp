#include <penstock/distribution.hpp>

#include <algorithm>
#include <charconv>

#include "base/checked.hpp"
#include "base/failure.hpp"

namespace penstock {
namespace {

/// Splits `ranks` over the distributed dimensions: each prime factor, largest first, goes to the
/// dimension with the longest blocks so far, so that blocks become as cubic as possible.
std::vector<std::int64_t> choose_grid(const std::vector<std::int64_t>& shape, std::int64_t ranks,
                                      const std::vector<DimensionKind>& kinds) {
  std::vector<std::int64_t> grid(shape.size(), 1);
  std::vector<std::int64_t> factors;
  for (std::int64_t rest = ranks, f = 2; rest > 1; ++f) {
    if (f * f > rest) f = rest;
    for (; rest % f == 0; rest /= f) factors.push_back(f);
  }
  std::reverse(factors.begin(), factors.end());
  for (const std::int64_t factor : factors) {
    std::size_t best = shape.size();
    double longest = -1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (kinds[d].kind == DimensionKind::Kind::collapsed) continue;
      const double length = static_cast<double>(shape[d]) / static_cast<double>(grid[d]);
      if (length > longest) {
        longest = length;
        best = d;
      }
    }
    if (best == shape.size())
      throw_argument("distribution: every dimension is '*', but there are " +
                     std::to_string(ranks) + " ranks");
    grid[best] *= factor;
  }
  return grid;
}

/// In one dimension: indices, and the place of the first one in local memory.
struct Stretch {
  Range indices;
  std::int64_t start = 0;
};

/// The indices from `begin` to `end`, which may lie beyond the ends of a dimension of `extent`;
/// wrapped around.
std::vector<Stretch> wrapped(std::int64_t begin, std::int64_t end, std::int64_t extent) {
  std::vector<Stretch> stretches;
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t index = (at % extent + extent) % extent;
    const std::int64_t count = std::min(extent - index, end - at);
    stretches.push_back({{index, index + count}, at - begin});
    at += count;
  }
  return stretches;
}

std::vector<HaloPiece> all_combinations(const std::vector<std::vector<Stretch>>& dimensions) {
  std::vector<std::pair<std::vector<Indices>, std::vector<std::int64_t>>> pieces(1);
  for (const std::vector<Stretch>& stretches : dimensions) {
    decltype(pieces) longer;
    for (const auto& [indices, start] : pieces)
      for (const Stretch& stretch : stretches) {
        longer.emplace_back(indices, start);
        longer.back().first.emplace_back(stretch.indices);
        longer.back().second.push_back(stretch.start);
      }
    pieces = std::move(longer);
  }
  std::vector<HaloPiece> result;
  for (auto& [indices, start] : pieces) result.push_back({Section(indices), start});
  return result;
}

}  // namespace

DimensionKind DimensionKind::parse(std::string_view text) {
  if (text == "block") return {Kind::block, 1};
  if (text == "cyclic") return {Kind::cyclic, 1};
  if (text == "*") return {Kind::collapsed, 1};
  for (const std::string_view prefix : {"block-cyclic(", "cyclic("}) {
    if (!text.starts_with(prefix) || !text.ends_with(')')) continue;
    const std::string_view digits = text.substr(prefix.size(), text.size() - prefix.size() - 1);
    std::int64_t block = 0;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), block);
    if (status == std::errc() && end == digits.data() + digits.size() && block > 0)
      return {Kind::block_cyclic, block};
  }
  throw_argument("distribution kind '" + std::string(text) +
                 "' is not known; kinds are block, cyclic, block-cyclic(k) with k >= 1, and * (not "
                 "distributed)");
}

std::string DimensionKind::to_string() const {
  switch (kind) {
    case Kind::block: return "block";
    case Kind::cyclic: return "cyclic";
    case Kind::block_cyclic: return "block-cyclic(" + std::to_string(block) + ")";
    case Kind::collapsed: return "*";
  }
  return "";
}

Distribution::Distribution(std::vector<std::int64_t> shape, std::int64_t ranks,
                           std::vector<DimensionKind> kinds, std::vector<std::int64_t> grid,
                           Halo halo)
    : shape_(std::move(shape)),
      grid_(std::move(grid)),
      halo_(std::move(halo)),
      kinds_(std::move(kinds)),
      ranks_(ranks) {
  if (shape_.empty() || shape_.size() > max_dimensions)
    throw_argument("distribution: shape must have 1 to 8 dimensions, not " +
                   std::to_string(shape_.size()));
  if (std::any_of(shape_.begin(), shape_.end(), [](std::int64_t n) { return n < 0; }))
    throw_argument("distribution: shape must not be negative");
  if (ranks_ < 1) throw_argument("distribution: the number of ranks must be at least 1");
  if (kinds_.size() != shape_.size())
    throw_argument("distribution: " + std::to_string(kinds_.size()) + " kinds for " + dimensions());
  check_halo();
  if (grid_.empty()) grid_ = choose_grid(shape_, ranks_, kinds_);
  check_grid();
}

std::string Distribution::dimensions() const {
  return std::to_string(shape_.size()) + " dimensions";
}

/// Also fills in defaults.
void Distribution::check_halo() {
  std::vector<std::int64_t>& width = halo_.width;
  if (width.empty()) width.assign(shape_.size(), 0);
  if (width.size() == 1) width.assign(shape_.size(), width[0]);
  if (width.size() != shape_.size())
    throw_argument("distribution: " + std::to_string(width.size()) + " halo widths for " +
                   dimensions());
  if (halo_.periodic.empty()) halo_.periodic.assign(shape_.size(), false);
  if (halo_.periodic.size() != shape_.size())
    throw_argument("distribution: periodic has " + std::to_string(halo_.periodic.size()) +
                   " values for " + dimensions());
  for (std::size_t d = 0; d < width.size(); ++d) {
    if (width[d] < 0)
      throw_argument("distribution: halo " + std::to_string(width[d]) + " is negative");
    const bool dealt = kinds_[d].kind == DimensionKind::Kind::cyclic ||
                       kinds_[d].kind == DimensionKind::Kind::block_cyclic;
    if (width[d] > 0 && dealt)
      throw_argument("distribution: dimension " + std::to_string(d) + " is " +
                     kinds_[d].to_string() + "; a halo needs block or *");
  }
}

void Distribution::check_grid() const {
  if (grid_.size() != shape_.size())
    throw_argument("distribution: a grid of " + std::to_string(grid_.size()) + " dimensions for " +
                   dimensions());
  std::int64_t product = 1;
  for (std::size_t d = 0; d < grid_.size(); ++d) {
    if (grid_[d] < 1)
      throw_argument("distribution: grid dimension " + std::to_string(d) + " must be at least 1");
    if (grid_[d] > 1 && kinds_[d].kind == DimensionKind::Kind::collapsed)
      throw_argument("distribution: dimension " + std::to_string(d) +
                     " is '*', its grid must be 1, not " + std::to_string(grid_[d]));
    product = checked_multiply(product, grid_[d], "distribution: the grid");
  }
  if (product != ranks_)
    throw_argument("distribution: the grid has " + std::to_string(product) + " places for " +
                   std::to_string(ranks_) + " ranks");
}

std::vector<std::int64_t> Distribution::coordinates(std::int64_t rank) const {
  if (rank < 0 || rank >= ranks_)
    throw_argument("distribution: rank " + std::to_string(rank) + " is not below " +
                   std::to_string(ranks_));
  std::vector<std::int64_t> coordinate(grid_.size());
  for (std::size_t d = grid_.size(); d-- > 0;) {
    coordinate[d] = rank % grid_[d];
    rank /= grid_[d];
  }
  return coordinate;
}

Range Distribution::owned(std::size_t d, std::int64_t coordinate) const {
  const std::int64_t n = shape_[d], parts = grid_[d];
  switch (kinds_[d].kind) {
    case DimensionKind::Kind::collapsed: return {0, n};
    case DimensionKind::Kind::block: {
      // The first parts get one element more: shares differ by at most one.
      const std::int64_t share = n / parts, extra = n % parts;
      const std::int64_t lower = coordinate * share + std::min(coordinate, extra);
      return {lower, lower + share + (coordinate < extra ? 1 : 0)};
    }
    case DimensionKind::Kind::cyclic:
    case DimensionKind::Kind::block_cyclic: {
      const std::int64_t block = kinds_[d].block;
      const std::int64_t stride =
          checked_multiply(block, parts, "distribution: block-cyclic stride");
      const std::int64_t lower = std::min(n, coordinate * block);
      return {lower, n, stride, block};
    }
  }
  return {};
}

Share Distribution::share(std::int64_t rank) const {
  const std::vector<std::int64_t> coordinate = coordinates(rank);
  std::vector<Indices> owned_dimensions, halo_dimensions;
  std::vector<std::vector<Stretch>> stretches;
  Share share;
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    const Range range = owned(d, coordinate[d]);
    const std::int64_t width = range.count() > 0 ? halo_.width[d] : 0;
    const std::int64_t clipped_before = std::min(width, range.lower);
    const std::int64_t clipped_after = std::min(width, shape_[d] - range.upper);
    const bool everywhere = halo_.periodic[d] || halo_.frame;
    const std::int64_t before = everywhere ? width : clipped_before;
    const std::int64_t after = everywhere ? width : clipped_after;
    owned_dimensions.emplace_back(range);
    Range wide = range;
    wide.lower -= clipped_before;
    wide.upper += clipped_after;
    halo_dimensions.emplace_back(wide);
    share.halo_before.push_back(before);
    share.local_shape.push_back(range.count() + before + after);
    if (halo_.periodic[d] && width > 0)
      stretches.push_back(wrapped(range.lower - before, range.upper + after, shape_[d]));
    else stretches.push_back({{wide, before - clipped_before}});
  }
  share.section = Section(std::move(owned_dimensions));
  share.with_halo = Section(std::move(halo_dimensions));
  share.ghosted = all_combinations(stretches);
  return share;
}

}  // namespace penstock
