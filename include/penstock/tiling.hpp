// Tiling: an array, or a rank's share of one, cut into tiles that fit into memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <penstock/section.hpp>

namespace penstock {

/// What is divided into tiles, and how.
struct TilingSpec {
  std::vector<std::int64_t> shape;  ///< of the array
  std::int64_t element_size = 0;    ///< bytes
  Order order = Order::c;           ///< of the elements in the file
  Section section;  ///< what is divided: all of the array, or a part, but not extents
  /// Dimension in which tiles follow each other; -1: the slowest in the file, whose slabs are
  /// contiguous there.
  int axis = -1;
  /// Cells around each tile, one width per dimension or one for all; empty: none. Clipped at the
  /// array's edge.
  std::vector<std::int64_t> halo;
  std::vector<std::int64_t> tile_shape;  ///< of a tile; empty: as large as memory allows
  std::int64_t bytes = 0;                ///< maximal size of a tile, with its halo
  std::int64_t parts = 1;                ///< at least this many tiles, if the axis is long enough
};

/// A part of an array that is in memory at a time. Memory is dense, in the file's order.
struct TileSections {
  Section section;                        ///< the tile's own elements
  Section with_halo;                      ///< these and the cells around them
  std::vector<std::int64_t> halo_before;  ///< cells before its own elements, in each dimension
};

/// The tiles of a section, in file order. Pure: a value that every rank can compute.
class PENSTOCK_EXPORT Tiling {
 public:
  /// Throws Error(argument) if no tile is small enough, and for values that fit no array;
  /// Error(section) for a section that does not fit the array.
  explicit Tiling(TilingSpec spec);

  std::int64_t count() const noexcept { return count_; }  ///< tiles; 0: nothing to cut
  TileSections tile(std::int64_t index) const;            ///< 0 to count() - 1
  std::int64_t bytes() const noexcept { return bytes_; }  ///< of the largest, with halo
  const std::vector<std::int64_t>& tile_shape() const noexcept {
    return tile_shape_;
  }                                                     ///< of all tiles but those at the end
  int axis() const noexcept { return order_.front(); }  ///< in which tiles follow each other

 private:
  void check() const;
  void order_dimensions();
  void fit();
  std::int64_t haloed(std::size_t dimension, std::int64_t extent) const;

  TilingSpec spec_;
  std::vector<std::int64_t> extents_, tile_shape_, counts_;
  std::vector<int> order_;  // dimensions, from the one in which tiles follow each other
  std::int64_t count_ = 0, bytes_ = 0;
};

}  // namespace penstock
