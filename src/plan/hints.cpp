#include <penstock/hints.hpp>

#include "plan/hint_table.hpp"

namespace penstock {
namespace {

/// What is refused is shown whole.
constexpr std::size_t longest_value = 1024;

}  // namespace

void Hints::set(const std::map<std::string, std::string>& text, std::vector<std::string>* unknown) {
  for (const auto& [name, value] : text) {
    const HintRow* const row = find_hint(name);
    if (value.size() > longest_value)
      throw Error(ErrorClass::argument,
                  name.substr(0, 100) + ": a value of " + std::to_string(value.size()) +
                      " characters; no hint has one of more than " + std::to_string(longest_value));
    if (row != nullptr)
      std::visit([&](const auto& kind) { this->*kind.field = kind.parse(name, value); }, row->kind);
    else if (unknown != nullptr) unknown->push_back(name);
  }
}

std::map<std::string, std::string> Hints::text() const {
  std::map<std::string, std::string> text;
  for (const HintRow& row : hint_table())
    text.emplace(
        row.name,
        std::visit([&](const auto& kind) { return kind.text(this->*kind.field); }, row.kind));
  return text;
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
