#include "formats/element_kind.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

#include <penstock/element_type.hpp>

namespace penstock {
namespace {

constexpr char native = std::endian::native == std::endian::little ? '<' : '>';

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;

/// 0: integers; kinds of a higher rank can hold those of a lower one, apart from precision.
template <class T>
constexpr int rank_of() {
  return is_complex<T> ? 2 : std::is_floating_point_v<T> ? 1 : 0;
}

template <class From, class To>
constexpr bool keeps_all() {
  if constexpr (std::is_same_v<From, To>) return true;
  else if constexpr (std::is_same_v<To, bool>) return false;
  else if constexpr (rank_of<From>() > 0 || rank_of<To>() > 0)
    return rank_of<From>() <= rank_of<To>();
  else
    return std::numeric_limits<From>::digits <= std::numeric_limits<To>::digits &&
           (std::is_unsigned_v<From> || std::is_signed_v<To>);
}

/// Size of a number, or of each of the two of a complex one.
template <class T>
inline constexpr std::size_t part_size = is_complex<T> ? sizeof(T) / 2 : sizeof(T);

template <class T>
void reverse_bytes(std::byte* at) {
  for (std::size_t i = 0; i < sizeof(T); i += part_size<T>)
    std::reverse(at + i, at + i + part_size<T>);
}

template <class T>
T load(const std::byte* at, bool swapped) {
  using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), at, sizeof(T));
  if (swapped) reverse_bytes<T>(bytes.data());
  return static_cast<T>(std::bit_cast<Stored>(bytes));
}

template <class T>
void store(T value, std::byte* at, bool swapped) {
  std::memcpy(at, &value, sizeof(T));
  if (swapped) reverse_bytes<T>(at);
}

template <class T>
bool is_finite(T value) {
  if constexpr (is_complex<T>) return std::isfinite(value.real()) && std::isfinite(value.imag());
  else if constexpr (std::is_floating_point_v<T>) return std::isfinite(value);
  else return true;
}

template <class To, class From>
To converted(From value) {
  if constexpr (is_complex<To> && is_complex<From>)
    return To(static_cast<typename To::value_type>(value.real()),
              static_cast<typename To::value_type>(value.imag()));
  else if constexpr (is_complex<To>) return To(static_cast<typename To::value_type>(value));
  else return static_cast<To>(value);
}

/// A row of elements at constant steps.
struct Row {
  const std::byte* from;
  std::int64_t from_step;
  std::byte* to;
  std::int64_t to_step;
  std::int64_t count;
  bool from_swapped, to_swapped;
};
using ConvertRow = bool (*)(const Row&);

template <class From, class To>
bool convert_row(const Row& row) {
  bool all_fit = true;
  for (std::int64_t i = 0; i < row.count; ++i) {
    const From value = load<From>(row.from + i * row.from_step, row.from_swapped);
    const To result = converted<To>(value);
    if constexpr (rank_of<From>() > 0 && part_size<To> < part_size<From>)
      all_fit = all_fit && (is_finite(result) || !is_finite(value));
    store(result, row.to + i * row.to_step, row.to_swapped);
  }
  return all_fit;
}

struct KindAndSize {
  char kind;
  std::int64_t size;
  friend bool operator==(const KindAndSize&, const KindAndSize&) = default;
};

template <class... T>
struct Types {
  static constexpr std::size_t count = sizeof...(T);
  template <class From>
  static constexpr std::array<ConvertRow, count> rows_from() {
    return {row<From, T>()...};
  }
  template <class From, class To>
  static constexpr ConvertRow row() {
    if constexpr (keeps_all<From, To>()) return &convert_row<From, To>;
    else return nullptr;
  }
  static constexpr std::array<std::array<ConvertRow, count>, count> table() {
    return {rows_from<T>()...};
  }
};
using All =
    Types<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
          std::uint32_t, std::uint64_t, float, double, std::complex<float>, std::complex<double>>;
constexpr std::array<KindAndSize, All::count> types{{{'b', 1},
                                                     {'i', 1},
                                                     {'i', 2},
                                                     {'i', 4},
                                                     {'i', 8},
                                                     {'u', 1},
                                                     {'u', 2},
                                                     {'u', 4},
                                                     {'u', 8},
                                                     {'f', 4},
                                                     {'f', 8},
                                                     {'c', 8},
                                                     {'c', 16}}};
constexpr auto table = All::table();

std::size_t index_of(const ElementKind& element) {
  const auto found = std::find(types.begin(), types.end(), KindAndSize{element.kind, element.size});
  return static_cast<std::size_t>(found - types.begin());
}

ConvertRow find_row(const ElementKind& from, const ElementKind& to) {
  return table[index_of(from)][index_of(to)];
}

}  // namespace

std::string with_byte_order(const std::string& dtype) {
  const bool has_none =
      dtype.size() >= 2 && std::string_view("biufc").find(dtype[0]) != std::string_view::npos;
  if (!has_none) return dtype;
  return std::string(1, dtype == "b1" || dtype == "i1" || dtype == "u1" ? '|' : native) + dtype;
}

std::optional<ElementKind> element_kind(const std::string& dtype) {
  if (dtype.size() < 3 || dtype.size() > 4) return std::nullopt;
  const std::string digits = dtype.substr(2);
  if (digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  const ElementKind element{dtype[1], std::stoll(digits),
                            dtype[0] != native && dtype[0] != '|' && dtype[0] != '='};
  if (index_of(element) == types.size()) return std::nullopt;
  return element;
}

bool converts(const std::string& from, const std::string& to) {
  const std::string a = with_byte_order(from), b = with_byte_order(to);
  if (a == b) return true;
  const std::optional<ElementKind> source = element_kind(a), target = element_kind(b);
  return source && target && find_row(*source, *target) != nullptr;
}

bool convert(const std::vector<std::int64_t>& shape, const ElementView<const std::byte>& from,
             const ElementView<std::byte>& to) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  const ConvertRow work = find_row(from.kind, to.kind);
  // Inner loop along the dimension in which the target is dense, if there is one.
  std::size_t inner = shape.size() - 1;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (to.strides[d] == to.kind.size && shape[d] > 1) inner = d;
  std::vector<std::int64_t> index(shape.size(), 0);
  bool all_fit = true;
  for (;;) {
    std::int64_t from_at = 0, to_at = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      from_at += index[d] * from.strides[d];
      to_at += index[d] * to.strides[d];
    }
    all_fit = work({from.data + from_at, from.strides[inner], to.data + to_at, to.strides[inner],
                    shape[inner], from.kind.swapped, to.kind.swapped}) &&
              all_fit;
    std::size_t d = shape.size();
    while (d > 0 && (d - 1 == inner || ++index[d - 1] == shape[d - 1])) index[--d] = 0;
    if (d == 0) return all_fit;
  }
}

}  // namespace penstock
