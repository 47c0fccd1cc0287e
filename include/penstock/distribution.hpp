// Distributions of an array over a grid of processes, in the terms of High Performance Fortran.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/section.hpp>

namespace penstock {

/// How one dimension is distributed to the processes of one grid dimension.
struct DimensionKind {
  enum class Kind {
    block,         ///< one contiguous part per process
    cyclic,        ///< single indices in turn
    block_cyclic,  ///< groups of `block` indices in turn
    collapsed,     ///< "*": not distributed
  };
  Kind kind = Kind::block;
  std::int64_t block = 1;  ///< indices, of block_cyclic

  /// "block", "cyclic", "block-cyclic(k)" or "cyclic(k)", "*" (not distributed); throws
  /// Error(argument).
  PENSTOCK_EXPORT static DimensionKind parse(std::string_view text);
  PENSTOCK_EXPORT std::string to_string() const;  ///< in the form that parse reads
};

/// Cells around a rank's block, in block dimensions.
struct Halo {
  std::vector<std::int64_t> width;  ///< cells on each side; one per dimension, or one for all
  std::vector<bool> periodic;       ///< dimensions whose ends are neighbours; empty: none
  /// Also at the array's edge, where it is not periodic: cells that no element belongs to.
  bool frame = false;
};

/// A part of a local array with its halo, and the elements of the array that belong there.
struct HaloPiece {
  Section section;                  ///< elements of the array
  std::vector<std::int64_t> start;  ///< where they begin in local memory
};

/// The share of one rank. `section` is what it owns; with a halo, `local_shape` is larger than
/// section.shape(), and the owned elements begin at `halo_before` in each dimension.
struct Share {
  Section section;                        ///< elements that it owns
  std::vector<std::int64_t> local_shape;  ///< memory: owned elements and halo cells
  std::vector<std::int64_t> halo_before;  ///< halo cells before the owned ones
  Section with_halo;  ///< owned elements and those under the halo, clipped at the array's edge
  /// The same if dimensions are periodic: each piece is read to its place. Cells of a frame are in
  /// none.
  std::vector<HaloPiece> ghosted;
};

/// An array distributed to the processes of a grid. Pure: every rank can compute every share.
class PENSTOCK_EXPORT Distribution {
 public:
  /// `grid`: processes per dimension, product = ranks; empty: as square as the shape allows.
  /// `halo`: clipped at the array's edge, unless it has a frame or is periodic. `shape` is in
  /// elements. Throws Error(argument) if numbers of dimensions differ, or the grid does not have as
  /// many processes as there are ranks.
  Distribution(std::vector<std::int64_t> shape, std::int64_t ranks,
               std::vector<DimensionKind> kinds, std::vector<std::int64_t> grid = {},
               Halo halo = {});

  const std::vector<std::int64_t>& grid() const noexcept {
    return grid_;
  }                                                                ///< processes per dimension
  std::int64_t ranks() const noexcept { return ranks_; }           ///< the product of these
  std::vector<std::int64_t> coordinates(std::int64_t rank) const;  ///< row-major in the grid
  Share share(std::int64_t rank) const;  ///< throws Error(argument) for an invalid rank

 private:
  void check_halo();
  void check_grid() const;
  std::string dimensions() const;
  Range owned(std::size_t dimension, std::int64_t coordinate) const;

  std::vector<std::int64_t> shape_, grid_;
  Halo halo_;
  std::vector<DimensionKind> kinds_;
  std::int64_t ranks_;
};

}  // namespace penstock
