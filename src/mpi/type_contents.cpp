#include "mpi/type_contents.hpp"

#include <penstock/error.hpp>

#include "mpi/communicator.hpp"
#include "mpi/errors_returned.hpp"

namespace penstock {
namespace {

#if MPI_VERSION >= 4
using Number = MPI_Count;
#else
using Number = int;
#endif

struct Envelope {
  int combiner = 0;
  Number integers = 0, addresses = 0, counts = 0, types = 0;
};

Envelope envelope_of(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL)
    throw Error(ErrorClass::argument, "MPI_DATATYPE_NULL was passed, expected a datatype");
  Envelope e;
#if MPI_VERSION >= 4
  Communicator::check(
      MPI_Type_get_envelope_c(type, &e.integers, &e.addresses, &e.counts, &e.types, &e.combiner),
      "MPI_Type_get_envelope_c");
#else
  Communicator::check(MPI_Type_get_envelope(type, &e.integers, &e.addresses, &e.types, &e.combiner),
                      "MPI_Type_get_envelope");
#endif
  return e;
}

bool has_contents(int combiner) noexcept {
  return combiner != MPI_COMBINER_NAMED;
}

/// Types that must not be passed to MPI_Type_free, though some of them have contents.
bool makes_predefined(int combiner) noexcept {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER ||
         is_value_index(combiner);
}

/// The number of integers before the counts of a large constructor.
std::size_t place_of_counts(int combiner, std::size_t integers) noexcept {
  return combiner == MPI_COMBINER_SUBARRAY ? 1 : combiner == MPI_COMBINER_DARRAY ? 3 : integers;
}

struct Lists {
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> counts;
};

/// MPI checks pointers even if nothing is stored.
template <class T>
void make_room(std::vector<T>& list, Number count) {
  list.resize(static_cast<std::size_t>(count) + 1);
}

Lists read_contents(MPI_Datatype type, const Envelope& e, std::vector<MPI_Datatype>& types) {
  Lists lists;
  make_room(lists.integers, e.integers);
  make_room(lists.addresses, e.addresses);
  make_room(lists.counts, e.counts);
  make_room(types, e.types);
#if MPI_VERSION >= 4
  Communicator::check(MPI_Type_get_contents_c(type, e.integers, e.addresses, e.counts, e.types,
                                              lists.integers.data(), lists.addresses.data(),
                                              lists.counts.data(), types.data()),
                      "MPI_Type_get_contents_c");
#else
  Communicator::check(
      MPI_Type_get_contents(type, e.integers, e.addresses, e.types, lists.integers.data(),
                            lists.addresses.data(), types.data()),
      "MPI_Type_get_contents");
#endif
  lists.integers.pop_back();
  lists.addresses.pop_back();
  lists.counts.pop_back();
  types.pop_back();
  return lists;
}

}  // namespace

bool is_value_index(int combiner) noexcept {
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  return combiner == MPI_COMBINER_VALUE_INDEX;
#else
  static_cast<void>(combiner);
  return false;
#endif
}

TypeContents::TypeContents(MPI_Datatype type) {
  const Envelope e = envelope_of(type);
  combiner_ = e.combiner;
  if (!has_contents(e.combiner)) return;
  const Lists lists = read_contents(type, e, types_);
  for (const MPI_Datatype part : types_)
    if (!is_predefined(part)) owned_.push_back(part);
  numbers_.assign(lists.integers.begin(), lists.integers.end());
  const auto at = numbers_.begin() +
                  static_cast<std::ptrdiff_t>(place_of_counts(e.combiner, lists.integers.size()));
  numbers_.insert(at, lists.counts.begin(), lists.counts.end());
  numbers_.insert(numbers_.end(), lists.addresses.begin(), lists.addresses.end());
}

TypeContents::~TypeContents() {
  for (MPI_Datatype& type : owned_) MPI_Type_free(&type);
}

namespace {

/// Open MPI returns sizes of freed types, and fails here.
bool has_envelope(MPI_Datatype type) {
  try {
    static_cast<void>(envelope_of(type));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool is_datatype(MPI_Datatype type) {
  const ErrorsReturned guard;
  MPI_Count size = 0, lower = 0, extent = 0;
  if (MPI_Type_size_x(type, &size) != MPI_SUCCESS ||
      MPI_Type_get_true_extent_x(type, &lower, &extent) != MPI_SUCCESS)
    return false;
  // MPICH without error checking keeps a pointer where the size of a freed type was.
  constexpr MPI_Count longest = MPI_Count{1} << 40;
  if (size < 0 || (size > longest && size > extent)) return false;
  return has_envelope(type);
}

/// There is no function for this, but sending to MPI_PROC_NULL checks it.
bool is_committed(MPI_Datatype type) {
  const ErrorsReturned guard;
  const char unused = 0;
  return MPI_Send(&unused, 1, type, MPI_PROC_NULL, 0, MPI_COMM_SELF) == MPI_SUCCESS;
}

bool is_predefined(MPI_Datatype type) {
  return makes_predefined(envelope_of(type).combiner);
}

TypeBounds bounds_of(MPI_Datatype type) {
  MPI_Count lower = 0, extent = 0;
#if MPI_VERSION >= 4
  Communicator::check(MPI_Type_get_extent_c(type, &lower, &extent), "MPI_Type_get_extent_c");
#else
  Communicator::check(MPI_Type_get_extent_x(type, &lower, &extent), "MPI_Type_get_extent_x");
#endif
  return {lower, extent};
}

std::int64_t size_of(MPI_Datatype type) {
  MPI_Count size = 0;
#if MPI_VERSION >= 4
  Communicator::check(MPI_Type_size_c(type, &size), "MPI_Type_size_c");
#else
  Communicator::check(MPI_Type_size_x(type, &size), "MPI_Type_size_x");
#endif
  return size;
}

}  // namespace penstock
