#include "hydro.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "reduce.hpp"

namespace jeans {
namespace {

constexpr double tolerance =
    1e-8;  // far below what a step changes; momentum is conserved as well as that

}  // namespace

Solver::Solver(const Gas& gas)
    : poisson_(gas.grid),
      source_(gas.grid.size(), 0),
      sweeps_{Sweep(gas.grid.size()[0], gas.physics.gamma),
              Sweep(gas.grid.size()[1], gas.physics.gamma),
              Sweep(gas.grid.size()[2], gas.physics.gamma)} {}

void Solver::solve_potential(Gas& gas) {
  if (gas.physics.four_pi_g == 0) return;
  const Index3 n = gas.grid.size();
  for_rows(n, [&](std::int64_t j, std::int64_t k) {
    const double* rho = gas[density].at(0, j, k);
    double* source = source_.at(0, j, k);
    for (std::int64_t i = 0; i < n[0]; ++i) source[i] = gas.physics.four_pi_g * rho[i];
  });
  cycles_ += poisson_.solve(source_, gas[potential], tolerance);
}

double Solver::stable_step(const Gas& gas) {
  const Index3 n = gas.grid.size();
  double fastest = 0, densest = 0;
  bool good = true;
  for_rows(n, [&](std::int64_t j, std::int64_t k) {
    for (std::int64_t i = 0; i < n[0]; ++i) {
      const double rho = *gas[density].at(i, j, k);
      const std::array<double, 3> m{*gas[momentum_x].at(i, j, k), *gas[momentum_y].at(i, j, k),
                                    *gas[momentum_z].at(i, j, k)};
      const double p = std::max(pressure(gas.physics.gamma, rho, m, *gas[energy].at(i, j, k)), 0.0);
      const double most = std::max({std::abs(m[0]), std::abs(m[1]), std::abs(m[2])}) / rho;
      const double signal = most + std::sqrt(gas.physics.gamma * p / rho);
      good = good && rho > 0 && std::isfinite(signal);
      fastest = std::max(fastest, signal);
      densest = std::max(densest, rho);
    }
  });
  fastest = greatest(gas.grid.comm(), good ? fastest : std::nan(""));
  densest = greatest(gas.grid.comm(), densest);
  if (!(fastest > 0))
    throw penstock::Error(
        penstock::ErrorClass::state,
        "after iteration " + std::to_string(gas.iteration) +
            " a cell has no mass, or a value that is no number; take a smaller --courant");
  const double sound = gas.physics.courant * gas.grid.spacing() / fastest;
  if (gas.physics.four_pi_g == 0) return sound;
  return std::min(sound, gas.physics.falling / std::sqrt(gas.physics.four_pi_g * densest));
}

void Solver::advance(Gas& gas, double step) {
  const bool forth = gas.iteration % 2 == 0;
  kick(gas, 0.5 * step);
  for (const int turn : {0, 1, 2}) sweep(gas, forth ? turn : 2 - turn, step);
  solve_potential(gas);
  kick(gas, 0.5 * step);
  gas.iteration += 1;
  gas.time += step;
  gas.step = step;
}

void Solver::sweep(Gas& gas, int dimension, double step) {
  std::array<Field*, conserved_arrays> fields;
  for (int a = 0; a < conserved_arrays; ++a) fields[a] = &gas.fields[a];
  halo_.exchange(gas.grid, fields, dimension, hydro_ghosts);
  // Momentum along the row comes first, the others in turn.
  std::swap(fields[momentum_x], fields[momentum_x + dimension]);

  Sweep& row = sweeps_[dimension];
  const Index3 n = gas.grid.size();
  const int across = dimension == 0 ? 1 : 0, other = dimension == 2 ? 1 : 2;
  const std::int64_t length = n[dimension] + 2 * hydro_ghosts,
                     stride = fields[0]->stride(dimension);
  for (std::int64_t b = 0; b < n[other]; ++b)
    for (std::int64_t a = 0; a < n[across]; ++a) {
      Index3 at{};
      at[across] = a;
      at[other] = b;
      at[dimension] = -hydro_ghosts;
      for (int v = 0; v < conserved_arrays; ++v) {
        const double* from = fields[v]->at(at[0], at[1], at[2]);
        for (std::int64_t i = 0; i < length; ++i) row.conserved[v][i] = from[i * stride];
      }
      row.advance(step / gas.grid.spacing());
      for (int v = 0; v < conserved_arrays; ++v) {
        double* to = fields[v]->at(at[0], at[1], at[2]);
        for (std::int64_t i = hydro_ghosts; i < length - hydro_ghosts; ++i)
          to[i * stride] = row.conserved[v][i];
      }
    }
}

/// Gravity for a time: momentum changes, and energy by the work that is done. Internal energy
/// stays.
void Solver::kick(Gas& gas, double step) const {
  if (gas.physics.four_pi_g == 0) return;
  const Index3 n = gas.grid.size();
  const double scale = -0.5 * step / gas.grid.spacing();
  for_rows(n, [&](std::int64_t j, std::int64_t k) {
    const double *phi = gas[potential].at(0, j, k), *rho = gas[density].at(0, j, k);
    double* e = gas[energy].at(0, j, k);
    for (int d = 0; d < 3; ++d) {
      double* m = gas.fields[momentum_x + d].at(0, j, k);
      const std::int64_t stride = gas[potential].stride(d);
      for (std::int64_t i = 0; i < n[0]; ++i) {
        const double change = scale * rho[i] * (phi[i + stride] - phi[i - stride]);
        e[i] += change * (m[i] + 0.5 * change) / rho[i];
        m[i] += change;
      }
    }
  });
}

}  // namespace jeans
