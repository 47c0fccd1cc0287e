// Element types, and conversion between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penstock {

/// A number: kind as in NumPy's "<f8", size in bytes.
struct ElementKind {
  char kind = 'u';
  std::int64_t size = 1;
  bool swapped = false;  // not this machine's byte order

  friend bool operator==(const ElementKind&, const ElementKind&) = default;
};

/// With this machine's byte order if none is given: "f4" is "<f4" here.
std::string with_byte_order(const std::string& dtype);
/// Nothing for types that cannot be converted: strings, records, half and long floats.
std::optional<ElementKind> element_kind(const std::string& dtype);

/// Elements in memory, `strides` in bytes.
template <class Byte>
struct ElementView {
  Byte* data = nullptr;
  std::span<const std::int64_t> strides;
  ElementKind kind;
};
/// Converts elements of `shape`; the kinds must be convertible (`converts`). False: a finite number
/// became infinite.
bool convert(const std::vector<std::int64_t>& shape, const ElementView<const std::byte>& from,
             const ElementView<std::byte>& to);

}  // namespace penstock
