// What an open file holds: found by rank 0, told to all.
#pragma once

#include <string>
#include <string_view>

#include <penstock/array_file.hpp>

#include "storage/storage.hpp"

namespace penstock {

/// `spec` filled in as the file has it, and where the first element lies.
struct Described {
  ArraySpec spec;
  std::int64_t data_offset = 0;
  std::vector<std::byte> new_header;  // to be written in front of the data; empty: none
  bool changes = false;               // the file has to be changed, to hold that
  bool growing = false;               // its slowest dimension may become longer

  /// As it travels, but for the new header.
  std::string packed() const;
  static Described unpacked(std::string_view text);
};

/// Of an .npy file, as long as its header is. Throws Error(state) where that has no room for it.
std::vector<std::byte> header_of(const Described& described, const std::string& path);

/// A shape as a program gave it, for messages: `unlimited` by that word.
std::string told_shape(const std::vector<std::int64_t>& shape);
/// Whether its slowest dimension is to become longer.
bool wants_growth(const ArraySpec& spec);
/// `spec` with `extent` in place of the dimension that may grow. Throws Error(argument) where that
/// is not the slowest one.
ArraySpec with_extent(ArraySpec spec, Order order, std::int64_t extent);

/// For a new file: what will be in it. Pure.
Described describe_new(const std::string& path, const ArraySpec& spec);
/// For an existing file: reads its header, checks it against what `spec` gives, and its size.
Described describe_existing(Storage& storage, const std::string& path, const ArraySpec& spec,
                            bool may_extend);

}  // namespace penstock
