// Figures as people read them, two digits at least: where text is for a person and not for a
// program.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

/// "17 B", "1.5 KiB", "38 GiB".
std::string text_of_bytes(std::int64_t bytes);
/// "15 us", "1.3 ms", "120 s".
std::string text_of_seconds(double seconds);

}  // namespace penstock
