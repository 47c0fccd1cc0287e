// After how long a wait is reported, and whether it is an error then.
#pragma once

#include <chrono>

namespace penstock {

/// PENSTOCK_PATIENCE=SECONDS[,error], read once. What cannot be read is said on stderr.
struct Patience {
  std::chrono::nanoseconds limit = std::chrono::seconds(10);  // 0: nothing is ever said
  bool raises = false;
  static const Patience& get();
};

}  // namespace penstock
