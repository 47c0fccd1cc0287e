// The table of hints, with everything about each in one row. It is used by Hints::set and text, the
// checks of calls, docs/hints.md, the Python package and the command's options.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <penstock/hints.hpp>

#include "base/names.hpp"

namespace penstock {

/// One of several names.
template <class Enum>
struct Choice {
  Setting<Enum> Hints::*field;
  std::type_identity_t<Names<Enum>> names;

  Enum parse(std::string_view hint, std::string_view text) const {
    return parse_name(hint, text, names);
  }
  std::string text(Enum value) const { return std::string(name_of(value, names)); }
  void describe(HintDescription& to, Enum value) const {
    to.default_value = text(value);
    for (const Name<Enum>& name : names) {
      to.choices.push_back(name.text);
      to.values.append(to.values.empty() ? "" : ", ").append(name.text);
    }
  }
};

/// A whole number. `automatic` is the field's value for "auto"; it is printed as a number if it is
/// a valid one.
struct Number {
  static constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();
  Setting<std::int64_t> Hints::*field;
  std::int64_t least, most;
  std::optional<std::int64_t> automatic;
  std::string_view unit;

  std::int64_t parse(std::string_view hint, std::string_view text) const;
  std::string text(std::int64_t value) const;
  void describe(HintDescription& to, std::int64_t value) const;
};

/// Bytes, with K, M or G. If "auto" is allowed, which is stored as 0, users cannot write 0.
struct ByteCount {
  Setting<std::int64_t> Hints::*field;
  bool may_be_auto = false;

  std::int64_t parse(std::string_view hint, std::string_view text) const;
  std::string text(std::int64_t value) const;
  void describe(HintDescription& to, std::int64_t value) const;
};

/// Text that is parsed where it is used.
struct Text {
  Setting<std::string> Hints::*field;
  std::string_view values;  // in words

  std::string parse(std::string_view, std::string_view text) const { return std::string(text); }
  std::string text(const std::string& value) const { return value; }
  void describe(HintDescription& to, const std::string& value) const {
    to.default_value = value;
    to.values = values;
  }
};

/// Thread settings: "batch,nice=7,core=3", each part at most once.
struct ThreadHint {
  Setting<IoThread> Hints::*field;

  IoThread parse(std::string_view hint, std::string_view text) const;
  std::string text(const IoThread& value) const;
  void describe(HintDescription& to, const IoThread& value) const;
};

enum class For { users, experiments };
enum class Ranks { alike, may_differ };    // whether all ranks must pass the same
enum class Plans { with_it, without_it };  // whether plans depend on it

struct HintRow {
  For whom;
  std::string_view name;
  std::variant<Choice<Method>, Choice<DomainRule>, Choice<Exchange>, Choice<SieveWrites>,
               Choice<Locks>, Choice<Pipeline>, Choice<StorageKind>, Number, ByteCount, ThreadHint,
               Text>
      kind;
  HintScope scope;
  Ranks ranks;
  Plans plans;
  std::string_view help;  // one or two sentences; begins with what it is, and names the unit
};

std::span<const HintRow> hint_table() noexcept;
/// Null if there is no such hint.
const HintRow* find_hint(std::string_view name) noexcept;
/// Throws Error(argument) if there is no such hint.
const HintRow& hint_named(std::string_view name);
/// The name in `known` that was probably meant by `name`; empty: none is similar.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);
/// The hints of a call: those of the file, overridden by `call`. Throws Error(argument) if that
/// would change a hint of the whole file.
Hints hints_of_call(const Hints& call, const Hints& file);

}  // namespace penstock
