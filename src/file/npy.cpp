#include "file/npy.hpp"

#include <charconv>
#include <cstring>
#include <variant>

#include "base/checked.hpp"

namespace penstock::npy {
namespace {

constexpr char magic[] = "\x93NUMPY";
constexpr std::size_t magic_size = 6;
constexpr std::int64_t alignment = 64;
constexpr std::int64_t longest_header = 1 << 20;

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorClass::format, ".npy header: " + message);
}

/// The part of Python's literals that headers are written in.
struct Value {
  enum Kind { string, number, boolean, sequence } kind = number;
  std::string text;  // of a string; of anything else as written
  std::int64_t integer = 0;
  std::vector<Value> items;  // of a tuple or list; of a dict: key, value, key, value...
};

class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  Value read() {
    skip_space();
    const std::size_t begin = at_;
    Value value = read_value();
    if (value.kind != Value::string) value.text = std::string(text_.substr(begin, at_ - begin));
    return value;
  }
  bool done() {
    skip_space();
    return at_ == text_.size();
  }

 private:
  Value read_value() {
    const char c = peek();
    if (c == '\'' || c == '"') return read_string(c);
    if (c == '(') return read_sequence(')');
    if (c == '[') return read_sequence(']');
    if (c == '{') return read_sequence('}');
    if (accept("True")) return {Value::boolean, "", 1, {}};
    if (accept("False")) return {Value::boolean, "", 0, {}};
    return read_number();
  }
  Value read_string(char quote) {
    const std::size_t end = text_.find(quote, ++at_);
    if (end == std::string_view::npos) fail("a string has no end");
    Value value{Value::string, std::string(text_.substr(at_, end - at_)), 0, {}};
    at_ = end + 1;
    return value;
  }
  Value read_sequence(char close) {
    Value value{Value::sequence, "", 0, {}};
    ++at_;
    for (;;) {
      skip_space();
      if (peek() == close) break;
      if (++depth_ > 32) fail("nested too deeply");
      value.items.push_back(read());
      --depth_;
      skip_space();
      if (peek() == ',' || peek() == ':') ++at_;
      else if (peek() != close) fail("unexpected '" + std::string(1, peek()) + "'");
    }
    ++at_;
    return value;
  }
  Value read_number() {
    Value value;
    const auto [end, status] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value.integer);
    if (status != std::errc())
      fail("cannot read it at '" + std::string(text_.substr(at_, 20)) + "'");
    at_ = static_cast<std::size_t>(end - text_.data());
    accept("L");  // Python 2 wrote long integers so
    return value;
  }
  char peek() {
    if (at_ >= text_.size()) fail("it ends too early");
    return text_[at_];
  }
  bool accept(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void skip_space() {
    while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) != nullptr) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

std::int64_t simple_size(const std::string& descr) {
  // [byte order] kind [digits] [unit of datetime64 in brackets]
  std::string_view text = descr;
  if (!text.empty() && std::strchr("<>|=", text[0]) != nullptr) text.remove_prefix(1);
  if (text.empty()) fail("type '" + descr + "' is not known");
  const char kind = text[0];
  if (kind == 'O') fail("type 'O' (Python objects) has no fixed size in a file");
  if (std::strchr("?bBiufcmMSaUV", kind) == nullptr) fail("type '" + descr + "' is not known");
  if (kind == '?' && text.size() == 1) return 1;
  text.remove_prefix(1);
  std::int64_t digits = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), digits);
  if (status != std::errc() || digits < 0) fail("type '" + descr + "' has no size");
  (void)end;
  return kind == 'U' ? checked_multiply(digits, 4, "type size") : digits;
}

std::int64_t value_size(const Value& value);

std::int64_t field_size(const Value& field) {
  if (field.kind != Value::sequence || field.items.size() < 2)
    fail("a field of the type is malformed");
  std::int64_t size = value_size(field.items[1]);
  if (field.items.size() < 3) return size;
  const Value& shape = field.items[2];
  if (shape.kind == Value::number) return checked_multiply(size, shape.integer, "type size");
  for (const Value& extent : shape.items)
    size = checked_multiply(size, extent.integer, "type size");
  return size;
}

std::int64_t value_size(const Value& value) {
  if (value.kind == Value::string) return simple_size(value.text);
  if (value.kind != Value::sequence) fail("the type is malformed");
  // (descr, shape) is a type with a sub-array; a list holds fields.
  if (value.text.starts_with('(')) {
    Value field{Value::sequence, "", 0, {{Value::string, "", 0, {}}}};
    field.items.insert(field.items.end(), value.items.begin(), value.items.end());
    return field_size(field);
  }
  std::int64_t size = 0;
  for (const Value& field : value.items) size = checked_add(size, field_size(field), "type size");
  return size;
}

std::uint32_t little_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | std::to_integer<std::uint32_t>(bytes[i]);
  return value;
}

std::size_t length_field(int version) {
  return version == 1 ? 2 : 4;
}

}  // namespace

bool has_magic(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= magic_size && std::memcmp(bytes.data(), magic, magic_size) == 0;
}

std::int64_t header_size(std::span<const std::byte> preamble) {
  if (!has_magic(preamble)) fail("the file does not begin with the .npy magic bytes");
  if (preamble.size() < static_cast<std::size_t>(preamble_size))
    fail("the file ends inside the header");
  const int version = std::to_integer<int>(preamble[6]);
  if (version < 1 || version > 3)
    fail("format version " + std::to_string(version) + " is not known");
  const std::size_t field = length_field(version);
  const std::int64_t size =
      static_cast<std::int64_t>(8 + field) + little_endian(preamble.subspan(8, field));
  if (size > longest_header) fail("its length " + std::to_string(size) + " is beyond reason");
  return size;
}

Header parse(std::span<const std::byte> bytes) {
  Header header;
  header.header_size = header_size(bytes);
  if (static_cast<std::int64_t>(bytes.size()) < header.header_size)
    fail("the file ends inside the header");
  const std::size_t begin = 8 + length_field(std::to_integer<int>(bytes[6]));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + begin,
                              static_cast<std::size_t>(header.header_size) - begin);
  LiteralReader reader(text);
  const Value dict = reader.read();
  if (!dict.text.starts_with('{') || !reader.done()) fail("it is not a dictionary");
  int found = 0;
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const std::string& key = dict.items[i].text;
    const Value& value = dict.items[i + 1];
    if (key == "descr") {
      header.descr = value.text;
      header.element_size = value_size(value);
    } else if (key == "fortran_order" && value.kind == Value::boolean) {
      header.order = value.integer != 0 ? Order::fortran : Order::c;
    } else if (key == "shape" && value.kind == Value::sequence) {
      for (const Value& extent : value.items) header.shape.push_back(extent.integer);
    } else {
      fail("key '" + key + "' is not known or has a wrong value");
    }
    ++found;
  }
  if (found != 3) fail("it must have the keys descr, fortran_order and shape");
  return header;
}

std::vector<std::byte> format(const Header& header) {
  std::string shape;
  for (const std::int64_t extent : header.shape) shape += std::to_string(extent) + ", ";
  if (header.shape.size() > 1) shape.resize(shape.size() - 2);
  else shape.resize(shape.size() - 1);  // a tuple of one keeps its comma
  const bool structured = header.descr.starts_with('[') || header.descr.starts_with('(');
  const std::string descr = structured ? header.descr : "'" + header.descr + "'";
  std::string text = "{'descr': " + descr +
                     ", 'fortran_order': " + (header.order == Order::fortran ? "True" : "False") +
                     ", 'shape': (" + shape + "), }";
  const int version = text.size() + 64 > 65535 ? 2 : 1;
  const std::size_t before = 8 + length_field(version);
  const std::size_t total = (before + text.size() + 1 + alignment - 1) / alignment * alignment;
  text.resize(total - before - 1, ' ');
  text += '\n';
  std::string out(magic, magic_size);
  out += static_cast<char>(version);
  out += '\0';
  for (std::size_t i = 0, length = text.size(); i < length_field(version); ++i, length >>= 8)
    out += static_cast<char>(length & 0xff);
  out += text;
  std::vector<std::byte> bytes(out.size());
  std::memcpy(bytes.data(), out.data(), out.size());
  return bytes;
}

std::int64_t element_size_of(const std::string& descr) {
  if (!descr.starts_with('[') && !descr.starts_with('(')) return simple_size(descr);
  return value_size(LiteralReader(descr).read());
}

}  // namespace penstock::npy
