#include "array/layout.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/names.hpp"

namespace penstock {
namespace {

constexpr Name<Order> order_names[] = {{"C", Order::c}, {"F", Order::fortran}};

}  // namespace

std::string_view to_string(Order order) noexcept {
  return name_of(order, order_names);
}
Order parse_order(std::string_view text) {
  return parse_name<Order>("order", text, order_names);
}

void ArrayLayout::check() const {
  if (shape.empty() || shape.size() > max_dimensions)
    throw Error(ErrorClass::argument,
                "shape must have 1 to 8 dimensions, not " + std::to_string(shape.size()));
  if (element_size < 1 || element_size > max_element_size)
    throw Error(ErrorClass::argument,
                "element size must be 1 to 65536 bytes, not " + std::to_string(element_size));
  if (offset < 0)
    throw Error(ErrorClass::argument,
                "offset must not be negative, but is " + std::to_string(offset));
  std::int64_t bytes = element_size;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0)
      throw Error(ErrorClass::argument, "shape, dimension " + std::to_string(d) +
                                            ": must not be negative, but is " +
                                            std::to_string(shape[d]));
    // A zero elsewhere must not hide an overflow: other ranks may multiply in another order.
    bytes = checked_multiply(bytes, shape[d] == 0 ? 1 : shape[d], "size of the array");
  }
  if (step != 0) {
    const std::int64_t steps = std::max<std::int64_t>(shape[dimension_at(0)], 1);
    if (step < bytes / steps)
      throw Error(ErrorClass::argument, "steps of " + std::to_string(bytes / steps) +
                                            " bytes cannot follow each other at " +
                                            std::to_string(step));
    bytes = checked_multiply(step, steps, "size of the array");
  }
  checked_add(offset, bytes, "end of the array");
}

std::int64_t ArrayLayout::element_count() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::int64_t ArrayLayout::byte_count() const {
  const std::int64_t bytes = element_count() * element_size;
  if (step == 0 || bytes == 0) return bytes;
  const std::int64_t steps = shape[dimension_at(0)];
  return (steps - 1) * step + bytes / steps;
}

std::vector<std::int64_t> ArrayLayout::pitches() const {
  std::vector<std::int64_t> pitches = dense_strides(shape, element_size, order);
  if (step != 0) pitches[dimension_at(0)] = step;
  return pitches;
}

FileUnits ArrayLayout::units() const {
  const std::vector<std::int64_t> steps = pitches();
  FileUnits units{element_size, {}, extent()};
  for (std::size_t place = 0; place < shape.size(); ++place)
    units.slabs.push_back(steps[dimension_at(place)]);
  return units;
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape,
                                        std::int64_t element_size, Order order) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = element_size;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t d = order == Order::c ? shape.size() - 1 - i : i;
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

}  // namespace penstock
