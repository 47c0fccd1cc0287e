#include "poisson.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "reduce.hpp"

namespace jeans {
namespace {

constexpr int sweeps_before = 2, sweeps_after = 2, most_cycles = 60, most_coarsest_sweeps = 400;
/// Smaller levels are gathered, since messages would take longer than the work.
constexpr std::int64_t gathered_cells = 32768;

void check_shape(const Grid& grid) {
  const Index3& n = grid.cells();
  if (std::any_of(n.begin(), n.end(),
                  [](std::int64_t cells) { return cells < 4 || cells % 4 != 0; }))
    throw penstock::Error(
        penstock::ErrorClass::argument,
        "the multigrid solver needs a multiple of 4 cells in each dimension, not " +
            std::to_string(n[0]) + " x " + std::to_string(n[1]) + " x " + std::to_string(n[2]));
}

}  // namespace

Poisson::Level::Level(const Grid& cells, bool gathered_here)
    : grid(gathered_here ? cells.gathered() : cells),
      u(grid.size(), 1),
      f(grid.size(), 1),
      r(grid.size(), 1) {
  if (!gathered_here) return;
  dealt = cells;
  part.emplace(cells.size(), 1);
}

Poisson::Poisson(const Grid& grid) {
  check_shape(grid);
  levels_.emplace_back(grid, false);
  for (Grid next = grid; next.can_be_halved();) {
    next = next.coarser();
    const bool small = product(next.cells()) <= gathered_cells || next.smallest_side() < 2 ||
                       !next.can_be_halved();
    levels_.emplace_back(next, small && next.ranks() > 1);
    next = levels_.back().grid;
  }
}

int Poisson::solve(const Field& source, Field& potential, double tolerance) {
  Level& finest = levels_.front();
  const auto cells = static_cast<double>(product(finest.grid.cells()));
  const double mean = exact_sum(finest.grid, source) / cells;
  const std::int64_t n = finest.u.size()[0];
  double scale = 0;
  for_rows(finest.u.size(), [&](std::int64_t j, std::int64_t k) {
    std::copy_n(potential.at(0, j, k), n, finest.u.at(0, j, k));
    const double* from = source.at(0, j, k);
    double* to = finest.f.at(0, j, k);
    for (std::int64_t i = 0; i < n; ++i) scale = std::max(scale, std::abs(to[i] = from[i] - mean));
  });
  scale = greatest(finest.grid.comm(), scale);
  // A uniform source has only rounding errors.
  scale = std::max(scale, 1e-12 * std::abs(mean));
  halo_.exchange_faces(finest.grid, finest.u);
  int cycles = 0;
  for (; scale > 0; ++cycles) {
    const double rest = greatest(finest.grid.comm(), residual(finest));
    if (rest <= tolerance * scale) break;
    if (cycles == most_cycles || !std::isfinite(rest))
      throw penstock::Error(penstock::ErrorClass::state,
                            "the Poisson solver: after " + std::to_string(cycles) +
                                " V-cycles the residual is " + std::to_string(rest / scale) +
                                " of the greatest source, and not " + std::to_string(tolerance) +
                                "; the density may hold values that are no numbers");
    cycle(0);
  }
  for_rows(finest.u.size(), [&](std::int64_t j, std::int64_t k) {
    std::copy_n(finest.u.at(0, j, k), n, potential.at(0, j, k));
  });
  halo_.exchange(finest.grid, potential, potential.ghosts());
  return cycles;
}

void Poisson::cycle(std::size_t level) {
  if (level + 1 == levels_.size()) {
    solve_coarsest();
    return;
  }
  Level &fine = levels_[level], &coarse = levels_[level + 1];
  smooth(fine, sweeps_before);
  residual(fine);
  restrict_to(coarse, fine);
  coarse.u.fill(0);
  cycle(level + 1);
  prolong(coarse, fine);
  halo_.exchange_faces(fine.grid, fine.u);
  smooth(fine, sweeps_after);
}

/// Ghosts of u are filled before and after.
void Poisson::smooth(Level& level, int sweeps) {
  const Index3 n = level.u.size(), from = level.grid.lower();
  const std::int64_t sy = level.u.stride(1), sz = level.u.stride(2);
  const double h2 = level.grid.spacing() * level.grid.spacing();
  for (int half = 0; half < 2 * sweeps; ++half) {
    for_rows(n, [&](std::int64_t j, std::int64_t k) {
      double* u = level.u.at(0, j, k);
      const double* f = level.f.at(0, j, k);
      for (std::int64_t i = (from[0] + from[1] + j + from[2] + k + half) & 1; i < n[0]; i += 2)
        u[i] = ((u[i - 1] + u[i + 1]) + (u[i - sy] + u[i + sy]) + (u[i - sz] + u[i + sz]) -
                h2 * f[i]) /
               6.0;
    });
    halo_.exchange_faces(level.grid, level.u);
  }
}

double Poisson::residual(Level& level) {
  const Index3 n = level.u.size();
  const std::int64_t sy = level.u.stride(1), sz = level.u.stride(2);
  const double by_h2 = 1 / (level.grid.spacing() * level.grid.spacing());
  double most = 0;
  for_rows(n, [&](std::int64_t j, std::int64_t k) {
    const double *u = level.u.at(0, j, k), *f = level.f.at(0, j, k);
    double* r = level.r.at(0, j, k);
    for (std::int64_t i = 0; i < n[0]; ++i) {
      const double around =
          (u[i - 1] + u[i + 1]) + (u[i - sy] + u[i + sy]) + (u[i - sz] + u[i + sz]);
      r[i] = f[i] - (around - 6 * u[i]) * by_h2;
      // Negated so that NaNs get through.
      if (!(std::abs(r[i]) <= most)) most = std::abs(r[i]);
    }
  });
  return most;
}

/// The mean of eight fine cells.
void Poisson::restrict_to(Level& coarse, Level& fine) {
  if (!fine.grid.begins_even()) halo_.exchange(fine.grid, fine.r, 1);
  const Grid& grid = coarse.dealt ? *coarse.dealt : coarse.grid;
  Field& to = coarse.part ? *coarse.part : coarse.f;
  const Index3 n = grid.size(), at = grid.lower(), from = fine.grid.lower();
  const std::int64_t sy = fine.r.stride(1), sz = fine.r.stride(2);
  for_rows(n, [&](std::int64_t j, std::int64_t k) {
    const double* r =
        fine.r.at(2 * at[0] - from[0], 2 * (at[1] + j) - from[1], 2 * (at[2] + k) - from[2]);
    double* f = to.at(0, j, k);
    for (std::int64_t i = 0; i < n[0]; ++i, r += 2)
      f[i] = 0.125 * (((r[0] + r[1]) + (r[sy] + r[sy + 1])) +
                      ((r[sz] + r[sz + 1]) + (r[sy + sz] + r[sy + sz + 1])));
  });
  if (coarse.dealt) gather(coarse);
}

/// A fine cell takes 3/4 of its coarse cell's correction and 1/4 of the nearest neighbour's, in
/// each dimension.
void Poisson::prolong(Level& coarse, Level& fine) {
  halo_.exchange(coarse.grid, coarse.u, 1);
  const Index3 n = fine.grid.size(), at = fine.grid.lower(), from = coarse.grid.lower();
  const std::int64_t sy = coarse.u.stride(1), sz = coarse.u.stride(2);
  const auto beside = [](std::int64_t cell, std::int64_t stride) {
    return (cell & 1) != 0 ? stride : -stride;
  };
  for_rows(n, [&](std::int64_t j, std::int64_t k) {
    const std::int64_t y = at[1] + j, z = at[2] + k, dy = beside(y, sy), dz = beside(z, sz);
    const double* row = coarse.u.at(0, y / 2 - from[1], z / 2 - from[2]) - from[0];
    double* u = fine.u.at(0, j, k) - at[0];
    const auto across = [&](std::int64_t c) {
      return 0.75 * (0.75 * row[c] + 0.25 * row[c + dy]) +
             0.25 * (0.75 * row[c + dz] + 0.25 * row[c + dy + dz]);
    };
    for (std::int64_t x = at[0]; x < at[0] + n[0]; ++x)
      u[x] += 0.75 * across(x / 2) + 0.25 * across(x / 2 + beside(x, 1));
  });
}

void Poisson::solve_coarsest() {
  Level& level = levels_.back();
  const Index3 n = level.u.size();
  // Rounding gives the source a mean value, for which no periodic solution exists.
  const double mean =
      exact_sum(level.grid, level.f) / static_cast<double>(product(level.grid.cells()));
  for_rows(n, [&](std::int64_t j, std::int64_t k) {
    double* f = level.f.at(0, j, k);
    for (std::int64_t i = 0; i < n[0]; ++i) f[i] -= mean;
  });
  level.u.fill(0);
  const double first = residual(level);
  for (int sweep = 0; sweep < most_coarsest_sweeps && residual(level) > 1e-4 * first; sweep += 4)
    smooth(level, 4);
}

void Poisson::gather(Level& level) {
  const Grid& dealt = *level.dealt;
  std::vector<int> counts, places;
  int total = 0;
  for (int rank = 0; rank < dealt.ranks(); ++rank) {
    counts.push_back(static_cast<int>(product(dealt.size_of(rank))));
    places.push_back(total);
    total += counts.back();
  }
  std::vector<double> mine(static_cast<std::size_t>(counts[dealt.rank()])),
      all(static_cast<std::size_t>(total));
  level.part->pack(mine.data());
  MPI_Allgatherv(mine.data(), counts[dealt.rank()], MPI_DOUBLE, all.data(), counts.data(),
                 places.data(), MPI_DOUBLE, dealt.comm());
  const double* in = all.data();
  for (int rank = 0; rank < dealt.ranks(); ++rank) {
    const Index3 from = dealt.lower_of(rank), n = dealt.size_of(rank);
    for_rows(n, [&](std::int64_t j, std::int64_t k) {
      std::copy_n(in, n[0], level.f.at(from[0], from[1] + j, from[2] + k));
      in += n[0];
    });
  }
}

}  // namespace jeans
