// Grid: the cubic cells of a periodic box, distributed to the ranks in blocks. Field: a value for
// each cell of a rank's block, with ghost cells around it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <mpi.h>

#include <penstock/penstock.hpp>

namespace jeans {

using Index3 = std::array<std::int64_t, 3>;

inline std::int64_t product(const Index3& n) noexcept {
  return n[0] * n[1] * n[2];
}

class Grid {
 public:
  /// `cells` in each dimension, x first; `length`: of the box in x. Throws
  /// penstock::Error(argument), the same on every rank, if a block would have fewer than `least`
  /// cells in a dimension.
  Grid(MPI_Comm comm, const Index3& cells, double length, std::int64_t least = 1);
  /// The same box in cells twice as large. A rank has those whose first fine cell it has.
  Grid coarser() const;
  /// The same cells, all of them on each rank.
  Grid gathered() const;

  MPI_Comm comm() const noexcept { return comm_; }  ///< of the ranks that have a block each
  int rank() const noexcept { return rank_; }
  int ranks() const noexcept { return static_cast<int>(product(places_)); }
  const Index3& cells() const noexcept { return cells_; }    ///< of all ranks
  const Index3& places() const noexcept { return places_; }  ///< ranks in each dimension
  double spacing() const noexcept { return spacing_; }       ///< side of a cell
  double length() const noexcept { return spacing_ * static_cast<double>(cells_[0]); }
  Index3 lower() const noexcept { return lower(place_); }  ///< first cell of this rank
  Index3 size() const noexcept { return size(place_); }    ///< cells of this rank
  Index3 lower_of(int rank) const noexcept { return lower(place_of(rank)); }
  Index3 size_of(int rank) const noexcept { return size(place_of(rank)); }
  /// The rank beside this one, `step` (-1 or 1) blocks further in a dimension, periodic.
  int neighbour(int dimension, int step) const noexcept;
  /// Half as many cells in each dimension are whole cells, and at least two.
  bool can_be_halved() const noexcept;
  /// All blocks begin at even cells: a coarse cell and its fine ones are on one rank.
  bool begins_even() const noexcept;
  std::int64_t smallest_side() const noexcept;  ///< of any block
  penstock::Section section() const;            ///< this rank's cells

 private:
  Grid() = default;
  Index3 place_of(int rank) const noexcept;
  Index3 lower(const Index3& place) const noexcept;
  Index3 size(const Index3& place) const noexcept;

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  double spacing_ = 0;
  Index3 cells_{}, places_{1, 1, 1}, place_{};
  std::array<std::vector<std::int64_t>, 3> bounds_;  ///< where blocks begin, and the end
};

class Field {
 public:
  Field(const Index3& size, int ghosts);

  const Index3& size() const noexcept { return size_; }  ///< without ghosts
  int ghosts() const noexcept { return ghosts_; }
  std::int64_t stride(int dimension) const noexcept { return strides_[dimension]; }
  /// Indices of this rank, from 0; ghosts have negative ones, and those from size() on.
  double* at(std::int64_t i, std::int64_t j, std::int64_t k) noexcept {
    return data_.data() + place(i, j, k);
  }
  const double* at(std::int64_t i, std::int64_t j, std::int64_t k) const noexcept {
    return data_.data() + place(i, j, k);
  }
  void fill(double value) { data_.assign(data_.size(), value); }
  /// Of the cells without ghosts, in Fortran order.
  void pack(double* out) const noexcept;
  void unpack(const double* in) noexcept;

 private:
  std::size_t place(std::int64_t i, std::int64_t j, std::int64_t k) const noexcept {
    return static_cast<std::size_t>(i + ghosts_ + (j + ghosts_) * strides_[1] +
                                    (k + ghosts_) * strides_[2]);
  }

  Index3 size_, strides_;
  int ghosts_;
  std::vector<double> data_;
};

/// Calls visit(j, k) for all rows of cells along x.
template <class Visit>
void for_rows(const Index3& size, Visit&& visit) {
  for (std::int64_t k = 0; k < size[2]; ++k)
    for (std::int64_t j = 0; j < size[1]; ++j) visit(j, k);
}

}  // namespace jeans
