#include "reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace jeans {

double greatest(MPI_Comm comm, double mine) {
  // MPI_MAX is not defined for NaNs.
  const double sent[2] = {std::isnan(mine) ? 1.0 : 0.0, std::isnan(mine) ? 0.0 : mine};
  double most[2] = {};
  MPI_Allreduce(sent, most, 2, MPI_DOUBLE, MPI_MAX, comm);
  return most[0] > 0 ? std::numeric_limits<double>::quiet_NaN() : most[1];
}

double exact_sum(const Grid& grid, const Field& field) {
  const std::int64_t n = field.size()[0];
  double most = 0;
  for_rows(field.size(), [&](std::int64_t j, std::int64_t k) {
    const double* row = field.at(0, j, k);
    for (std::int64_t i = 0; i < n; ++i) most = std::max(most, std::abs(row[i]));
  });
  most = greatest(grid.comm(), most);
  if (!std::isfinite(most) || most == 0) return most;
  // Two digits of 30 bits: 2^31 cells of them fit into 64 bits.
  int exponent = 0;
  std::frexp(most, &exponent);
  const double digit = std::ldexp(1.0, 30), to_first = std::ldexp(1.0, 30 - exponent);
  std::int64_t digits[2] = {}, total[2] = {};
  for_rows(field.size(), [&](std::int64_t j, std::int64_t k) {
    const double* row = field.at(0, j, k);
    for (std::int64_t i = 0; i < n; ++i) {
      const double scaled = row[i] * to_first, first = std::trunc(scaled);
      digits[0] += static_cast<std::int64_t>(first);
      digits[1] += static_cast<std::int64_t>((scaled - first) * digit);
    }
  });
  MPI_Allreduce(digits, total, 2, MPI_INT64_T, MPI_SUM, grid.comm());
  return (static_cast<double>(total[0]) + static_cast<double>(total[1]) / digit) / to_first;
}

}  // namespace jeans
