#include "base/human.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace penstock {
namespace {

/// 9.4, 38; 8 instead of 8.0.
std::string two_digits(double value) {
  char text[32];
  const bool whole = std::fabs(value - std::round(value)) < 0.05;
  std::snprintf(text, sizeof text, value >= 9.95 || whole ? "%.0f" : "%.1f", value);
  return text;
}

}  // namespace

std::string text_of_bytes(std::int64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (std::round(value) >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return two_digits(value) + " " + units[unit];
}

std::string text_of_seconds(double seconds) {
  if (seconds < 0.9995e-3) return two_digits(seconds * 1e6) + " us";
  if (seconds < 0.9995) return two_digits(seconds * 1e3) + " ms";
  return two_digits(seconds) + " s";
}

}  // namespace penstock
