#include "grid.hpp"

#include <algorithm>
#include <string>

namespace jeans {
namespace {

std::string text(const Index3& n) {
  return std::to_string(n[0]) + " x " + std::to_string(n[1]) + " x " + std::to_string(n[2]);
}

}  // namespace

Grid::Grid(MPI_Comm comm, const Index3& cells, double length, std::int64_t least)
    : comm_(comm), spacing_(length / static_cast<double>(cells[0])), cells_(cells) {
  int ranks = 1;
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &ranks);
  std::array<int, 3> places{};  // as many in each dimension as can be: 2 x 2 x 2 of 8 ranks
  MPI_Dims_create(ranks, 3, places.data());
  std::copy(places.begin(), places.end(), places_.begin());
  for (int d = 0; d < 3; ++d) {
    // Block distribution as in High Performance Fortran.
    const std::int64_t side = (cells[d] + places_[d] - 1) / places_[d];
    for (std::int64_t place = 0; place <= places_[d]; ++place)
      bounds_[d].push_back(std::min(place * side, cells[d]));
  }
  place_ = place_of(rank_);
  if (smallest_side() < least)
    throw penstock::Error(penstock::ErrorClass::argument,
                          text(cells) + " cells on " + std::to_string(ranks) +
                              " ranks, in a grid of " + text(places_) + ": a block would have " +
                              std::to_string(smallest_side()) +
                              " cells in a dimension, and needs " + std::to_string(least) +
                              "; take more cells or fewer ranks");
}

Grid Grid::coarser() const {
  Grid result = *this;
  result.spacing_ *= 2;
  for (int d = 0; d < 3; ++d) {
    result.cells_[d] /= 2;
    for (auto& bound : result.bounds_[d]) bound = (bound + 1) / 2;
  }
  return result;
}

Grid Grid::gathered() const {
  Grid result;
  result.comm_ = MPI_COMM_SELF;
  result.spacing_ = spacing_;
  result.cells_ = cells_;
  for (int d = 0; d < 3; ++d) result.bounds_[d] = {0, cells_[d]};
  return result;
}

Index3 Grid::place_of(int rank) const noexcept {
  return {rank / (places_[1] * places_[2]), rank / places_[2] % places_[1], rank % places_[2]};
}

Index3 Grid::lower(const Index3& place) const noexcept {
  return {bounds_[0][place[0]], bounds_[1][place[1]], bounds_[2][place[2]]};
}

Index3 Grid::size(const Index3& place) const noexcept {
  Index3 result = lower(place);
  for (int d = 0; d < 3; ++d) result[d] = bounds_[d][place[d] + 1] - result[d];
  return result;
}

int Grid::neighbour(int dimension, int step) const noexcept {
  Index3 place = place_;
  place[dimension] = (place[dimension] + step + places_[dimension]) % places_[dimension];
  return static_cast<int>((place[0] * places_[1] + place[1]) * places_[2] + place[2]);
}

bool Grid::can_be_halved() const noexcept {
  return std::all_of(cells_.begin(), cells_.end(),
                     [](std::int64_t n) { return n % 2 == 0 && n >= 4; });
}

bool Grid::begins_even() const noexcept {
  return std::all_of(bounds_.begin(), bounds_.end(), [](const auto& of_dimension) {
    return std::all_of(of_dimension.begin(), of_dimension.end(),
                       [](std::int64_t b) { return b % 2 == 0; });
  });
}

std::int64_t Grid::smallest_side() const noexcept {
  std::int64_t least = cells_[0];
  for (const auto& bounds : bounds_)
    for (std::size_t b = 1; b < bounds.size(); ++b)
      least = std::min(least, bounds[b] - bounds[b - 1]);
  return least;
}

penstock::Section Grid::section() const {
  const Index3 from = lower(), n = size();
  return {{from[0], from[0] + n[0]}, {from[1], from[1] + n[1]}, {from[2], from[2] + n[2]}};
}

Field::Field(const Index3& size, int ghosts) : size_(size), strides_{1, 0, 0}, ghosts_(ghosts) {
  strides_[1] = size[0] + 2 * ghosts;
  strides_[2] = strides_[1] * (size[1] + 2 * ghosts);
  data_.resize(static_cast<std::size_t>(strides_[2] * (size[2] + 2 * ghosts)));
}

void Field::pack(double* out) const noexcept {
  for_rows(size_,
           [&](std::int64_t j, std::int64_t k) { out = std::copy_n(at(0, j, k), size_[0], out); });
}

void Field::unpack(const double* in) noexcept {
  for_rows(size_, [&](std::int64_t j, std::int64_t k) {
    std::copy_n(in, size_[0], at(0, j, k));
    in += size_[0];
  });
}

}  // namespace jeans
