// Distributions from the notation "block,cyclic(3),*".
#include <penstock/distribution.hpp>

#include <algorithm>
#include <string_view>
#include <variant>

#include "c/guard.hpp"
#include "c/objects.hpp"

using penstock::ArraySpec;
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

penstock::Halo halo_of(const penstock_halo* given, int dimensions) {
  penstock::Halo halo;
  if (given == nullptr) return halo;
  halo.width.assign(given->width, given->width + dimensions);
  halo.frame = given->frame != 0;
  for (int d = 0; d < dimensions; ++d) halo.periodic.push_back(given->periodic[d] != 0);
  return halo;
}

void copy_pieces(const Share& share, penstock_share& to) {
  to.pieces = new penstock_halo_piece[share.ghosted.size()]{};
  to.piece_count = static_cast<int>(share.ghosted.size());
  for (std::size_t i = 0; i < share.ghosted.size(); ++i) {
    copy_ranges(share.ghosted[i].section, to.pieces[i].section);
    std::ranges::copy(share.ghosted[i].start, to.pieces[i].start);
  }
}

/// Strides in bytes of dense memory of this shape.
std::vector<std::int64_t> dense_strides(const ArraySpec& spec, const int64_t* local_shape) {
  const std::size_t dimensions = spec.shape.size();
  std::vector<std::int64_t> strides(dimensions);
  std::int64_t stride = spec.element_size;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t d = spec.order == penstock::Order::fortran ? i : dimensions - 1 - i;
    strides[d] = stride;
    stride *= local_shape[d];
  }
  return strides;
}

/// The share's local memory, which begins at `data`, as parts.
std::vector<penstock_part> parts_of(const penstock_share& share, void* data,
                                    const std::vector<std::int64_t>& strides) {
  const bool has_pieces = share.piece_count > 0;
  std::vector<penstock_part> parts(static_cast<std::size_t>(has_pieces ? share.piece_count : 1));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; has_pieces && d < strides.size(); ++d)
      offset += share.pieces[i].start[d] * strides[d];
    parts[i].section = has_pieces ? share.pieces[i].section : share.section;
    parts[i].data = data == nullptr ? nullptr : static_cast<char*>(data) + offset;
    parts[i].strides = strides.data();
  }
  return parts;
}

}  // namespace

int penstock_distribute(int dimensions, const int64_t* shape, const char* kinds,
                        const int64_t* grid, const penstock_halo* halo, int64_t ranks, int64_t rank,
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
                                    halo_of(halo, dimensions));
    const Share found = distribution.share(rank);
    penstock_share& result = given(share, "share");
    result = {};
    copy_ranges(found.section, result.section);
    copy_ranges(found.with_halo, result.with_halo);
    std::copy(found.local_shape.begin(), found.local_shape.end(), result.local_shape);
    std::copy(found.halo_before.begin(), found.halo_before.end(), result.halo_before);
    if (halo != nullptr) copy_pieces(found, result);
  });
}

void penstock_share_free(penstock_share* share) {
  if (share == nullptr) return;
  delete[] share->pieces;
  share->pieces = nullptr;
  share->piece_count = 0;
}

int penstock_read_share(penstock_file* file, const penstock_share* share, void* data) {
  if (file == nullptr || share == nullptr) return penstock_read_parts(file, 0, nullptr, nullptr);
  std::vector<std::int64_t> strides;
  std::vector<penstock_part> parts;
  const int code = guarded([&] {
    strides = dense_strides(file->array.spec(), share->local_shape);
    parts = parts_of(*share, data, strides);
  });
  if (code == PENSTOCK_SUCCESS)
    return penstock_read_parts(file, static_cast<int>(parts.size()), parts.data(), nullptr);
  penstock_part refused{};
  refused.fault = penstock_error_text();
  return penstock_read_parts(file, 1, &refused, nullptr);
}
