// The .npy container (NumPy enhancement proposal 1): parsing and formatting of headers. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <penstock/section.hpp>

namespace penstock::npy {

struct Header {
  std::string descr;  // in UTF-8: "<f8", or the text of a structured type: "[('a', '<f4'), ...]"
  std::int64_t element_size = 0;
  Order order = Order::c;
  std::vector<std::int64_t> shape;
  std::int64_t header_size = 0;  // bytes before the first element
};

inline constexpr std::int64_t preamble_size = 12;  // magic, version and the longer length field

/// Whether these bytes begin an .npy header.
bool has_magic(std::span<const std::byte> bytes) noexcept;
/// Size of the whole header, from its first preamble_size bytes. Throws Error(format).
std::int64_t header_size(std::span<const std::byte> preamble);
/// Throws Error(format) saying what is wrong.
Header parse(std::span<const std::byte> header);
/// The header's bytes; the length is a multiple of 64, with room for the digits of a longer slowest
/// dimension, as NumPy writes it.
std::vector<std::byte> format(const Header& header);
/// The same in exactly `size` bytes. Throws Error(format) if it does not fit.
std::vector<std::byte> format(const Header& header, std::int64_t size);
/// Bytes per element of a descr. Throws Error(format) for types without a fixed size.
std::int64_t element_size_of(const std::string& descr);
/// The same type in the notation that parse() returns.
std::string canonical(const std::string& descr);

}  // namespace penstock::npy
