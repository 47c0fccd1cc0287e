// Random datatypes of every constructor, nested, with a text of how each was made.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "mpi/basic_types.hpp"
#include "mpi/model_support.hpp"

namespace type_test {

namespace ps = penstock;

#ifdef OPEN_MPI
constexpr bool is_open_mpi = true;
#else
constexpr bool is_open_mpi = false;
#endif

/// A datatype that is freed at the end, unless it is predefined.
class Type {
 public:
  Type(MPI_Datatype type, std::string text, bool predefined)
      : type_(type), text_(std::move(text)), predefined_(predefined) {}
  Type(Type&& other) noexcept
      : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)),
        text_(std::move(other.text_)),
        predefined_(other.predefined_) {}
  Type& operator=(Type&& other) noexcept {
    std::swap(type_, other.type_);
    std::swap(text_, other.text_);
    std::swap(predefined_, other.predefined_);
    return *this;
  }
  ~Type() {
    if (type_ != MPI_DATATYPE_NULL && !predefined_) MPI_Type_free(&type_);
  }
  MPI_Datatype get() const noexcept { return type_; }
  const std::string& text() const noexcept { return text_; }
  void commit() {
    if (!predefined_) MPI_Type_commit(&type_);
  }

 private:
  MPI_Datatype type_;
  std::string text_;
  bool predefined_;
};

template <class Int>
std::string text_of(const std::vector<Int>& list) {
  std::string text;
  for (const Int value : list) text += (text.empty() ? "{" : ",") + std::to_string(value);
  return text.empty() ? "{}" : text + "}";
}

struct Limits {
  bool only_bytes = false;      // leaves of one byte, without alignment
  std::int64_t size = 4096;     // of the type
  std::int64_t span = 1 << 18;  // from its lowest byte to its highest
};

/// Which of the drawn types MPI libraries handle wrongly.
struct Drawn {
  bool pairs = false, structs = false, darrays = false, f90 = false;
};

class TypeGenerator {
 public:
  TypeGenerator(Random& random, Limits limits) : r_(random), limits_(limits) {}

  /// At most `depth` constructors deep.
  Type draw(int depth) {
    if (depth == 0 || r_.chance(8)) return leaf();
    const Type child = draw(depth - 1);
    Type made = construct(child, depth);
    // Libraries differ in whether empty types have a place, and so bounds.
    const bool fits = is_small(made) && (!limits_.only_bytes || has_bytes(made));
    return fits ? std::move(made) : leaf();
  }
  const Drawn& drawn() const noexcept { return drawn_; }

 private:
  using Ints = std::vector<int>;
  using Aints = std::vector<MPI_Aint>;

  static int size(const Ints& list) { return static_cast<int>(list.size()); }
  int number(std::int64_t low, std::int64_t high) { return static_cast<int>(r_.in(low, high)); }
  Ints numbers(std::int64_t count, std::int64_t low, std::int64_t high) {
    Ints list;
    for (std::int64_t i = 0; i < count; ++i) list.push_back(number(low, high));
    return list;
  }
  Aints places(std::int64_t count) {
    Aints list;
    for (std::int64_t i = 0; i < count; ++i) list.push_back(r_.in(-300, 900));
    return list;
  }
  /// Open MPI 4 and 5 take a step of -1 byte for the type's own extent.
  static bool is_right(MPI_Count step) { return !is_open_mpi || step != -1; }
  static MPI_Count extent_of(const Type& type) {
    MPI_Count lower = 0, extent = 0;
    MPI_Type_get_extent_x(type.get(), &lower, &extent);
    return extent;
  }
  /// Large constructors, where the library has them.
  bool large() { return MPI_VERSION >= 4 && r_.chance(30); }

  bool is_small(const Type& type) const {
    MPI_Count bytes = 0, lower = 0, span = 0, bound = 0, extent = 0;
    MPI_Type_size_x(type.get(), &bytes);
    MPI_Type_get_true_extent_x(type.get(), &lower, &span);
    MPI_Type_get_extent_x(type.get(), &bound, &extent);
    const auto near = [&](MPI_Count value) {
      return value > -limits_.span && value < limits_.span;
    };
    return bytes <= limits_.size && near(lower) && near(span) && near(bound) && near(extent);
  }

  static bool has_bytes(const Type& type) {
    MPI_Count bytes = 0;
    MPI_Type_size_x(type.get(), &bytes);
    return bytes > 0;
  }

  Type leaf() {
    const auto known = ps::predefined_types();
    const auto pairs = ps::pair_types();
    if (limits_.only_bytes)
      return Type(r_.pick({MPI_BYTE, MPI_CHAR, MPI_SIGNED_CHAR}), "byte", true);
    if (r_.chance(10)) {
      drawn_.pairs = true;
      return named(pairs[pick(pairs.size())].type);
    }
    if (r_.chance(5)) {
      drawn_.f90 = true;
      return f90();
    }
    return named(known[pick(known.size())].type);
  }
  std::size_t pick(std::size_t count) {
    return static_cast<std::size_t>(r_.in(0, static_cast<std::int64_t>(count) - 1));
  }
  static Type named(MPI_Datatype type) {
    char name[MPI_MAX_OBJECT_NAME] = {};
    int length = 0;
    MPI_Type_get_name(type, name, &length);
    return Type(type, name, true);
  }
  Type f90() {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const int digits = r_.pick({6, 15}), range = r_.pick({2, 4, 9, 18});
    const std::string text = "f90(" + std::to_string(digits) + "," + std::to_string(range) + ")";
    switch (r_.in(0, 2)) {
      case 0: MPI_Type_create_f90_real(digits, MPI_UNDEFINED, &type); break;
      case 1: MPI_Type_create_f90_complex(digits, MPI_UNDEFINED, &type); break;
      default: MPI_Type_create_f90_integer(range, &type); break;
    }
    // Libraries without Fortran have none of them.
    int bytes = 0;
    if (type == MPI_DATATYPE_NULL || MPI_Type_size(type, &bytes) != MPI_SUCCESS || bytes <= 0)
      return named(MPI_INT);
    return Type(type, text, true);
  }

  Type construct(const Type& child, int depth) {
    switch (r_.in(0, 13)) {
      case 0: return dup(child);
      case 1: return contiguous(child);
      case 2: return vector(child);
      case 3: return hvector(child);
      case 4: return indexed(child);
      case 5: return hindexed(child);
      case 6: return indexed_block(child);
      case 7: return hindexed_block(child);
      case 8:
      case 9: return structure(child, depth);
      case 10: return subarray(child);
      case 11: return has_bytes(child) ? darray(child) : dup(child);  // Open MPI refuses others
      case 12: return resized(child);
      default: return column(child);
    }
  }

  template <class Make>
  static Type made(const std::string& text, const Type& child, Make&& make) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (make(&type) != MPI_SUCCESS) throw Failure{"MPI does not make " + text + " " + child.text()};
    return Type(type, text + "[" + child.text() + "]", false);
  }

  Type dup(const Type& child) {
    return made("dup", child, [&](MPI_Datatype* to) { return MPI_Type_dup(child.get(), to); });
  }
  Type contiguous(const Type& child) {
    const int count = number(0, 5);
    return made("contiguous" + text_of(Ints{count}), child, [&](MPI_Datatype* to) {
#if MPI_VERSION >= 4
      if (large()) return MPI_Type_contiguous_c(count, child.get(), to);
#endif
      return MPI_Type_contiguous(count, child.get(), to);
    });
  }
  Type vector(const Type& child) {
    const int count = number(0, 5), length = number(0, 3);
    int stride = number(-6, 6);
    if (!is_right(stride * extent_of(child))) stride *= 2;
    return made("vector" + text_of(Ints{count, length, stride}), child, [&](MPI_Datatype* to) {
#if MPI_VERSION >= 4
      if (large()) return MPI_Type_vector_c(count, length, stride, child.get(), to);
#endif
      return MPI_Type_vector(count, length, stride, child.get(), to);
    });
  }
  Type hvector(const Type& child) {
    const int count = number(0, 5), length = number(0, 3);
    int stride = number(-99, 99);
    if (!is_right(stride)) stride *= 2;
    return made("hvector" + text_of(Ints{count, length, stride}), child, [&](MPI_Datatype* to) {
#if MPI_VERSION >= 4
      if (large()) return MPI_Type_create_hvector_c(count, length, stride, child.get(), to);
#endif
      return MPI_Type_create_hvector(count, length, stride, child.get(), to);
    });
  }
  Type indexed(const Type& child) {
    const std::int64_t count = r_.in(0, 5);
    const Ints lengths = numbers(count, 0, 3), at = numbers(count, -9, 20);
    return made("indexed" + text_of(lengths) + text_of(at), child, [&](MPI_Datatype* to) {
#if MPI_VERSION >= 4
      const std::vector<MPI_Count> wide(lengths.begin(), lengths.end()), far(at.begin(), at.end());
      if (large()) return MPI_Type_indexed_c(count, wide.data(), far.data(), child.get(), to);
#endif
      return MPI_Type_indexed(size(lengths), lengths.data(), at.data(), child.get(), to);
    });
  }
  Type hindexed(const Type& child) {
    const std::int64_t count = r_.in(0, 5);
    const Ints lengths = numbers(count, 0, 3);
    const Aints at = places(count);
    return made("hindexed" + text_of(lengths) + text_of(at), child, [&](MPI_Datatype* to) {
#if MPI_VERSION >= 4
      const std::vector<MPI_Count> wide(lengths.begin(), lengths.end()), far(at.begin(), at.end());
      if (large())
        return MPI_Type_create_hindexed_c(count, wide.data(), far.data(), child.get(), to);
#endif
      return MPI_Type_create_hindexed(size(lengths), lengths.data(), at.data(), child.get(), to);
    });
  }
  Type indexed_block(const Type& child) {
    const int length = number(0, 3);
    const Ints at = numbers(r_.in(0, 5), -9, 20);
    return made(
        "indexed_block" + text_of(Ints{length}) + text_of(at), child, [&](MPI_Datatype* to) {
#if MPI_VERSION >= 4
          const std::vector<MPI_Count> far(at.begin(), at.end());
          if (large())
            return MPI_Type_create_indexed_block_c(size(at), length, far.data(), child.get(), to);
#endif
          return MPI_Type_create_indexed_block(size(at), length, at.data(), child.get(), to);
        });
  }
  Type hindexed_block(const Type& child) {
    const int length = number(0, 3);
    const Aints at = places(r_.in(0, 5));
    const int count = static_cast<int>(at.size());
    return made(
        "hindexed_block" + text_of(Ints{length}) + text_of(at), child, [&](MPI_Datatype* to) {
#if MPI_VERSION >= 4
          const std::vector<MPI_Count> far(at.begin(), at.end());
          if (large())
            return MPI_Type_create_hindexed_block_c(count, length, far.data(), child.get(), to);
#endif
          return MPI_Type_create_hindexed_block(count, length, at.data(), child.get(), to);
        });
  }
  Type structure(const Type& child, int depth) {
    const Type other = draw(depth - 1);
    drawn_.structs = true;
    // If a part of a struct is empty, Open MPI packs copies of it wrongly and MPICH 5 crashes.
    if (!has_bytes(child) || !has_bytes(other)) return dup(child);
    const int count = number(0, 4);
    const Ints lengths = numbers(count, 0, 3);
    const Aints at = places(count);
    std::vector<MPI_Datatype> types;
    for (int i = 0; i < count; ++i) types.push_back(r_.chance(50) ? child.get() : other.get());
    std::string which;
    for (const MPI_Datatype type : types) which += type == child.get() ? 'a' : 'b';
    return made(
        "struct " + which + text_of(lengths) + text_of(at) + "b=" + other.text() + " a=", child,
        [&](MPI_Datatype* to) {
#if MPI_VERSION >= 4
          const std::vector<MPI_Count> wide(lengths.begin(), lengths.end()),
              far(at.begin(), at.end());
          if (large())
            return MPI_Type_create_struct_c(count, wide.data(), far.data(), types.data(), to);
#endif
          return MPI_Type_create_struct(count, lengths.data(), at.data(), types.data(), to);
        });
  }
  Type subarray(const Type& child) {
    const std::int64_t dimensions = r_.in(1, 4);
    const int order = r_.pick({MPI_ORDER_C, MPI_ORDER_FORTRAN});
    Ints sizes, counts, first;
    for (std::int64_t d = 0; d < dimensions; ++d) {
      sizes.push_back(number(1, 5));
      counts.push_back(number(1, sizes.back()));
      first.push_back(number(0, sizes.back() - counts.back()));
    }
    const std::string text = std::string("subarray ") + (order == MPI_ORDER_C ? "C" : "F") +
                             text_of(sizes) + text_of(counts) + text_of(first);
    return made(text, child, [&](MPI_Datatype* to) {
#if MPI_VERSION >= 4
      const std::vector<MPI_Count> a(sizes.begin(), sizes.end()), b(counts.begin(), counts.end()),
          c(first.begin(), first.end());
      if (large())
        return MPI_Type_create_subarray_c(size(sizes), a.data(), b.data(), c.data(), order,
                                          child.get(), to);
#endif
      return MPI_Type_create_subarray(size(sizes), sizes.data(), counts.data(), first.data(), order,
                                      child.get(), to);
    });
  }
  Type darray(const Type& child) {
    drawn_.darrays = true;
    const std::int64_t dimensions = r_.in(1, 3);
    const int order = r_.pick({MPI_ORDER_C, MPI_ORDER_FORTRAN});
    Ints sizes, kinds, arguments, grid;
    for (std::int64_t d = 0; d < dimensions; ++d) add_dimension(sizes, kinds, arguments, grid);
    const int processes = std::accumulate(grid.begin(), grid.end(), 1, std::multiplies<>());
    const int process = number(0, processes - 1);
    const std::string text = std::string("darray ") + (order == MPI_ORDER_C ? "C " : "F ") +
                             std::to_string(process) + text_of(sizes) + text_of(kinds) +
                             text_of(arguments) + text_of(grid);
    return made(text, child, [&](MPI_Datatype* to) {
#if MPI_VERSION >= 4
      const std::vector<MPI_Count> wide(sizes.begin(), sizes.end());
      if (large())
        return MPI_Type_create_darray_c(processes, process, size(sizes), wide.data(), kinds.data(),
                                        arguments.data(), grid.data(), order, child.get(), to);
#endif
      return MPI_Type_create_darray(processes, process, size(sizes), sizes.data(), kinds.data(),
                                    arguments.data(), grid.data(), order, child.get(), to);
    });
  }
  void add_dimension(Ints& sizes, Ints& kinds, Ints& arguments, Ints& grid) {
    const int length = number(1, 9);
    const int kind = r_.pick(
        {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC});
    const int processes = kind == MPI_DISTRIBUTE_NONE ? 1 : number(1, 4);
    int argument = MPI_DISTRIBUTE_DFLT_DARG;
    if (kind == MPI_DISTRIBUTE_CYCLIC && r_.chance(70)) argument = number(1, 4);
    const int least = (length + processes - 1) / processes;
    if (kind == MPI_DISTRIBUTE_BLOCK && r_.chance(40)) argument = number(least, least + 2);
    sizes.push_back(length);
    kinds.push_back(kind);
    arguments.push_back(argument);
    grid.push_back(processes);
  }
  Type resized(const Type& child) {
    // MPICH 5 packs copies wrongly if an extent is negative.
    const bool back = is_open_mpi && r_.chance(10);
    const MPI_Aint lower = r_.in(-40, 40), extent = back ? r_.in(-50, 0) : r_.in(0, 200);
    return resized_to(child, lower, is_right(extent) ? extent : 2 * extent);
  }
  /// A vector whose copies interleave.
  Type column(const Type& child) {
    const int count = number(1, 6), stride = number(1, 6);
    MPI_Count lower = 0, extent = 0;
    MPI_Type_get_extent_x(child.get(), &lower, &extent);
    const Type whole = made("column" + text_of(Ints{count, stride}), child, [&](MPI_Datatype* to) {
      return MPI_Type_vector(count, 1, stride, child.get(), to);
    });
    return resized_to(whole, static_cast<MPI_Aint>(lower), static_cast<MPI_Aint>(extent));
  }
  Type resized_to(const Type& child, MPI_Aint lower, MPI_Aint extent) {
    return made("resized" + text_of(Aints{lower, extent}), child, [&](MPI_Datatype* to) {
#if MPI_VERSION >= 4
      if (large()) return MPI_Type_create_resized_c(child.get(), lower, extent, to);
#endif
      return MPI_Type_create_resized(child.get(), lower, extent, to);
    });
  }

  Random& r_;
  Limits limits_;
  Drawn drawn_;
};

}  // namespace type_test
