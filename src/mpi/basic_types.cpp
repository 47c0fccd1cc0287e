#include "mpi/basic_types.hpp"

#include <algorithm>
#include <cfloat>
#include <functional>
#include <type_traits>
#include <vector>

#include "base/checked.hpp"

namespace penstock {
namespace {

using Family = BasicType::Family;

/// `external`: bytes of a part in external32.
struct Known {
  MPI_Datatype type;
  Family family;
  int external;
  int parts = 1;
};

/// Format of long double in memory: if it is binary128 or double already, it is only swapped.
constexpr Family long_double = LDBL_MANT_DIG == 64 ? Family::extended : Family::floating;
constexpr Family wide = std::is_signed_v<wchar_t> ? Family::integer : Family::natural;

void add_of_c(std::vector<Known>& list) {
  const Known known[] = {
      {MPI_BYTE, Family::bytes, 1},
      {MPI_PACKED, Family::bytes, 1},
      {MPI_CHAR, Family::bytes, 1},
      {MPI_SIGNED_CHAR, Family::bytes, 1},
      {MPI_UNSIGNED_CHAR, Family::bytes, 1},
      {MPI_WCHAR, wide, 2},
      {MPI_SHORT, Family::integer, 2},
      {MPI_UNSIGNED_SHORT, Family::natural, 2},
      {MPI_INT, Family::integer, 4},
      {MPI_UNSIGNED, Family::natural, 4},
      {MPI_LONG, Family::integer, 4},
      {MPI_UNSIGNED_LONG, Family::natural, 4},
      {MPI_LONG_LONG, Family::integer, 8},
      {MPI_UNSIGNED_LONG_LONG, Family::natural, 8},
      {MPI_FLOAT, Family::floating, 4},
      {MPI_DOUBLE, Family::floating, 8},
      {MPI_LONG_DOUBLE, long_double, 16},
      {MPI_C_BOOL, Family::logical, 1},
      {MPI_INT8_T, Family::bytes, 1},
      {MPI_UINT8_T, Family::bytes, 1},
      {MPI_INT16_T, Family::integer, 2},
      {MPI_UINT16_T, Family::natural, 2},
      {MPI_INT32_T, Family::integer, 4},
      {MPI_UINT32_T, Family::natural, 4},
      {MPI_INT64_T, Family::integer, 8},
      {MPI_UINT64_T, Family::natural, 8},
      {MPI_AINT, Family::integer, 8},
      {MPI_COUNT, Family::integer, 8},
      {MPI_OFFSET, Family::integer, 8},
      {MPI_C_COMPLEX, Family::floating, 4, 2},
      {MPI_C_FLOAT_COMPLEX, Family::floating, 4, 2},
      {MPI_C_DOUBLE_COMPLEX, Family::floating, 8, 2},
      {MPI_C_LONG_DOUBLE_COMPLEX, long_double, 16, 2},
      {MPI_CXX_BOOL, Family::logical, 1},
      {MPI_CXX_FLOAT_COMPLEX, Family::floating, 4, 2},
      {MPI_CXX_DOUBLE_COMPLEX, Family::floating, 8, 2},
      {MPI_CXX_LONG_DOUBLE_COMPLEX, long_double, 16, 2},
  };
  list.insert(list.end(), std::begin(known), std::end(known));
}

void add_of_fortran(std::vector<Known>& list) {
  const Known known[] = {
      {MPI_CHARACTER, Family::bytes, 1},
      {MPI_LOGICAL, Family::logical, 4},
      {MPI_INTEGER, Family::integer, 4},
      {MPI_REAL, Family::floating, 4},
      {MPI_DOUBLE_PRECISION, Family::floating, 8},
      {MPI_COMPLEX, Family::floating, 4, 2},
      {MPI_DOUBLE_COMPLEX, Family::floating, 8, 2},
  };
  list.insert(list.end(), std::begin(known), std::end(known));
}

/// Types that a library may lack: then the macro is missing or a null handle.
void add_optional(std::vector<Known>& list) {
  const Known known[] = {
#ifdef MPI_INTEGER1
      {MPI_INTEGER1, Family::bytes, 1},
#endif
#ifdef MPI_INTEGER2
      {MPI_INTEGER2, Family::integer, 2},
#endif
#ifdef MPI_INTEGER4
      {MPI_INTEGER4, Family::integer, 4},
#endif
#ifdef MPI_INTEGER8
      {MPI_INTEGER8, Family::integer, 8},
#endif
#ifdef MPI_INTEGER16
      {MPI_INTEGER16, Family::integer, 16},
#endif
#ifdef MPI_LOGICAL1
      {MPI_LOGICAL1, Family::logical, 1},
#endif
#ifdef MPI_LOGICAL2
      {MPI_LOGICAL2, Family::logical, 2},
#endif
#ifdef MPI_LOGICAL4
      {MPI_LOGICAL4, Family::logical, 4},
#endif
#ifdef MPI_LOGICAL8
      {MPI_LOGICAL8, Family::logical, 8},
#endif
#ifdef MPI_REAL2
      {MPI_REAL2, Family::floating, 2},
#endif
#ifdef MPI_REAL4
      {MPI_REAL4, Family::floating, 4},
#endif
#ifdef MPI_REAL8
      {MPI_REAL8, Family::floating, 8},
#endif
#ifdef MPI_REAL16
      {MPI_REAL16, Family::floating, 16},
#endif
#ifdef MPI_COMPLEX4
      {MPI_COMPLEX4, Family::floating, 2, 2},
#endif
#ifdef MPI_COMPLEX8
      {MPI_COMPLEX8, Family::floating, 4, 2},
#endif
#ifdef MPI_COMPLEX16
      {MPI_COMPLEX16, Family::floating, 8, 2},
#endif
#ifdef MPI_COMPLEX32
      {MPI_COMPLEX32, Family::floating, 16, 2},
#endif
      {MPI_DATATYPE_NULL, Family::bytes, 1},
  };
  list.insert(list.end(), std::begin(known), std::end(known));
}

/// Size of the type in this library; 0: it has none.
int bytes_of(MPI_Datatype type) {
  int size = 0;
  if (type == MPI_DATATYPE_NULL || MPI_Type_size(type, &size) != MPI_SUCCESS) return 0;
  return std::max(size, 0);
}

BasicType as_known(const Known& known, int size) {
  BasicType basic;
  basic.parts = checked_cast<std::uint8_t>(known.parts);
  basic.native = checked_cast<std::uint8_t>(size / known.parts);
  basic.external = checked_cast<std::uint8_t>(known.external);
  basic.family = known.family;
  // If a library's float has another size than the standard's table, there is no conversion.
  if (known.family == Family::floating && basic.native != basic.external)
    basic.family = Family::unknown;
  return basic;
}

std::vector<PredefinedType> make_predefined() {
  std::vector<Known> list;
  add_of_c(list);
  add_of_fortran(list);
  add_optional(list);
  std::vector<PredefinedType> types;
  for (const Known& known : list)
    if (const int size = bytes_of(known.type); size > 0)
      types.push_back({known.type, as_known(known, size)});
  const auto before = [](const PredefinedType& a, const PredefinedType& b) {
    return std::less<>()(a.type, b.type);
  };
  std::ranges::stable_sort(types, before);
  const auto same = [](const PredefinedType& a, const PredefinedType& b) {
    return a.type == b.type;
  };
  types.erase(std::unique(types.begin(), types.end(), same), types.end());
  return types;
}

}  // namespace

std::span<const PredefinedType> predefined_types() {
  static const std::vector<PredefinedType> types = make_predefined();
  return types;
}

std::span<const PairType> pair_types() {
  static const std::vector<PairType> types = [] {
    std::vector<PairType> pairs{
        {MPI_FLOAT_INT, MPI_FLOAT, MPI_INT},
        {MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT},
        {MPI_LONG_INT, MPI_LONG, MPI_INT},
        {MPI_SHORT_INT, MPI_SHORT, MPI_INT},
        {MPI_2INT, MPI_INT, MPI_INT},
        {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT},
        {MPI_2REAL, MPI_REAL, MPI_REAL},
        {MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION},
        {MPI_2INTEGER, MPI_INTEGER, MPI_INTEGER},
    };
    std::erase_if(pairs, [](const PairType& pair) { return bytes_of(pair.type) == 0; });
    return pairs;
  }();
  return types;
}

BasicType unknown_type(std::int64_t size) {
  const auto bytes = checked_cast<std::uint8_t>(size);
  return {Family::unknown, 1, bytes, bytes};
}

BasicType f90_real(std::int64_t precision, std::int64_t range, int parts, std::int64_t native) {
  const int external = precision > 15 || range > 307 ? 16 : precision > 6 || range > 37 ? 8 : 4;
  BasicType basic = as_known({MPI_DATATYPE_NULL, Family::floating, external, parts},
                             checked_cast<int>(native) * parts);
  // Up to 18 digits Fortran compilers use the x87 format, beyond that binary128.
  if (basic.native == 16 && precision <= 18) basic.family = long_double;
  return basic;
}

BasicType f90_integer(std::int64_t range, std::int64_t native) {
  const int external = range > 18 ? 16 : range > 9 ? 8 : range > 4 ? 4 : range > 2 ? 2 : 1;
  return as_known({MPI_DATATYPE_NULL, Family::integer, external}, checked_cast<int>(native));
}

BoundMarkers bound_markers() noexcept {
// Open MPI defines the names as errors of the compiler.
#if defined(MPI_LB) && defined(MPI_UB) && !defined(OPEN_MPI)
  return {MPI_LB, MPI_UB};
#else
  return {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
#endif
}

}  // namespace penstock
