// The gas without gravity: order of convergence, shocks, conservation, and the same on any number
// of ranks.
#include "../hydro.hpp"

#include <cmath>
#include <numbers>

#include "../problem.hpp"
#include "../reduce.hpp"
#include "checks.hpp"
#include "riemann.hpp"

namespace jeans::tests {
namespace {

struct Primitive {
  double rho;
  std::array<double, 3> velocity;
  double p;
};

/// `state`: a function of a cell's three indices.
template <class State>
void set(Gas& gas, State&& state) {
  const Index3 n = gas.grid.size(), from = gas.grid.lower();
  for_rows(n, [&](std::int64_t j, std::int64_t k) {
    for (std::int64_t i = 0; i < n[0]; ++i) {
      const Primitive s = state(Index3{from[0] + i, from[1] + j, from[2] + k});
      double squares = 0;
      *gas[density].at(i, j, k) = s.rho;
      for (int d = 0; d < 3; ++d) {
        *gas.fields[momentum_x + d].at(i, j, k) = s.rho * s.velocity[d];
        squares += s.velocity[d] * s.velocity[d];
      }
      *gas[energy].at(i, j, k) = s.p / (gas.physics.gamma - 1) + 0.5 * s.rho * squares;
    }
  });
}

void run_until(Gas& gas, double end) {
  Solver solver(gas);
  while (gas.time < end) solver.advance(gas, std::min(solver.stable_step(gas), end - gas.time));
}

Gas tube(std::int64_t cells, int dimension, const Physics& physics) {
  Index3 shape{8, 8, 8};
  shape[dimension] = cells;
  // Cells are cubes: the box is as long in x as makes this dimension 1.
  return {Grid(MPI_COMM_WORLD, shape, static_cast<double>(shape[0]) / static_cast<double>(cells),
               hydro_ghosts),
          physics};
}

/// Mean error of a smooth pulse of density after one way through the box, oblique to the cells'
/// faces.
double pulse_error(std::int64_t cells, int dimension) {
  Gas gas = tube(cells, dimension, {});
  const auto profile = [&](Index3 at) {
    const double x = (static_cast<double>(at[dimension]) + 0.5) / static_cast<double>(cells);
    std::array<double, 3> velocity{};
    velocity[dimension] = 1;
    return Primitive{1 + 0.5 * std::exp(std::cos(2 * std::numbers::pi * x) * 2 - 2), velocity, 1.0};
  };
  set(gas, profile);
  const std::vector<double> before = whole(gas.grid, gas[density]);
  run_until(gas, 1.0);
  const std::vector<double> after = whole(gas.grid, gas[density]);
  double sum = 0;
  for (std::size_t i = 0; i < before.size(); ++i) sum += std::abs(after[i] - before[i]);
  return sum / static_cast<double>(before.size());
}

/// Mean error of density in Sod's tube, between the two waves that a periodic box has beside it.
double sod_error(std::int64_t cells, int dimension) {
  Physics physics;
  physics.gamma = 1.4;
  Gas gas = tube(cells, dimension, physics);
  set(gas, [&](Index3 at) {
    const bool left = 2 * at[dimension] < cells;
    return Primitive{left ? 1.0 : 0.125, {}, left ? 1.0 : 0.1};
  });
  constexpr double end = 0.12;
  run_until(gas, end);
  const Riemann exact({1, 0, 1}, {0.125, 0, 0.1}, physics.gamma);
  const std::vector<double> rho = whole(gas.grid, gas[density]);
  const Index3 all = gas.grid.cells();
  const std::int64_t stride = dimension == 0 ? 1 : dimension == 1 ? all[0] : all[0] * all[1];
  double sum = 0;
  for (std::int64_t i = cells / 4; i < 3 * cells / 4; ++i) {
    const double x = (static_cast<double>(i) + 0.5) / static_cast<double>(cells) - 0.5;
    sum += std::abs(rho[static_cast<std::size_t>(i * stride)] - exact.at(x / end).rho);
  }
  return 2 * sum / static_cast<double>(cells);
}

void conservation() {
  Gas gas(Grid(MPI_COMM_WORLD, {32, 24, 16}, 1.0, hydro_ghosts), {});
  set(gas, [](Index3 at) {
    const bool inside = at[0] < 12 && at[1] > 9 && at[2] > 4;
    return Primitive{inside ? 3.0 : 1.0,
                     {0.3, inside ? -0.9 : 0.2, 0.1 * static_cast<double>(at[0] % 3)},
                     inside ? 9.0 : 0.6};
  });
  std::array<double, conserved_arrays> before;
  for (int a = 0; a < conserved_arrays; ++a) before[a] = exact_sum(gas.grid, gas.fields[a]);
  run_until(gas, 0.25);
  check(gas.iteration > 20, "a run of some length");
  for (int a = 0; a < conserved_arrays; ++a) {
    const double change = exact_sum(gas.grid, gas.fields[a]) - before[a];
    check_between(std::abs(change) / before[0], 0, 1e-13,
                  "change of conserved array " + std::to_string(a));
  }
}

void same_on_one_rank() {
  std::vector<double> results[2];
  for (const bool alone : {false, true}) {
    Gas gas(Grid(alone ? MPI_COMM_SELF : MPI_COMM_WORLD, {28, 20, 24}, 1.0, hydro_ghosts), {});
    gas.physics.four_pi_g = four_pi_g_of(2.5, 1.0);
    Cloud{.amplitude = 0.3}.set(gas);
    Solver solver(gas);
    solver.solve_potential(gas);
    for (int step = 0; step < 5; ++step) solver.advance(gas, solver.stable_step(gas));
    for (const Field& field : gas.fields) {
      const std::vector<double> all = whole(gas.grid, field);
      results[alone ? 1 : 0].insert(results[alone ? 1 : 0].end(), all.begin(), all.end());
    }
    results[alone ? 1 : 0].push_back(gas.time);
  }
  check(results[0] == results[1], "five steps are the same on one rank, bit for bit");
}

void no_numbers() {
  Gas gas(Grid(MPI_COMM_WORLD, {16, 16, 16}, 1.0, hydro_ghosts), {});
  Cloud{}.set(gas);
  if (gas.grid.rank() == gas.grid.ranks() - 1) *gas[density].at(1, 2, 3) = std::nan("");
  try {
    Solver(gas).stable_step(gas);
    check(false, "a density that is no number should be refused");
  } catch (const penstock::Error& error) {
    check(error.error_class() == penstock::ErrorClass::state, "of the class state");
  }
}

void test() {
  for (const int dimension : {0, 1, 2}) {
    const double coarse = pulse_error(32, dimension), fine = pulse_error(64, dimension);
    check_between(coarse / fine, 4, 16,
                  "error of a pulse, 32 cells / 64 cells, dimension " + std::to_string(dimension));
    check_between(sod_error(128, dimension), 0.0005, 0.008,
                  "error of Sod's tube, dimension " + std::to_string(dimension));
  }
  check_between(sod_error(64, 0) / sod_error(128, 0), 1.5, 2.6,
                "error of Sod's tube, 64 cells / 128 cells");
  conservation();
  same_on_one_rank();
  no_numbers();
}

}  // namespace
}  // namespace jeans::tests

int main(int argc, char** argv) {
  return jeans::tests::run(argc, argv, jeans::tests::test);
}
