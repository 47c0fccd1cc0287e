// The subset of Python literals used in .npy headers: strings, whole numbers, True, False, tuples,
// lists and dictionaries. What Python refuses is refused here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::literal {

struct Value {
  enum class Kind { string, number, boolean, tuple, list, dict } kind = Kind::number;
  std::string text;  // of a string: UTF-8; a lone surrogate is three bytes
  std::int64_t integer = 0;
  std::vector<Value> items;  // of a dict: key, value, key, value...

  bool is(Kind other) const noexcept { return kind == other; }
};

/// `text` is UTF-8. `longs`: whole numbers may end in L, as Python 2 wrote them. Throws
/// Error(format) unless it is exactly one literal.
Value read(std::string_view text, bool longs);
/// As Python prints it, except that printable characters of any script are not escaped.
std::string repr(const Value& value);
/// For messages: escapes everything but printable ASCII as \xNN.
std::string printable(std::string_view text);

/// Decodes UTF-8 into code points; false if it is invalid.
bool decode_utf8(std::string_view text, std::vector<std::uint32_t>& codes);
void append_utf8(std::string& text, std::uint32_t code);

}  // namespace penstock::literal
