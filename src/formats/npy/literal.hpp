// The part of Python's literals that .npy headers are written in: strings, whole numbers, True,
// False, tuples, lists and dictionaries. What Python refuses is refused here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::literal {

struct Value {
  enum class Kind { string, number, boolean, tuple, list, dict } kind = Kind::number;
  std::string text;  // of a string: UTF-8; a lone surrogate in it is three bytes
  std::int64_t integer = 0;
  std::vector<Value> items;  // of a dict: key, value, key, value...

  bool is(Kind other) const noexcept { return kind == other; }
};

/// `text` is UTF-8. `longs`: whole numbers may end in L, as Python 2 wrote them. Throws
/// Error(format) for anything but one literal.
Value read(std::string_view text, bool longs);
/// As Python prints it, but that printable characters of any script stay as they are.
std::string repr(const Value& value);
/// For messages: what is not printable ASCII as \xNN.
std::string printable(std::string_view text);

/// Code points in UTF-8; false where the bytes are not that.
bool decode_utf8(std::string_view text, std::vector<std::uint32_t>& codes);
void append_utf8(std::string& text, std::uint32_t code);

}  // namespace penstock::literal
