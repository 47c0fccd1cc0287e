// Ghost cells: cells beside a rank's block, with the values of the neighbours' cells.
#pragma once

#include <span>
#include <vector>

#include "grid.hpp"

namespace jeans {

class Halo {
 public:
  /// Collective over the grid's ranks: fills `width` layers of ghosts on both sides in one
  /// dimension. Ghosts of lower dimensions are sent along, so that exchange in x, then y, then z
  /// fills the corners, too.
  void exchange(const Grid& grid, std::span<Field* const> fields, int dimension, int width);
  /// All three dimensions of one field, corners included.
  void exchange(const Grid& grid, Field& field, int width);
  /// All three dimensions of one field, one layer, without corners: all messages are in flight at
  /// the same time.
  void exchange_faces(const Grid& grid, Field& field);

 private:
  std::vector<double> out_, in_;
  std::array<std::vector<double>, 6> faces_out_, faces_in_;
};

}  // namespace jeans
