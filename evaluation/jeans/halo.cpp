#include "halo.hpp"

#include <algorithm>
#include <limits>

namespace jeans {
namespace {

constexpr int tag = 1;

/// A part of a field: layers of cells on one side of it.
struct Layers {
  Index3 lower, upper;

  Layers(const Field& field, int dimension, std::int64_t from, int width)
      : lower{}, upper(field.size()) {
    lower[dimension] = from;
    upper[dimension] = from + width;
  }
  /// With the ghosts of lesser dimensions.
  Layers with_corners(int dimension) const {
    Layers result = *this;
    const std::int64_t width = upper[dimension] - lower[dimension];
    for (int d = 0; d < dimension; ++d) result.lower[d] -= width, result.upper[d] += width;
    return result;
  }
  std::int64_t cells() const noexcept {
    return (upper[0] - lower[0]) * (upper[1] - lower[1]) * (upper[2] - lower[2]);
  }
  template <class Visit>
  void for_rows(Visit&& visit) const {
    for (std::int64_t k = lower[2]; k < upper[2]; ++k)
      for (std::int64_t j = lower[1]; j < upper[1]; ++j) visit(j, k);
  }
};

std::int64_t pack(std::span<Field* const> fields, const Layers& layers, std::vector<double>& out) {
  const std::int64_t row = layers.upper[0] - layers.lower[0];
  const auto cells = static_cast<std::size_t>(layers.cells()) * fields.size();
  if (out.size() < cells) out.resize(cells);
  double* to = out.data();
  for (const Field* field : fields)
    layers.for_rows([&](std::int64_t j, std::int64_t k) {
      to = std::copy_n(field->at(layers.lower[0], j, k), row, to);
    });
  return to - out.data();
}

void unpack(std::span<Field* const> fields, const Layers& layers, const double* in) {
  const std::int64_t row = layers.upper[0] - layers.lower[0];
  for (Field* field : fields)
    layers.for_rows([&](std::int64_t j, std::int64_t k) {
      std::copy_n(in, row, field->at(layers.lower[0], j, k));
      in += row;
    });
}

int count(std::int64_t values) {
  if (values > std::numeric_limits<int>::max())
    throw penstock::Error(penstock::ErrorClass::argument,
                          "a message of " + std::to_string(values) +
                              " ghost values is too long for MPI; take more ranks");
  return static_cast<int>(values);
}

}  // namespace

void Halo::exchange(const Grid& grid, std::span<Field* const> fields, int dimension, int width) {
  const std::int64_t n = fields[0]->size()[dimension];
  for (const int side : {-1, 1}) {  // cells at this side go to the neighbour there
    const Layers own =
        Layers(*fields[0], dimension, side < 0 ? 0 : n - width, width).with_corners(dimension);
    const Layers ghosts =
        Layers(*fields[0], dimension, side < 0 ? n : -width, width).with_corners(dimension);
    const int to = grid.neighbour(dimension, side), from = grid.neighbour(dimension, -side);
    const std::int64_t values = pack(fields, own, out_);
    if (to == grid.rank()) {
      unpack(fields, ghosts, out_.data());
      continue;
    }
    if (in_.size() < out_.size()) in_.resize(out_.size());
    MPI_Sendrecv(out_.data(), count(values), MPI_DOUBLE, to, tag, in_.data(), count(values),
                 MPI_DOUBLE, from, tag, grid.comm(), MPI_STATUS_IGNORE);
    unpack(fields, ghosts, in_.data());
  }
}

void Halo::exchange(const Grid& grid, Field& field, int width) {
  Field* const one = &field;
  for (int d = 0; d < 3; ++d) exchange(grid, std::span<Field* const>(&one, 1), d, width);
}

void Halo::exchange_faces(const Grid& grid, Field& field) {
  Field* const one = &field;
  const std::span<Field* const> fields(&one, 1);
  std::array<MPI_Request, 12> requests;
  requests.fill(MPI_REQUEST_NULL);
  const auto layers = [&](int face, bool ghosts) {
    const int d = face / 2;
    // Messages in one direction come from the other.
    const bool low = (face % 2 == 0) != ghosts;
    const std::int64_t n = field.size()[d];
    return Layers(field, d, ghosts ? (low ? -1 : n) : (low ? 0 : n - 1), 1);
  };
  const auto in_messages = [&](int face) { return grid.places()[face / 2] > 1; };
  for (int face = 0; face < 6; ++face) {
    const int values = count(pack(fields, layers(face, false), faces_out_[face])),
              side = face % 2 == 0 ? -1 : 1;
    if (!in_messages(face)) continue;
    faces_in_[face].resize(faces_out_[face].size());
    MPI_Irecv(faces_in_[face].data(), values, MPI_DOUBLE, grid.neighbour(face / 2, -side),
              tag + face, grid.comm(), &requests[face]);
    MPI_Isend(faces_out_[face].data(), values, MPI_DOUBLE, grid.neighbour(face / 2, side),
              tag + face, grid.comm(), &requests[6 + face]);
  }
  MPI_Waitall(12, requests.data(), MPI_STATUSES_IGNORE);
  for (int face = 0; face < 6; ++face)
    unpack(fields, layers(face, true), (in_messages(face) ? faces_in_ : faces_out_)[face].data());
}

}  // namespace jeans
