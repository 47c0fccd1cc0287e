// Values in messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

inline std::string text_of(const std::vector<std::int64_t>& values) {
  std::string text = "(";
  for (std::size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  return text + ")";
}

}  // namespace penstock
