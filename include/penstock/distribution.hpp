// Distributions of an array over a grid of processes, in the terms of High Performance Fortran.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/section.hpp>

namespace penstock {

/// How one dimension is dealt to the processes of one grid dimension.
struct DimensionKind {
  enum class Kind { block, cyclic, block_cyclic, collapsed } kind = Kind::block;
  std::int64_t block = 1;  ///< block length of block-cyclic(k)

  /// "block", "cyclic", "block-cyclic(k)" or "cyclic(k)", "*" (not distributed).
  PENSTOCK_EXPORT static DimensionKind parse(std::string_view text);
  PENSTOCK_EXPORT std::string to_string() const;
};

/// The share of one rank. `section` is what it owns; with a halo, `local_shape` is larger than
/// section.shape() and the owned elements begin at `halo_before` in each dimension.
struct Share {
  Section section;
  std::vector<std::int64_t> local_shape;  ///< memory: owned elements and halo cells
  std::vector<std::int64_t> halo_before;  ///< halo cells before the owned ones
  Section with_halo;                      ///< owned elements and those under the halo
};

class PENSTOCK_EXPORT Distribution {
 public:
  /// `grid`: processes per dimension, product = ranks; empty: as square as the shape allows.
  /// `halo`: halo cells on each side in block dimensions, clipped at the array's edge.
  Distribution(std::vector<std::int64_t> shape, std::int64_t ranks,
               std::vector<DimensionKind> kinds, std::vector<std::int64_t> grid = {},
               std::vector<std::int64_t> halo = {});

  const std::vector<std::int64_t>& grid() const noexcept { return grid_; }
  std::int64_t ranks() const noexcept { return ranks_; }
  std::vector<std::int64_t> coordinates(std::int64_t rank) const;  ///< row-major in the grid
  Share share(std::int64_t rank) const;

 private:
  Range owned(std::size_t dimension, std::int64_t coordinate) const;

  std::vector<std::int64_t> shape_, grid_, halo_;
  std::vector<DimensionKind> kinds_;
  std::int64_t ranks_;
};

}  // namespace penstock
