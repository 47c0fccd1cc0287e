#include "formats/npy/npy.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/checked.hpp"
#include "formats/npy/literal.hpp"

namespace penstock::npy {
namespace {

constexpr char magic[] = "\x93NUMPY";
constexpr std::size_t magic_size = 6;
constexpr std::size_t alignment = 64;
constexpr std::size_t most_digits = 21;  // of an extent, as NumPy counts
constexpr std::int64_t longest_header = 1 << 20;

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorClass::format, ".npy header: " + message);
}

using literal::Value;
using Kind = Value::Kind;

[[noreturn]] void not_known(const std::string& descr) {
  fail("type '" + literal::printable(descr) + "' is not known");
}

/// Kinds that have only some sizes, as in NumPy on this machine.
bool has_size(char kind, std::int64_t size) {
  const auto any_of = [&](std::initializer_list<std::int64_t> sizes) {
    return std::find(sizes.begin(), sizes.end(), size) != sizes.end();
  };
  constexpr std::int64_t longest = sizeof(long double);
  switch (kind) {
    case 'b': return size == 1;
    case 'i':
    case 'u': return any_of({1, 2, 4, 8});
    case 'f': return any_of({2, 4, 8, longest});
    case 'c': return any_of({8, 16, 2 * longest});
    case 'm':
    case 'M': return size == 8;
    default: return true;
  }
}

/// For datetime64 and timedelta64: "[ns]", "[25s]", or nothing.
bool is_unit(std::string_view text) {
  constexpr std::string_view units[] = {"Y",  "M",  "W",  "D",  "h",  "m",  "s",
                                        "ms", "us", "ns", "ps", "fs", "as", "generic"};
  if (text.empty()) return true;
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return false;
  text = text.substr(1, text.size() - 2);
  const std::size_t unit = text.find_first_not_of("0123456789");
  return unit < 10 &&
         std::find(std::begin(units), std::end(units), text.substr(unit)) != std::end(units);
}

/// [byte order] kind [digits] [unit]
std::int64_t simple_size(const std::string& descr) {
  constexpr std::string_view orders = "<>|=", kinds = "bBiufcmMSaUV";
  std::string_view text = descr;
  if (!text.empty() && orders.find(text[0]) != std::string_view::npos) text.remove_prefix(1);
  if (text.empty()) not_known(descr);
  const char kind = text[0];
  text.remove_prefix(1);
  if (kind == 'O') fail("type 'O' (Python objects) has no fixed size in a file");
  if (kind == '?' && text.empty()) return 1;
  if (kinds.find(kind) == std::string_view::npos) not_known(descr);
  std::int64_t digits = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), digits);
  if (status != std::errc() || digits < 0)
    fail("type '" + literal::printable(descr) + "' has no size");
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!has_size(kind, digits)) not_known(descr);
  if (!(kind == 'm' || kind == 'M' ? is_unit(text) : text.empty())) not_known(descr);
  return kind == 'U' ? checked_multiply(digits, 4, "type size") : digits;
}

std::int64_t value_size(const Value& value);

std::int64_t sub_array_size(const Value& element, const Value& shape) {
  std::int64_t size = value_size(element);
  const auto times = [&](const Value& extent) {
    if (!extent.is(Kind::number) || extent.integer < 0)
      fail("a sub-array of the type has shape " + literal::repr(shape));
    size = checked_multiply(size, extent.integer, "type size");
  };
  if (shape.is(Kind::tuple) || shape.is(Kind::list))
    for (const Value& extent : shape.items) times(extent);
  else times(shape);
  return size;
}

/// A name, or a title and a name.
bool is_name(const Value& value) {
  if (value.is(Kind::string)) return true;
  return value.is(Kind::tuple) && value.items.size() == 2 && value.items[0].is(Kind::string) &&
         value.items[1].is(Kind::string);
}

/// (name, type) or (name, type, shape).
std::int64_t field_size(const Value& field) {
  const bool sequence = field.is(Kind::tuple) || field.is(Kind::list);
  const std::size_t count = sequence ? field.items.size() : 0;
  if (count < 2 || count > 3 || !is_name(field.items[0]))
    fail("a field of the type is " + literal::repr(field) +
         ", not (name, type) or (name, type, shape)");
  return count == 2 ? value_size(field.items[1]) : sub_array_size(field.items[1], field.items[2]);
}

/// A list holds fields; (type, shape) is a sub-array.
std::int64_t value_size(const Value& value) {
  if (value.is(Kind::string)) return simple_size(value.text);
  if (value.is(Kind::tuple) && value.items.size() == 2)
    return sub_array_size(value.items[0], value.items[1]);
  if (!value.is(Kind::list)) fail("the type is " + literal::repr(value));
  std::int64_t size = 0;
  for (const Value& field : value.items) size = checked_add(size, field_size(field), "type size");
  return size;
}

/// For a whole array, where NumPy does not allow sub-arrays.
std::int64_t array_type_size(const Value& value) {
  if (value.is(Kind::tuple)) fail("the type is a sub-array, " + literal::repr(value));
  return value_size(value);
}

bool is_structured(const std::string& descr) {
  return descr.starts_with('[') || descr.starts_with('(');
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

/// Versions 1 and 2 are in Latin-1, version 3 in UTF-8.
std::string to_utf8(std::string_view text, int version) {
  std::vector<std::uint32_t> codes;
  if (version == 3) {
    if (!literal::decode_utf8(text, codes)) fail("it is not UTF-8, as version 3 has it");
    return std::string(text);
  }
  std::string utf8;
  for (const char c : text) literal::append_utf8(utf8, static_cast<unsigned char>(c));
  return utf8;
}

/// In Latin-1 if possible, as NumPy does.
std::string encode(const std::string& text, int& version) {
  std::vector<std::uint32_t> codes;
  if (!literal::decode_utf8(text, codes)) fail("the type is not UTF-8");
  const bool latin =
      std::all_of(codes.begin(), codes.end(), [](std::uint32_t code) { return code < 0x100; });
  version = !latin ? 3 : codes.size() + 64 > 65535 ? 2 : 1;
  if (!latin) return text;
  std::string encoded;
  for (const std::uint32_t code : codes) encoded += static_cast<char>(code);
  return encoded;
}

std::vector<std::int64_t> shape_of(const Value& value) {
  const auto is_extent = [](const Value& extent) {
    return extent.is(Kind::number) && extent.integer >= 0;
  };
  if (!value.is(Kind::tuple) || !std::all_of(value.items.begin(), value.items.end(), is_extent))
    fail("shape is " + literal::repr(value) + ", not a tuple of whole numbers from 0 on");
  std::vector<std::int64_t> shape;
  for (const Value& extent : value.items) shape.push_back(extent.integer);
  return shape;
}

/// If a key is repeated, Python takes the last.
const Value& value_of(const Value& dict, std::string_view key) {
  for (std::size_t i = dict.items.size(); i >= 2; i -= 2)
    if (dict.items[i - 2].text == key) return dict.items[i - 1];
  fail("it has no key '" + std::string(key) + "'");
}

void check_keys(const Value& dict) {
  for (std::size_t i = 0; i < dict.items.size(); i += 2) {
    const Value& key = dict.items[i];
    if (!key.is(Kind::string) ||
        (key.text != "descr" && key.text != "fortran_order" && key.text != "shape"))
      fail("key " + literal::repr(key) +
           " is not known; the keys are descr, fortran_order and shape");
  }
}

std::string dictionary(const Header& header) {
  std::string shape;
  for (const std::int64_t extent : header.shape) shape += std::to_string(extent) + ", ";
  if (header.shape.size() > 1) shape.resize(shape.size() - 2);
  else if (!shape.empty()) shape.pop_back();  // a tuple of one element keeps its comma
  const std::string descr = is_structured(header.descr) ? header.descr : "'" + header.descr + "'";
  return "{'descr': " + descr +
         ", 'fortran_order': " + (header.order == Order::fortran ? "True" : "False") +
         ", 'shape': (" + shape + "), }";
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
  const int minor = std::to_integer<int>(preamble[7]);
  if (version < 1 || version > 3 || minor != 0)
    fail("format version " + std::to_string(version) + "." + std::to_string(minor) +
         " is not known");
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
  const int version = std::to_integer<int>(bytes[6]);
  const std::size_t begin = 8 + length_field(version);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + begin,
                              static_cast<std::size_t>(header.header_size) - begin);
  const Value dict = literal::read(to_utf8(text, version), /*longs=*/version <= 2);
  if (!dict.is(Kind::dict)) fail("it is not a dictionary");
  check_keys(dict);
  const Value& descr = value_of(dict, "descr");
  header.element_size = array_type_size(descr);
  header.descr = descr.is(Kind::string) ? descr.text : literal::repr(descr);
  const Value& order = value_of(dict, "fortran_order");
  if (!order.is(Kind::boolean))
    fail("fortran_order is " + literal::repr(order) + ", not True or False");
  header.order = order.integer != 0 ? Order::fortran : Order::c;
  header.shape = shape_of(value_of(dict, "shape"));
  return header;
}

std::vector<std::byte> format(const Header& header) {
  int version = 1;
  const std::string text = encode(dictionary(header), version);
  std::size_t room = 0;
  if (!header.shape.empty()) {
    const std::int64_t slowest =
        header.order == Order::fortran ? header.shape.back() : header.shape.front();
    room = most_digits - std::to_string(slowest).size();
  }
  const std::size_t needed = 8 + length_field(version) + text.size() + room + 1;
  return format(header,
                static_cast<std::int64_t>((needed + alignment - 1) / alignment * alignment));
}

std::vector<std::byte> format(const Header& header, std::int64_t size) {
  int version = 1;
  std::string text = encode(dictionary(header), version);
  const std::size_t before = 8 + length_field(version), total = static_cast<std::size_t>(size);
  if (before + text.size() + 1 > total)
    fail("it needs " + std::to_string(before + text.size() + 1) + " bytes, and has room for " +
         std::to_string(size));
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
  if (!is_structured(descr)) return simple_size(descr);
  return array_type_size(literal::read(descr, /*longs=*/false));
}

std::string canonical(const std::string& descr) {
  if (is_structured(descr)) return literal::repr(literal::read(descr, /*longs=*/false));
  // NumPy gives elements of other packages' types, which it has as raw bytes, a byte order.
  return descr.size() > 1 && descr[1] == 'V' ? "|" + descr.substr(1) : descr;
}

}  // namespace penstock::npy
