// ArrayLayout: where the elements of an array lie in the file.
#pragma once

#include <cstdint>
#include <vector>

#include <penstock/section.hpp>

#include "base/extent.hpp"
#include "pattern/units.hpp"

namespace penstock {

struct ArrayLayout {
  std::vector<std::int64_t> shape;  // in the user's dimension order
  std::int64_t element_size = 1;
  Order order = Order::c;
  std::int64_t offset = 0;  // of the first element, in bytes
  std::int64_t step = 0;    // bytes from one index of the slowest dimension to the next; 0: dense

  /// Throws Error(argument) if a field is out of its limits or the size exceeds 64 bits.
  void check() const;
  std::int64_t element_count() const;
  /// From the first element to the end of the last one.
  std::int64_t byte_count() const;
  Extent extent() const { return {offset, offset + byte_count()}; }
  /// The dimension that is `place`-th slowest in the file.
  std::size_t dimension_at(std::size_t place) const noexcept {
    return order == Order::c ? place : shape.size() - 1 - place;
  }
  FileUnits units() const;
  /// Bytes between neighbours in each dimension, in the user's dimension order.
  std::vector<std::int64_t> pitches() const;
};

/// Strides in bytes of a dense block of `shape` whose elements lie in `order`.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape,
                                        std::int64_t element_size, Order order);

}  // namespace penstock
