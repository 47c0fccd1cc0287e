// Sections of an array: lower:upper:stride in each dimension, explicit index lists, or extents.
// Terms as in Thakur & Choudhary, "An Extended Two-Phase Method ..." (section 3.1 and conclusion).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <penstock/export.hpp>

namespace penstock {

inline constexpr int max_dimensions = 8;                     ///< of an array
inline constexpr std::int64_t max_element_size = 64 * 1024;  ///< of an array, bytes

/// Order in which the elements of an array lie in the file.
enum class Order {
  c,        ///< "C": the last index runs fastest
  fortran,  ///< "F": the first index runs fastest
};
PENSTOCK_EXPORT std::string_view to_string(Order order) noexcept;
PENSTOCK_EXPORT Order parse_order(std::string_view text);  ///< throws Error(argument)

/// Half-open range of indices, lower:upper:stride, taking `block` neighbours at every step:
/// { lower + j*stride + b : 0 <= b < block } below `upper`. block = 1 is the usual section.
struct PENSTOCK_EXPORT Range {
  std::int64_t lower = 0;   ///< first index
  std::int64_t upper = 0;   ///< past the last
  std::int64_t stride = 1;  ///< distance between steps, at least 1
  std::int64_t block = 1;   ///< neighbours at every step, at most the stride

  std::int64_t count() const noexcept;  ///< number of indices
  friend bool operator==(const Range&, const Range&) = default;
};

/// Explicit indices in one dimension, in any order, none twice. Memory follows the given order.
using IndexList = std::vector<std::int64_t>;
using Indices = std::variant<Range, IndexList>;

/// Half-open run of elements, counted along the array in file order.
struct ElementExtent {
  std::int64_t begin = 0;  ///< first element
  std::int64_t end = 0;    ///< past the last
  friend bool operator==(const ElementExtent&, const ElementExtent&) = default;
};

/// The elements of an array that one rank wants. A value: cheap to copy if it has no lists.
class PENSTOCK_EXPORT Section {
 public:
  Section() = default;  ///< no elements
  /// A range or a list of indices per dimension.
  explicit Section(std::vector<Indices> dimensions) : dimensions_(std::move(dimensions)) {}
  Section(std::initializer_list<Range> ranges);  ///< a range per dimension

  /// The whole array.
  static Section all(std::span<const std::int64_t> shape);
  /// The papers' form: 1-based, upper bound included.
  static Section inclusive(const std::vector<Range>& ranges);
  /// The papers' form as printed, e.g. "(1:100:1, 1+10p:100+10p:1)"; `p` is the rank and `nprocs`
  /// the number of ranks. Throws Error(section) with the position of a syntax error.
  static Section paper(std::string_view text, std::int64_t p = 0, std::int64_t nprocs = 1);
  /// Runs of elements along the file, ascending and disjoint; memory is one-dimensional.
  static Section extents(std::vector<ElementExtent> runs);

  bool is_extents() const noexcept { return extents_.has_value(); }  ///< made by extents()
  /// Only if not is_extents().
  const std::vector<Indices>& dimensions() const noexcept { return dimensions_; }
  /// Only if is_extents().
  const std::vector<ElementExtent>& runs() const { return *extents_; }

  /// Shape of the section in memory: one count per dimension; {total} for extents.
  std::vector<std::int64_t> shape() const;
  std::int64_t element_count() const noexcept;                  ///< the product of shape()
  bool empty() const noexcept { return element_count() == 0; }  ///< no element at all

  /// Throws Error(section) naming the dimension and the limit if it does not fit `array_shape`.
  void check(std::span<const std::int64_t> array_shape) const;
  /// Whether two sections of one array can share an element. May return true when unsure; false is
  /// always correct.
  bool may_intersect(const Section& other) const;

  std::string to_string() const;  ///< half-open, as in "(0:10, 5:100:2)"
  friend bool operator==(const Section&, const Section&) = default;

 private:
  std::vector<Indices> dimensions_;
  std::optional<std::vector<ElementExtent>> extents_;
};

}  // namespace penstock
