// TypeLayout: the bytes of a datatype: its type map as a nest, with its bounds and its basic
// elements. The functions here are MPI's constructors (MPI 4.1, section 5.1) for layouts;
// decode.hpp applies them to a datatype.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mpi_io/elements.hpp"
#include "pattern/nest.hpp"

namespace penstock {

/// Lower and upper bound of a type map. Marked: set by the user (MPI_Type_create_resized), or like
/// those of a subarray. When several types are joined, marked bounds take precedence over the
/// others (MPI 4.1, section 5.1.6).
struct Bounds {
  std::int64_t lower = 0, upper = 0;
  bool lower_marked = false, upper_marked = false;

  static Bounds marked(std::int64_t lower, std::int64_t upper) noexcept {
    return {lower, upper, true, true};
  }
  Bounds moved(std::int64_t distance) const;
};
Bounds joined(const Bounds& a, const Bounds& b) noexcept;

/// For messages: what a number that does not fit is.
inline constexpr const char* place_words = "displacement in a datatype";

struct TypeLayout {
  Nest nest;  // in type map order; places are relative to the address of an element
  std::optional<Bounds> bounds;  // none: a type map without elements
  Elements elements;

  std::int64_t size() const noexcept { return nest.size(); }
  std::int64_t lower_bound() const noexcept { return bounds ? bounds->lower : 0; }
  std::int64_t extent() const noexcept { return bounds ? bounds->upper - bounds->lower : 0; }
  /// Whether consecutive copies are one run.
  bool dense() const noexcept {
    return !nest.empty() && nest.node()->is_run() && nest.size() == extent();
  }

  TypeLayout moved(std::int64_t distance) const;
};

/// A basic type whose elements are `size` bytes.
TypeLayout basic_layout(BasicType type, std::int64_t size);
/// `count` copies, `step` bytes apart.
TypeLayout repeat(const TypeLayout& child, std::int64_t count, std::int64_t step);
/// Blocks of consecutive copies: lengths[i] of them, moved by places[i].
TypeLayout blocks(const TypeLayout& child, std::vector<std::int64_t> lengths,
                  std::vector<std::int64_t> places);
/// The same with blocks of equal length.
TypeLayout equal_blocks(const TypeLayout& child, std::int64_t length,
                        std::vector<std::int64_t> places);
/// One after the other in the type map, at their own places.
TypeLayout joined(const std::vector<TypeLayout>& parts);

/// One dimension of an array of `size` elements: the elements that belong to the type.
struct ArrayDimension {
  std::int64_t size = 0;
  std::int64_t first = 0, count = 0;  // a range: a block of a subarray;
  // Or, if `of` is not 0, part `part` of `of` of a cyclic distribution of blocks.
  std::int64_t block = 0, part = 0, of = 0;
};
/// Dimensions with the fastest first. The bounds are the array's.
TypeLayout array_layout(const TypeLayout& element, const std::vector<ArrayDimension>& dimensions);

}  // namespace penstock
