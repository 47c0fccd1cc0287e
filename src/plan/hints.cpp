#include <penstock/hints.hpp>

#include <algorithm>

#include "plan/hint_table.hpp"

namespace penstock {
namespace {

/// Longer values are refused; so error messages can show them in full.
constexpr std::size_t longest_value = 1024;

std::string text_of(const Hints& hints, const HintRow& row) {
  return std::visit([&](const auto& kind) { return kind.text(hints.*kind.field); }, row.kind);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

}  // namespace

/// A value may contain further =, as those of device do.
std::map<std::string, std::string> split_hints(std::string_view text) {
  std::map<std::string, std::string> hints;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    const std::string_view one = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.empty()) continue;
    const std::size_t equals = one.find('=');
    const std::string name(trimmed(one.substr(0, equals)));
    if (equals == std::string_view::npos || name.empty())
      throw Error(ErrorClass::argument,
                  "hints: '" + std::string(one) + "' is not of the form name=value");
    hints[name] = trimmed(one.substr(equals + 1));
  }
  return hints;
}

void Hints::set(const std::map<std::string, std::string>& text) {
  for (const auto& [name, value] : text) {
    const HintRow& row = hint_named(name.substr(0, longest_value));
    if (value.size() > longest_value)
      throw Error(ErrorClass::argument, name + ": a value of " + std::to_string(value.size()) +
                                            " characters; no hint has one of more than " +
                                            std::to_string(longest_value));
    std::visit([&](const auto& kind) { this->*kind.field = kind.parse(name, value); }, row.kind);
  }
}

std::map<std::string, std::string> Hints::text() const {
  std::map<std::string, std::string> text;
  for (const HintRow& row : hint_table()) text.emplace(row.name, text_of(*this, row));
  return text;
}

std::string Hints::text(std::string_view name) const {
  return text_of(*this, hint_named(name));
}

bool must_be_common(std::string_view hint) noexcept {
  const HintRow* const row = find_hint(hint);
  return row == nullptr || row->ranks == Ranks::alike;
}

std::vector<HintDescription> describe_hints() {
  const Hints defaults;
  std::vector<HintDescription> descriptions;
  for (const HintRow& row : hint_table()) {
    HintDescription d;
    d.name = row.name;
    std::visit([&](const auto& kind) { kind.describe(d, defaults.*kind.field); }, row.kind);
    d.scope = row.scope;
    d.common = row.ranks == Ranks::alike;
    d.planned = row.plans == Plans::with_it;
    d.experimental = row.whom == For::experiments;
    d.help = row.help;
    descriptions.push_back(std::move(d));
  }
  return descriptions;
}

}  // namespace penstock
