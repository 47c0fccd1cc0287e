// The description of an open file: determined by rank 0, sent to all.
#pragma once

#include <string>
#include <string_view>

#include <penstock/array_file.hpp>

#include "storage/storage.hpp"

namespace penstock {

/// `spec` completed from the file, and the offset of the first element.
struct Described {
  ArraySpec spec;
  std::int64_t data_offset = 0;
  std::vector<std::byte> new_header;  // to be written before the data; empty: none
  bool changes = false;               // the file has to be changed to match this
  bool growing = false;               // its slowest dimension may grow

  /// Encoded for sending, without the new header.
  std::string packed() const;
  static Described unpacked(std::string_view text);
};

/// For an .npy file, as long as its header. Throws Error(state) if it does not fit.
std::vector<std::byte> header_of(const Described& described, const std::string& path);

/// A shape as passed by a program, for messages: with the word `unlimited`.
std::string shape_text(const std::vector<std::int64_t>& shape);
/// Whether its slowest dimension is to grow.
bool wants_growth(const ArraySpec& spec);
/// `spec` with `extent` in place of the dimension that may grow. Throws Error(argument) if that is
/// not the slowest one.
ArraySpec with_extent(ArraySpec spec, Order order, std::int64_t extent);

/// For a new file: its future content. Pure.
Described describe_new(const std::string& path, const ArraySpec& spec);
/// For an existing file: reads its header, and checks it against `spec` and the size.
Described describe_existing(Storage& storage, const std::string& path, const ArraySpec& spec,
                            bool may_extend);

}  // namespace penstock
