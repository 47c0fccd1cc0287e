// One case of random_model: the ranks' requests and settings.
#pragma once

#include "model_request.hpp"

struct Case {
  ModelArray array;
  std::int64_t offset;
  bool npy;
  Requests writes, reads;
  ps::Hints write_hints, read_hints;
  std::optional<ps::Background> write_mode, read_mode;  // none: the blocking call
  std::uint64_t memory_seed;
};

/// The same on every rank.
Case random_case(std::uint64_t seed, std::uint64_t number, int ranks, bool stressed);

/// On stderr, for users.
void describe(const Case& c);
