// Self-gravitating gas: growth and oscillation according to Jeans' dispersion relation, and
// conservation.
#include <cmath>
#include <numbers>

#include "../hydro.hpp"
#include "../problem.hpp"
#include "../reduce.hpp"
#include "checks.hpp"

namespace jeans::tests {
namespace {

/// `lengths`: Jeans lengths in the box; the wave is as long as the box.
Gas wave_gas(double lengths) {
  Gas gas(Grid(MPI_COMM_WORLD, {32, 8, 8}, 1.0, hydro_ghosts), {});
  gas.physics.four_pi_g = four_pi_g_of(lengths, 1.0);
  return gas;
}

void growth() {
  Gas gas = wave_gas(std::sqrt(2.0));
  const Wave wave;
  wave.set(gas);
  Solver solver(gas);
  solver.solve_potential(gas);
  const double first = wave.measure(gas);
  while (gas.time < 0.4) solver.advance(gas, solver.stable_step(gas));
  const double expected = std::sqrt(-wave.omega_squared(gas));
  const double measured = std::log(wave.measure(gas) / first) / gas.time;
  check_between(measured / expected, 0.98, 1.02, "growth rate / that of the dispersion relation");
}

void oscillation() {
  Gas gas = wave_gas(std::sqrt(0.5));
  const Wave wave;
  wave.set(gas);
  Solver solver(gas);
  solver.solve_potential(gas);
  double amplitude = wave.measure(gas), before = amplitude;
  while (amplitude > 0 && gas.time < 10) {
    before = amplitude;
    solver.advance(gas, solver.stable_step(gas));
    amplitude = wave.measure(gas);
  }
  // A quarter of the period: the amplitude is 0 somewhere in the last step.
  const double quarter = gas.time - gas.step * amplitude / (amplitude - before);
  const double omega = std::numbers::pi / 2 / quarter;
  check_between(omega / std::sqrt(wave.omega_squared(gas)), 0.98, 1.02,
                "frequency / that of the dispersion relation");
}

void conservation() {
  Gas gas(Grid(MPI_COMM_WORLD, {24, 24, 16}, 1.0, hydro_ghosts), {});
  gas.physics.four_pi_g = four_pi_g_of(2.5, 1.0);
  Cloud{}.set(gas);
  Solver solver(gas);
  solver.solve_potential(gas);
  const double mass = exact_sum(gas.grid, gas[density]);
  for (int step = 0; step < 20; ++step) solver.advance(gas, solver.stable_step(gas));
  check_between(std::abs(exact_sum(gas.grid, gas[density]) / mass - 1), 0, 1e-14, "change of mass");
  for (int d = 0; d < 3; ++d)
    check_between(std::abs(exact_sum(gas.grid, gas.fields[momentum_x + d])) / mass, 0, 1e-9,
                  "momentum / mass in dimension " + std::to_string(d));
}

void test() {
  growth();
  oscillation();
  conservation();
}

}  // namespace
}  // namespace jeans::tests

int main(int argc, char** argv) {
  return jeans::tests::run(argc, argv, jeans::tests::test);
}
