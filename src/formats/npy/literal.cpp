#include "formats/npy/literal.hpp"

#include <charconv>
#include <cstdio>

#include <penstock/error.hpp>

namespace penstock::literal {
namespace {

using Kind = Value::Kind;

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorClass::format, ".npy header: " + message);
}

bool is_one_of(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

/// Could continue a name or a number.
bool continues_token(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class Reader {
 public:
  Reader(std::string_view text, bool longs) : text_(text), longs_(longs) {}

  Value whole() {
    while (is_one_of(next(), " \t")) ++at_;
    while (is_one_of(next(), "\r\n")) ++at_;
    Value value = read();
    skip_space();
    if (at_ < text_.size()) unexpected();
    return value;
  }

 private:
  static constexpr int deepest = 64;

  Value read() {
    if (at_begin_of_string()) return read_strings();
    switch (next()) {
      case '(': return read_parentheses();
      case '[': return read_list();
      case '{': return read_dict();
      default: break;
    }
    if (accept_word("True")) return {Kind::boolean, "", 1, {}};
    if (accept_word("False")) return {Kind::boolean, "", 0, {}};
    return read_number();
  }

  // ---- containers

  /// Items up to `close`; whether a comma followed the last.
  bool read_items(Value& value, char close) {
    bool comma = true;
    enter();
    for (;; skip_space()) {
      if (next() == close) break;
      if (!comma) unexpected();
      value.items.push_back(read());
      if (value.is(Kind::dict)) {
        skip_space();
        if (next() != ':') unexpected();
        ++at_;
        skip_space();
        value.items.push_back(read());
      }
      skip_space();
      comma = next() == ',';
      if (comma) ++at_;
    }
    leave();
    return comma;
  }
  Value read_list() {
    Value value{Kind::list, "", 0, {}};
    read_items(value, ']');
    return value;
  }
  Value read_dict() {
    Value value{Kind::dict, "", 0, {}};
    read_items(value, '}');
    return value;
  }
  /// A parenthesised value without a comma is that value.
  Value read_parentheses() {
    Value value{Kind::tuple, "", 0, {}};
    const bool comma = read_items(value, ')');
    if (comma || value.items.size() != 1) return value;
    Value inner = std::move(value.items.front());
    return inner;
  }
  void enter() {
    if (++depth_ > deepest) fail("nested too deeply");
    ++at_;
    skip_space();
  }
  void leave() {
    --depth_;
    ++at_;
  }

  // ---- strings

  bool at_begin_of_string() const {
    if (is_one_of(next(), "'\"")) return true;
    return is_one_of(next(), "rRuU") && at_ + 1 < text_.size() && is_one_of(text_[at_ + 1], "'\"");
  }
  /// Adjacent strings are concatenated.
  Value read_strings() {
    Value value{Kind::string, "", 0, {}};
    while (at_begin_of_string()) {
      read_string(value.text);
      skip_space();
    }
    return value;
  }
  void read_string(std::string& into) {
    const bool raw = is_one_of(next(), "rR");
    if (!is_one_of(next(), "'\"")) ++at_;
    const char quote = next();
    if (text_.substr(at_, 3) == std::string(3, quote)) fail("strings in three quotes are not read");
    for (++at_; next() != quote;) {
      if (at_ == text_.size() || is_one_of(next(), "\r\n")) fail("a string has no end");
      const char c = text_[at_++];
      if (c != '\\') into += c;
      else if (!raw) read_escape(into);
      else {
        into += c;
        if (at_ < text_.size()) into += text_[at_++];
      }
    }
    ++at_;
  }
  void read_escape(std::string& into) {
    constexpr std::string_view names = "\\'\"abfnrtv", values = "\\'\"\a\b\f\n\r\t\v";
    const char c = next();
    if (const auto known = names.find(c); known != std::string_view::npos) {
      ++at_;
      into += values[known];
    } else if (c == 'x') {
      read_code(into, 2);
    } else if (c == 'u') {
      read_code(into, 4);
    } else if (c == 'U') {
      read_code(into, 8);
    } else if (c >= '0' && c <= '7') {
      std::uint32_t code = 0;
      for (int i = 0; i < 3 && digit_of(next()) < 8; ++i) code = code * 8 + digit_of(text_[at_++]);
      append_utf8(into, code);
    } else if (c == 'N' || c == '\r' || c == '\n') {
      fail("a string has an escape that is not read here");
    } else {
      into += '\\';  // Python keeps the backslash
    }
  }
  void read_code(std::string& into, int digits) {
    ++at_;
    std::uint32_t code = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      if (digit_of(next()) > 15) fail("a string has an escape with too few digits");
      code = code * 16 + static_cast<std::uint32_t>(digit_of(next()));
    }
    if (code > 0x10ffff) fail("a string has an escape beyond the last character");
    append_utf8(into, code);
  }

  // ---- numbers

  Value read_number() {
    const std::size_t begin = at_;
    std::string digits;
    if (is_one_of(next(), "+-")) {
      if (next() == '-') digits = "-";
      ++at_;
      skip_space();
    }
    const int base = read_base();
    if (!read_digits(digits, base)) unexpected_at(begin);
    if (longs_) accept_long();
    if (continues_token(next()) || next() == '.') unexpected_at(begin);
    Value value;
    const auto [end, status] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value.integer, base);
    if (status == std::errc::result_out_of_range)
      fail("number " + digits + " does not fit 64 bits");
    if (status != std::errc() || end != digits.data() + digits.size()) unexpected_at(begin);
    return value;
  }
  int read_base() {
    if (next() != '0' || at_ + 1 >= text_.size()) return 10;
    const char mark = text_[at_ + 1];
    const int base = is_one_of(mark, "xX")   ? 16
                     : is_one_of(mark, "oO") ? 8
                     : is_one_of(mark, "bB") ? 2
                                             : 10;
    if (base != 10) at_ += text_.substr(at_ + 2, 1) == "_" ? 3 : 2;
    return base;
  }
  /// Digits, with single underscores allowed in between. A decimal number other than 0 does not
  /// begin with 0.
  bool read_digits(std::string& digits, int base) {
    const std::size_t begin = digits.size();
    bool zeros = true;
    while (digit_of(next()) < base) {
      zeros = zeros && next() == '0';
      digits += text_[at_++];
      if (next() == '_' && at_ + 1 < text_.size() && digit_of(text_[at_ + 1]) < base) ++at_;
    }
    const std::size_t count = digits.size() - begin;
    return count > 0 && (base != 10 || zeros || digits[begin] != '0');
  }
  void accept_long() {
    std::size_t end = at_;
    while (end < text_.size() && is_one_of(text_[end], " \t")) ++end;
    if (text_.substr(end, 1) != "L") return;
    if (end + 1 < text_.size() && continues_token(text_[end + 1])) return;
    at_ = end + 1;
  }

  // ---- characters

  /// NUL at the end, which no literal contains.
  char next() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool accept_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    const std::size_t end = at_ + word.size();
    if (end < text_.size() && continues_token(text_[end])) return false;
    at_ = end;
    return true;
  }
  void skip_space() {
    for (; at_ < text_.size(); ++at_) {
      if (next() == '#')
        while (at_ + 1 < text_.size() && !is_one_of(text_[at_ + 1], "\r\n")) ++at_;
      else if (!is_one_of(next(), " \t\f\r\n")) return;
    }
  }
  [[noreturn]] void unexpected() const { unexpected_at(at_); }
  [[noreturn]] void unexpected_at(std::size_t at) const {
    if (at >= text_.size()) fail("it ends too early");
    fail("cannot read it at '" + printable(text_.substr(at, 20)) + "'");
  }

  std::string_view text_;
  bool longs_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

std::string repr_of_string(const std::string& text) {
  const bool twofold = text.find('\'') != std::string::npos && text.find('"') == std::string::npos;
  const char quote = twofold ? '"' : '\'';
  std::string out(1, quote);
  std::vector<std::uint32_t> codes;
  decode_utf8(text, codes);
  for (const std::uint32_t code : codes) {
    char escape[16] = "";
    if (code == '\\' || code == static_cast<unsigned char>(quote)) out += '\\';
    if (code == '\n') std::snprintf(escape, sizeof escape, "\\n");
    else if (code == '\r') std::snprintf(escape, sizeof escape, "\\r");
    else if (code == '\t') std::snprintf(escape, sizeof escape, "\\t");
    else if (code < 0x20 || (code >= 0x7f && code < 0xa0))
      std::snprintf(escape, sizeof escape, "\\x%02x", code);
    else if (code >= 0xd800 && code < 0xe000) std::snprintf(escape, sizeof escape, "\\u%04x", code);
    if (escape[0] != '\0') out += escape;
    else append_utf8(out, code);
  }
  return out + quote;
}

}  // namespace

Value read(std::string_view text, bool longs) {
  return Reader(text, longs).whole();
}

std::string repr(const Value& value) {
  switch (value.kind) {
    case Kind::string: return repr_of_string(value.text);
    case Kind::number: return std::to_string(value.integer);
    case Kind::boolean: return value.integer != 0 ? "True" : "False";
    default: break;
  }
  std::string text;
  const bool dict = value.is(Kind::dict);
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) text += dict && i % 2 == 1 ? ": " : ", ";
    text += repr(value.items[i]);
  }
  if (dict) return "{" + text + "}";
  if (value.is(Kind::list)) return "[" + text + "]";
  return "(" + text + (value.items.size() == 1 ? ",)" : ")");
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(c) & 0xff);
    if (c >= ' ' && c < 0x7f) out += c;
    else out += escape;
  }
  return out;
}

bool decode_utf8(std::string_view text, std::vector<std::uint32_t>& codes) {
  constexpr std::uint32_t least[] = {0, 0x80, 0x800, 0x10000};
  bool valid = true;
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at++]);
    const int more = lead < 0x80                   ? 0
                     : lead >= 0xc0 && lead < 0xe0 ? 1
                     : lead >= 0xe0 && lead < 0xf0 ? 2
                     : lead >= 0xf0 && lead < 0xf8 ? 3
                                                   : -1;
    if (more < 0) return false;
    std::uint32_t code = more == 0 ? lead : lead & (0x3fu >> more);
    for (int i = 0; i < more; ++i) {
      if (at == text.size() || (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80) return false;
      code = code << 6 | (static_cast<unsigned char>(text[at++]) & 0x3fu);
    }
    if (code < least[more] || code > 0x10ffff) return false;
    valid = valid && (code < 0xd800 || code > 0xdfff);
    codes.push_back(code);
  }
  return valid;
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) add(0xc0 | code >> 6);
  else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3f));
  } else {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f));
  }
  add(0x80 | (code & 0x3f));
}

}  // namespace penstock::literal
