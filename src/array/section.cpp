#include <penstock/section.hpp>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/checked.hpp"

namespace penstock {
namespace {

std::string where(std::size_t dimension) {
  return "section, dimension " + std::to_string(dimension);
}

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorClass::section, message);
}

void check_range(const Range& r, std::size_t d, std::int64_t extent) {
  const std::string bounds = std::to_string(r.lower) + ":" + std::to_string(r.upper);
  if (r.stride < 1) fail(where(d) + ": stride " + std::to_string(r.stride) + " must be at least 1");
  if (r.block < 1 || r.block > r.stride)
    if (r.block != 1)
      fail(where(d) + ": block " + std::to_string(r.block) + " must be from 1 to the stride (" +
           std::to_string(r.stride) + ")");
  if (r.upper < r.lower) fail(where(d) + ": upper bound is below lower bound in " + bounds);
  if (r.lower < 0 || r.upper > extent)
    fail(where(d) + ": " + bounds +
         " is out of the array, whose indices are 0:" + std::to_string(extent));
}

void check_list(const IndexList& list, std::size_t d, std::int64_t extent) {
  for (const std::int64_t index : list)
    if (index < 0 || index >= extent)
      fail(where(d) + ": index " + std::to_string(index) +
           " is out of the array, whose indices are 0:" + std::to_string(extent));
  if (std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) == list.end()) return;
  IndexList sorted = list;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    fail(where(d) + ": index " + std::to_string(*twice) +
         " is listed twice; list it once, and repeat it in memory");
}

std::int64_t count_of(const Indices& indices) {
  if (const auto* range = std::get_if<Range>(&indices)) return range->count();
  return static_cast<std::int64_t>(std::get_if<IndexList>(&indices)->size());
}

/// First and last index, for a quick check. Not for empty sets.
std::pair<std::int64_t, std::int64_t> hull(const Indices& indices) {
  if (const auto* r = std::get_if<Range>(&indices)) return {r->lower, r->upper - 1};
  const auto& list = std::get<IndexList>(indices);
  const auto [low, high] = std::minmax_element(list.begin(), list.end());
  return {*low, *high};
}

bool range_has(const Range& r, std::int64_t index) {
  return index >= r.lower && index < r.upper && (index - r.lower) % r.stride < r.block;
}

/// Whether a.lower + i*a.stride = b.lower + j*b.stride has a solution below both upper bounds.
bool progressions_meet(const Range& a, const Range& b) {
  const std::int64_t gcd = std::gcd(a.stride, b.stride);
  const std::int64_t distance = b.lower - a.lower;
  if (distance % gcd != 0) return false;
  // Solve i*a.stride = distance (mod b.stride); the modulus is small, the inverse by Euclid.
  const std::int64_t modulus = b.stride / gcd;
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): ranges with strides below 1 are empty
  std::int64_t x0 = 1, x1 = 0, r0 = (a.stride / gcd) % modulus, r1 = modulus;
  while (r1 != 0) {
    const std::int64_t q = r0 / r1;
    std::tie(r0, r1) = std::pair(r1, r0 - q * r1);
    std::tie(x0, x1) = std::pair(x1, x0 - q * x1);
  }
  using Wide = __int128;
  const Wide inverse = ((x0 % modulus) + modulus) % modulus;
  const Wide steps = ((Wide(distance / gcd) % modulus + modulus) % modulus) * inverse % modulus;
  const Wide period = Wide(a.stride) * modulus;
  Wide first = Wide(a.lower) + steps * a.stride;  // the least solution at or above b.lower
  const Wide floor = std::max(a.lower, b.lower);
  if (first < floor) first += (floor - first + period - 1) / period * period;
  return first < std::min(a.upper, b.upper);
}

bool ranges_may_meet(const Range& a, const Range& b) {
  if (a.block == 1 && b.block == 1) return progressions_meet(a, b);
  if (a.block == a.stride && b.block == b.stride) return true;  // both contiguous; hulls overlap
  if (a.stride != b.stride) return true;                        // not worth the exact answer
  const std::int64_t shift = ((b.lower - a.lower) % a.stride + a.stride) % a.stride;
  return shift < a.block || shift + b.block > a.stride;
}

bool may_meet(const Indices& a, const Indices& b) {
  const auto [a_low, a_high] = hull(a);
  const auto [b_low, b_high] = hull(b);
  if (a_high < b_low || b_high < a_low) return false;
  const auto* ra = std::get_if<Range>(&a);
  const auto* rb = std::get_if<Range>(&b);
  if (ra != nullptr && rb != nullptr) return ranges_may_meet(*ra, *rb);
  if (ra == nullptr && rb == nullptr) return true;
  const auto& list = std::get<IndexList>(ra == nullptr ? a : b);
  const Range& range = ra == nullptr ? *rb : *ra;
  return std::any_of(list.begin(), list.end(),
                     [&](std::int64_t index) { return range_has(range, index); });
}

}  // namespace

std::int64_t Range::count() const noexcept {
  if (upper <= lower || stride < 1) return 0;
  const std::int64_t length = upper - lower;
  const std::int64_t whole = length / stride;
  return whole * block + std::min(length - whole * stride, block);
}

Section::Section(std::initializer_list<Range> ranges) : dimensions_(ranges.begin(), ranges.end()) {}

Section Section::all(std::span<const std::int64_t> shape) {
  std::vector<Indices> dimensions;
  for (const std::int64_t extent : shape) dimensions.emplace_back(Range{0, extent});
  return Section(std::move(dimensions));
}

Section Section::inclusive(const std::vector<Range>& ranges) {
  std::vector<Indices> dimensions;
  for (const Range& r : ranges) dimensions.emplace_back(Range{r.lower - 1, r.upper, r.stride});
  return Section(std::move(dimensions));
}

Section Section::extents(std::vector<ElementExtent> runs) {
  Section section;
  section.extents_ = std::move(runs);
  return section;
}

std::vector<std::int64_t> Section::shape() const {
  if (is_extents()) return {element_count()};
  std::vector<std::int64_t> counts;
  for (const Indices& indices : dimensions_) counts.push_back(count_of(indices));
  return counts;
}

std::int64_t Section::element_count() const noexcept {
  if (is_extents())
    return std::accumulate(
        extents_->begin(), extents_->end(), std::int64_t{0},
        [](std::int64_t sum, const ElementExtent& run) { return sum + (run.end - run.begin); });
  if (dimensions_.empty()) return 0;
  std::int64_t total = 1;
  for (const Indices& indices : dimensions_) total *= count_of(indices);
  return total;
}

void Section::check(std::span<const std::int64_t> array_shape) const {
  if (is_extents()) {
    std::int64_t elements = 1, last = 0;
    for (const std::int64_t extent : array_shape) elements *= extent;
    for (const ElementExtent& run : *extents_) {
      const std::string text = std::to_string(run.begin) + ":" + std::to_string(run.end);
      if (run.end < run.begin) fail("section, extent " + text + ": end is below begin");
      if (run.begin < last)
        fail("section, extent " + text + " overlaps or precedes the one before");
      if (run.end > elements)
        fail("section, extent " + text +
             " is out of the array, whose elements are 0:" + std::to_string(elements));
      last = run.end;
    }
    return;
  }
  if (dimensions_.empty()) return;
  if (dimensions_.size() != array_shape.size())
    fail("section has " + std::to_string(dimensions_.size()) + " dimensions, the array has " +
         std::to_string(array_shape.size()));
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    if (const auto* range = std::get_if<Range>(&dimensions_[d]))
      check_range(*range, d, array_shape[d]);
    else check_list(std::get<IndexList>(dimensions_[d]), d, array_shape[d]);
  }
}

bool Section::may_intersect(const Section& other) const {
  if (empty() || other.empty()) return false;
  if (is_extents() && other.is_extents())
    return extents_->front().begin < other.extents_->back().end &&
           other.extents_->front().begin < extents_->back().end;
  if (is_extents() || other.is_extents()) return true;
  for (std::size_t d = 0; d < dimensions_.size(); ++d)
    if (!may_meet(dimensions_[d], other.dimensions_[d])) return false;
  return true;
}

}  // namespace penstock
