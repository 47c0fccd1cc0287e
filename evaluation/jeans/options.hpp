// Command-line options of a run.
#pragma once

#include <filesystem>
#include <string>

#include "dumps.hpp"
#include "gas.hpp"
#include "problem.hpp"

namespace jeans {

struct Options {
  Index3 cells{128, 128, 64};
  std::int64_t iterations = 20;
  std::int64_t dump_every = 5;  ///< 0: no dumps
  std::int64_t wave = 0;        ///< instead of a cloud: a plane wave with so many wavelengths
  double lengths = 4;           ///< Jeans lengths in the box
  double amplitude = 0.1;
  Physics physics;
  std::filesystem::path restart;  ///< to begin with
  std::filesystem::path record;   ///< where a line of JSON is added
  DumpSettings dumps;
  bool quiet = false;

  /// Throws penstock::Error(argument).
  static Options parse(int argc, char** argv);
  static std::string help();
};

}  // namespace jeans
