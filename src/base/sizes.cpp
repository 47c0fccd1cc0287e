// Sizes such as "64K", in hints and devices.
#include <penstock/hints.hpp>

#include <cctype>
#include <charconv>
#include <utility>

#include "base/checked.hpp"

namespace penstock {

std::int64_t parse_bytes(std::string_view text) {
  const auto fail = [&]() -> std::int64_t {
    throw Error(
        ErrorClass::argument,
        "'" + std::string(text) + "' is not a size; write bytes, or a number with K, M or G");
  };
  std::int64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || number < 0) return fail();
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.empty() || unit == "B") return number;
  for (const auto& [letter, factor] :
       {std::pair<char, std::int64_t>{'K', 1 << 10}, {'M', 1 << 20}, {'G', 1 << 30}})
    if (std::toupper(static_cast<unsigned char>(unit[0])) == letter &&
        (unit.size() == 1 || unit.substr(1) == "iB" || unit.substr(1) == "B"))
      return checked_multiply(number, factor, "size");
  return fail();
}

}  // namespace penstock
