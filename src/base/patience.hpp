// How long a wait may take before it is reported, and whether it then becomes an error.
#pragma once

#include <chrono>

namespace penstock {

/// PENSTOCK_PATIENCE=SECONDS[,error], read once. A malformed value is reported on stderr.
struct Patience {
  std::chrono::nanoseconds limit = std::chrono::seconds(10);  // 0: never reported
  bool raises = false;
  static const Patience& get();
};

}  // namespace penstock
