// Rounded figures for messages: at least two digits.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

/// "17 B", "1.5 KiB", "38 GiB".
std::string text_of_bytes(std::int64_t bytes);
/// "15 us", "1.3 ms", "120 s".
std::string text_of_seconds(double seconds);

}  // namespace penstock
