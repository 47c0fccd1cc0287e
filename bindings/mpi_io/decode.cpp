#include "mpi_io/decode.hpp"

#include <algorithm>
#include <compare>
#include <list>
#include <map>
#include <string>
#include <utility>

#include "base/checked.hpp"

namespace penstock {
namespace {

using Numbers = std::vector<std::int64_t>;

/// The numbers of a constructor, in order.
class Arguments {
 public:
  explicit Arguments(const Numbers& numbers) : numbers_(numbers) {}
  std::int64_t next() {
    if (at_ == numbers_.size())
      throw Error(ErrorClass::internal, "the MPI library does not return how a type was made");
    return numbers_[at_++];
  }
  Numbers next(std::int64_t count) {
    Numbers list;
    for (std::int64_t i = 0; i < count; ++i) list.push_back(next());
    return list;
  }

 private:
  const Numbers& numbers_;
  std::size_t at_ = 0;
};

/// Converts displacements from elements to bytes.
Numbers scaled(Numbers places, std::int64_t extent) {
  for (std::int64_t& place : places) place = checked_multiply(place, extent, place_words);
  return places;
}

/// Dimensions come in the program's order; layouts take the fastest first.
void put_fastest_first(std::vector<ArrayDimension>& dimensions, std::int64_t order) {
  if (order == MPI_ORDER_C) std::reverse(dimensions.begin(), dimensions.end());
}

TypeLayout vector(const TypeLayout& child, Arguments from, std::int64_t unit) {
  const std::int64_t count = from.next(), length = from.next(), stride = from.next();
  return repeat(repeat(child, length, child.extent()), count,
                checked_multiply(stride, unit, place_words));
}

TypeLayout indexed(const TypeLayout& child, Arguments from, std::int64_t unit) {
  const std::int64_t count = from.next();
  Numbers lengths = from.next(count);
  return blocks(child, std::move(lengths), scaled(from.next(count), unit));
}

TypeLayout indexed_block(const TypeLayout& child, Arguments from, std::int64_t unit) {
  const std::int64_t count = from.next(), length = from.next();
  return equal_blocks(child, length, scaled(from.next(count), unit));
}

TypeLayout subarray(const TypeLayout& child, Arguments from) {
  const std::int64_t rank = from.next();
  const Numbers sizes = from.next(rank), counts = from.next(rank), first = from.next(rank);
  std::vector<ArrayDimension> dimensions;
  for (std::size_t d = 0; d < sizes.size(); ++d)
    dimensions.push_back({.size = sizes[d], .first = first[d], .count = counts[d]});
  put_fastest_first(dimensions, from.next());
  return array_layout(child, dimensions);
}

/// One dimension of MPI_Type_create_darray, for process `part` of `of` in it.
ArrayDimension distributed(std::int64_t size, std::int64_t distribution, std::int64_t argument,
                           std::int64_t part, std::int64_t of) {
  if (distribution == MPI_DISTRIBUTE_NONE) return {.size = size, .first = 0, .count = size};
  const bool is_default = argument == MPI_DISTRIBUTE_DFLT_DARG;
  const std::int64_t block = !is_default                            ? argument
                             : distribution == MPI_DISTRIBUTE_BLOCK ? (size + of - 1) / of
                                                                    : 1;
  return {.size = size, .block = block, .part = part, .of = of};
}

TypeLayout darray(const TypeLayout& child, Arguments from) {
  from.next();  // skips the number of processes: it is the product of the grid
  std::int64_t process = from.next();
  const std::int64_t rank = from.next();
  const Numbers sizes = from.next(rank), distributions = from.next(rank);
  const Numbers arguments = from.next(rank), grid = from.next(rank);
  std::vector<ArrayDimension> dimensions(sizes.size());
  // The last dimension of the grid is the fastest, whichever order the array has.
  for (std::size_t d = sizes.size(); d-- > 0; process /= grid[d])
    dimensions[d] =
        distributed(sizes[d], distributions[d], arguments[d], process % grid[d], grid[d]);
  put_fastest_first(dimensions, from.next());
  return array_layout(child, dimensions);
}

/// A C struct of both; packed in external32.
TypeLayout pair(const TypeLayout& value, const TypeLayout& index, bool aligned) {
  std::int64_t place = value.size();
  if (aligned) {
    const std::int64_t alignment = std::min<std::int64_t>(index.size(), 16);
    place = (place + alignment - 1) / alignment * alignment;
  }
  return joined({value, index.moved(place)});
}

using Child = const TypeLayout*;

/// The definition of a type: types with equal definitions are equal.
struct Made {
  int combiner;
  Numbers numbers;
  std::vector<Child> children;
  auto operator<=>(const Made&) const = default;
};

class Decoder {
 public:
  explicit Decoder(Representation representation)
      : native_(representation == Representation::native) {}

  /// Open MPI returns a new handle for each part of a type, so equal parts are recognised by their
  /// definitions.
  Child layout(MPI_Datatype type) {
    const auto known = known_.find(type);
    if (known != known_.end()) return known->second;
    // Keeps the handles of parts alive.
    const TypeContents& contents = contents_.emplace_back(type);
    Made made{contents.combiner(), contents.numbers(), {}};
    for (const MPI_Datatype part : contents.types()) made.children.push_back(layout(part));
    const auto same = same_.find(made);
    if (same != same_.end()) return known_[type] = same->second;
    TypeLayout layout = build(type, made);
    if (native_) take_bounds(layout, bounds_of(type));
    const Child kept = &layouts_.emplace_back(std::move(layout));
    if (!made.children.empty()) same_.emplace(std::move(made), kept);
    return known_[type] = kept;
  }

 private:
  /// Whether they are marked is determined by the type map, not by the library.
  static void take_bounds(TypeLayout& layout, const TypeBounds& own) {
    if (!layout.bounds && own.lower == 0 && own.extent == 0) return;
    if (!layout.bounds) layout.bounds.emplace();
    layout.bounds->lower = own.lower;
    layout.bounds->upper = checked_add(own.lower, own.extent, place_words);
  }

  TypeLayout build(MPI_Datatype type, const Made& made) {
    if (made.combiner == MPI_COMBINER_NAMED) return predefined(type);
    if (made.combiner == MPI_COMBINER_STRUCT) return structure(made);
    if (is_value_index(made.combiner))
      return pair(*made.children.at(0), *made.children.at(1), native_);
    if (made.children.empty()) return of_fortran(type, made);
    return of_one(*made.children.front(), made);
  }

  static TypeLayout of_one(const TypeLayout& child, const Made& made) {
    Arguments from(made.numbers);
    switch (made.combiner) {
      case MPI_COMBINER_DUP: return child;
      case MPI_COMBINER_CONTIGUOUS: return repeat(child, from.next(), child.extent());
      case MPI_COMBINER_VECTOR: return vector(child, from, child.extent());
      case MPI_COMBINER_HVECTOR: return vector(child, from, 1);
      case MPI_COMBINER_INDEXED: return indexed(child, from, child.extent());
      case MPI_COMBINER_HINDEXED: return indexed(child, from, 1);
      case MPI_COMBINER_INDEXED_BLOCK: return indexed_block(child, from, child.extent());
      case MPI_COMBINER_HINDEXED_BLOCK: return indexed_block(child, from, 1);
      case MPI_COMBINER_SUBARRAY: return subarray(child, from);
      case MPI_COMBINER_DARRAY: return darray(child, from);
      case MPI_COMBINER_RESIZED: {
        TypeLayout resized = child;
        const std::int64_t lower = from.next();
        resized.bounds = Bounds::marked(lower, checked_add(lower, from.next(), place_words));
        return resized;
      }
      default: refuse(made.combiner);
    }
  }

  static TypeLayout structure(const Made& made) {
    Arguments from(made.numbers);
    const std::int64_t count = from.next();
    Numbers lengths = from.next(count), places = from.next(count);
    const auto& children = made.children;
    if (children.empty()) return {};
    if (std::ranges::count(children, children.front()) == std::ssize(children))
      return blocks(*children.front(), std::move(lengths), std::move(places));
    std::vector<TypeLayout> parts;
    for (std::size_t i = 0; i < children.size(); ++i)
      parts.push_back(repeat(*children[i], lengths[i], children[i]->extent()).moved(places[i]));
    return joined(parts);
  }

  TypeLayout basic(BasicType type) const {
    return basic_layout(type, native_ ? type.native_size() : type.external_size());
  }

  TypeLayout predefined(MPI_Datatype type) {
    const auto known = predefined_types();
    const auto found = std::ranges::lower_bound(known, type, std::less<>(), &PredefinedType::type);
    if (found != known.end() && found->type == type) return basic(found->basic);
    for (const PairType& p : pair_types())
      if (p.type == type) return pair(*layout(p.value), *layout(p.index), native_);
    const BoundMarkers markers = bound_markers();
    if (type == markers.lower) return {{}, Bounds{0, 0, true, false}, {}};
    if (type == markers.upper) return {{}, Bounds{0, 0, false, true}, {}};
    const std::int64_t size = size_of(type);
    return size > 0 ? basic(unknown_type(size)) : TypeLayout{};
  }

  TypeLayout of_fortran(MPI_Datatype type, const Made& made) const {
    Arguments from(made.numbers);
    const std::int64_t size = size_of(type);
    switch (made.combiner) {
      case MPI_COMBINER_F90_REAL:
      case MPI_COMBINER_F90_COMPLEX: {
        const int parts = made.combiner == MPI_COMBINER_F90_COMPLEX ? 2 : 1;
        const std::int64_t precision = from.next(), range = from.next();
        return basic(f90_real(precision, range, parts, size / parts));
      }
      case MPI_COMBINER_F90_INTEGER: return basic(f90_integer(from.next(), size));
      default: refuse(made.combiner);
    }
  }

  [[noreturn]] static void refuse(int combiner) {
    throw Error(ErrorClass::argument, "datatype: it was made by a constructor (combiner " +
                                          std::to_string(combiner) +
                                          " of this MPI library) that is not one of MPI 4.1");
  }

  const bool native_;
  std::list<TypeContents> contents_;
  std::list<TypeLayout> layouts_;
  std::map<MPI_Datatype, Child> known_;
  std::map<Made, Child> same_;
};

}  // namespace

TypeLayout decode(MPI_Datatype type, Representation representation) {
  return *Decoder(representation).layout(type);
}

}  // namespace penstock
