// The Poisson solver: second-order in the spacing, fast, and the same on any number of ranks.
#include "../poisson.hpp"

#include <cmath>
#include <numbers>

#include "checks.hpp"

namespace jeans::tests {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;

/// A potential that is no eigenfunction of the discrete Laplacian, in a box of 1 x 1 x 1/2.
double potential_at(double x, double y, double z) {
  return std::sin(two_pi * x) * std::cos(two_pi * y) + std::exp(std::sin(2 * two_pi * z)) +
         std::cos(2 * two_pi * x);
}

double laplacian_at(double x, double y, double z) {
  const double k2 = two_pi * two_pi, s = std::sin(2 * two_pi * z), c = std::cos(2 * two_pi * z);
  return -2 * k2 * std::sin(two_pi * x) * std::cos(two_pi * y) +
         4 * k2 * (c * c - s) * std::exp(s) - 4 * k2 * std::cos(2 * two_pi * x);
}

template <class Function>
void fill(const Grid& grid, Field& field, Function&& function) {
  const Index3 from = grid.lower();
  const auto middle = [&](std::int64_t cell) {
    return (static_cast<double>(cell) + 0.5) * grid.spacing();
  };
  for_rows(field.size(), [&](std::int64_t j, std::int64_t k) {
    for (std::int64_t i = 0; i < field.size()[0]; ++i)
      *field.at(i, j, k) = function(middle(from[0] + i), middle(from[1] + j), middle(from[2] + k));
  });
}

/// Greatest error of the potential, less its mean.
double error_of(std::int64_t cells) {
  const Grid grid(MPI_COMM_WORLD, {cells, cells, cells / 2}, 1.0, 2);
  Field source(grid.size(), 0), expected(grid.size(), 0), found(grid.size(), 1);
  fill(grid, source, laplacian_at);
  fill(grid, expected, potential_at);
  Poisson solver(grid);
  check_between(solver.solve(source, found), 3, 14,
                "V-cycles for " + std::to_string(cells) + " cells");
  check(solver.solve(source, found) == 0, "a potential that is right is left as it is");
  const std::vector<double> a = whole(grid, found), b = whole(grid, expected);
  double shift = 0, worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) shift += (a[i] - b[i]) / static_cast<double>(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i] - shift));
  return worst;
}

void same_on_one_rank(const Index3& cells) {
  std::vector<double> results[2];
  for (const bool alone : {false, true}) {
    const Grid grid(alone ? MPI_COMM_SELF : MPI_COMM_WORLD, cells, 1.0, 2);
    Field source(grid.size(), 0), found(grid.size(), 1);
    fill(grid, source, [](double x, double y, double z) {
      return std::exp(std::sin(9 * x) + y * y) + std::cos(40 * z);
    });
    Poisson(grid).solve(source, found);
    results[alone ? 1 : 0] = whole(grid, found);
  }
  check(results[0] == results[1], "the potential is the same on one rank, bit for bit, with " +
                                      std::to_string(cells[0]) + " x " + std::to_string(cells[1]) +
                                      " x " + std::to_string(cells[2]) + " cells");
}

void wrong_shapes() {
  const Grid grid(MPI_COMM_WORLD, {30, 32, 32}, 1.0);
  try {
    Poisson solver(grid);
    check(false, "30 cells should be refused");
  } catch (const penstock::Error& error) {
    check(std::string(error.what()).find("30 x 32 x 32") != std::string::npos,
          "the error names the cells");
  }
}

void test() {
  const double coarse = error_of(16), middle = error_of(32), fine = error_of(64);
  check_between(coarse / middle, 3.4, 6, "error of 16 cells / of 32 cells");
  check_between(middle / fine, 3.6, 4.6, "error of 32 cells / of 64 cells");
  for (const Index3& cells : {Index3{32, 32, 16}, Index3{36, 24, 20}, Index3{64, 48, 32}})
    same_on_one_rank(cells);
  wrong_shapes();
}

}  // namespace
}  // namespace jeans::tests

int main(int argc, char** argv) {
  return jeans::tests::run(argc, argv, jeans::tests::test);
}
