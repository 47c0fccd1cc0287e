// Hints as one text, "name=value;name=value", as a C program passes them.
#include <algorithm>
#include <map>
#include <string_view>

#include "c/guard.hpp"
#include "c/objects.hpp"

namespace penstock::c {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

/// A value may have further = in it, as those of device have.
std::map<std::string, std::string> parsed(std::string_view text) {
  std::map<std::string, std::string> settings;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    const std::string_view one = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.empty()) continue;
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos)
      throw Error(ErrorClass::argument,
                  "hints: '" + std::string(one) + "' is not of the form name=value");
    settings[std::string(trimmed(one.substr(0, equals)))] = trimmed(one.substr(equals + 1));
  }
  return settings;
}

}  // namespace

Hints with_settings(Hints hints, const char* settings) {
  if (settings == nullptr) return hints;
  std::vector<std::string> unknown;
  hints.set(parsed(settings), &unknown);
  if (!unknown.empty())
    throw Error(ErrorClass::argument, "hints: there is no hint '" + unknown.front() + "'");
  return hints;
}

}  // namespace penstock::c
