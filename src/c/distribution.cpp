// Distributions, from the form "block,cyclic(3),*".
#include <penstock/distribution.hpp>

#include <algorithm>
#include <string_view>
#include <variant>

#include "c/guard.hpp"

using penstock::DimensionKind;
using penstock::Distribution;
using penstock::Error;
using penstock::ErrorClass;
using penstock::Range;
using penstock::Section;
using penstock::Share;
using penstock::c::given;
using penstock::c::guarded;

namespace {

std::vector<DimensionKind> kinds_of(const char* text, int dimensions) {
  if (text == nullptr) return std::vector<DimensionKind>(static_cast<std::size_t>(dimensions));
  std::vector<DimensionKind> kinds;
  std::string_view left = text;
  for (bool more = true; more;) {
    const std::size_t comma = left.find(',');
    std::string_view one = left.substr(0, comma);
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    one = one.substr(0, one.find_last_not_of(' ') + 1);
    kinds.push_back(DimensionKind::parse(one));
    more = comma != std::string_view::npos;
    if (more) left.remove_prefix(comma + 1);
  }
  return kinds;
}

void copy_ranges(const Section& section, penstock_range* to) {
  for (const auto& indices : section.dimensions()) {
    const Range& range = std::get<Range>(indices);
    *to++ = {range.lower, range.upper, range.stride, range.block};
  }
}

}  // namespace

int penstock_distribute(int dimensions, const int64_t* shape, const char* kinds,
                        const int64_t* grid, const int64_t* halo, int64_t ranks, int64_t rank,
                        penstock_share* share) {
  return guarded([&] {
    if (dimensions < 1 || dimensions > PENSTOCK_MAX_DIMENSIONS)
      throw Error(ErrorClass::argument,
                  "dimensions must be 1 to 8, but is " + std::to_string(dimensions));
    given(shape, "shape");
    const auto listed = [&](const int64_t* numbers) {
      return numbers != nullptr ? std::vector<std::int64_t>(numbers, numbers + dimensions)
                                : std::vector<std::int64_t>();
    };
    const Distribution distribution(listed(shape), ranks, kinds_of(kinds, dimensions), listed(grid),
                                    {.width = listed(halo)});
    const Share found = distribution.share(rank);
    penstock_share& told = given(share, "share");
    told = {};
    copy_ranges(found.section, told.section);
    copy_ranges(found.with_halo, told.with_halo);
    std::copy(found.local_shape.begin(), found.local_shape.end(), told.local_shape);
    std::copy(found.halo_before.begin(), found.halo_before.end(), told.halo_before);
  });
}
