// Names of enumerators: one table of an enum serves reading, printing and descriptions.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include <penstock/error.hpp>

namespace penstock {

template <class Enum>
struct Name {
  std::string_view text;
  Enum value;
};
template <class Enum>
using Names = std::span<const Name<Enum>>;

/// "?" if the table has no such value.
template <class Enum>
std::string_view name_of(Enum value, std::type_identity_t<Names<Enum>> names) noexcept {
  const auto found = std::ranges::find(names, value, &Name<Enum>::value);
  return found == names.end() ? "?" : found->text;
}

/// `what`: what the text stands for, in the user's terms. Throws Error(argument) that lists the
/// names.
template <class Enum>
Enum parse_name(std::string_view what, std::string_view text, Names<Enum> names) {
  const auto found = std::ranges::find(names, text, &Name<Enum>::text);
  if (found != names.end()) return found->value;
  std::string known;
  for (const Name<Enum>& name : names) known.append(known.empty() ? "" : ", ").append(name.text);
  throw Error(ErrorClass::argument,
              std::string(what) + " '" + std::string(text) + "' is not known; known are " + known);
}

}  // namespace penstock
