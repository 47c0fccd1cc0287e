// Elements: the type signature of a datatype: its basic elements in the order of the type map,
// described by repetition. It has no gaps: it numbers the bytes of the data stream, in memory and
// in external32 (external32.hpp).
//
// Statuses: after MPI_Status_set_elements_x(status, MPI_BYTE, n), with n the bytes moved in memory,
// MPI_Get_count and MPI_Get_elements return the same as after a message of n bytes. So a status
// needs Totals::native; Totals::count is what MPI_Get_elements then returns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "mpi/basic_types.hpp"

namespace penstock {

class Elements {
 public:
  struct Totals {
    std::int64_t count = 0, native = 0, external = 0;  // elements; bytes in memory; in external32
    friend bool operator==(const Totals&, const Totals&) = default;
  };
  /// The unit of stream positions.
  enum class Unit { native, external };

  /// Nothing.
  Elements() = default;
  static Elements of(BasicType type);
  /// Throw Error(argument) if a total exceeds 63 bits.
  static Elements repeat(const Elements& child, std::int64_t count);
  static Elements sequence(const std::vector<Elements>& parts);

  bool empty() const noexcept { return node_ == nullptr; }
  Totals totals() const noexcept;
  /// The complete elements within the first `bytes` bytes of the stream.
  Totals within(std::int64_t bytes, Unit unit) const noexcept;
  /// Calls visit(type, count) for elements [begin, end), in order: runs of one type.
  using Visit = std::function<void(const BasicType&, std::int64_t)>;
  void for_each(std::int64_t begin, std::int64_t end, const Visit& visit) const;
  /// Number of nodes of the description.
  std::int64_t node_count() const noexcept;

 private:
  struct Node;
  using Ref = std::shared_ptr<const Node>;
  explicit Elements(Ref node) : node_(std::move(node)) {}

  Ref node_;
};

}  // namespace penstock
