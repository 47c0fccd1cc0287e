#include "mpiio/datatype.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <penstock/error.hpp>

#include "base/checked.hpp"
#include "mpi/communicator.hpp"

namespace penstock {
namespace {

using Shared = std::shared_ptr<const TypeLayout>;

struct Predefined {
  MPI_Datatype type;
  Shared layout;
};

/// Never destroyed: I/O may still go on while the process ends.
const std::vector<Predefined>& predefined_layouts() {
  static const auto* const layouts = [] {
    auto* const made = new std::vector<Predefined>;
    const auto add = [&](MPI_Datatype type) {
      made->push_back({type, std::make_shared<TypeLayout>(decode(type, Representation::native))});
    };
    for (const PredefinedType& known : predefined_types()) add(known.type);
    for (const PairType& pair : pair_types()) add(pair.type);
    std::ranges::sort(*made, std::less<>(), &Predefined::type);
    return made;
  }();
  return *layouts;
}

int forget(MPI_Datatype, int, void* value, void*) {
  delete static_cast<Shared*>(value);
  return MPI_SUCCESS;
}

int attribute_key() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    Communicator::check(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, &forget, &made, nullptr),
                        "MPI_Type_create_keyval");
    return made;
  }();
  return key;
}

/// Once it is there, it stays until the type is freed.
const Shared* kept_with(MPI_Datatype type) {
  void* value = nullptr;
  int found = 0;
  Communicator::check(MPI_Type_get_attr(type, attribute_key(), static_cast<void*>(&value), &found),
                      "MPI_Type_get_attr");
  return found != 0 ? static_cast<const Shared*>(value) : nullptr;
}

/// One thread at a time: setting an attribute again would delete what another one has just found.
Shared decode_and_keep(MPI_Datatype type) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const Shared* const kept = kept_with(type)) return *kept;
  const auto made = std::make_shared<const TypeLayout>(decode(type, Representation::native));
  if (is_predefined(type)) return made;  // nobody frees it
  auto kept = std::make_unique<Shared>(made);
  Communicator::check(MPI_Type_set_attr(type, attribute_key(), kept.get()), "MPI_Type_set_attr");
  static_cast<void>(kept.release());
  return made;
}

}  // namespace

std::shared_ptr<const TypeLayout> layout_of(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL)
    throw Error(ErrorClass::argument, "MPI_DATATYPE_NULL was passed, expected a datatype");
  const std::vector<Predefined>& known = predefined_layouts();
  const auto found = std::ranges::lower_bound(known, type, std::less<>(), &Predefined::type);
  if (found != known.end() && found->type == type) return found->layout;
  if (const Shared* const kept = kept_with(type)) return *kept;
  return decode_and_keep(type);
}

MemoryMap memory_map(void* buffer, std::int64_t count, const TypeLayout& type) {
  if (count < 0)
    throw Error(ErrorClass::argument,
                "count " + std::to_string(count) + " was passed, expected 0 or more");
  const Nest nest =
      type.dense()
          ? Nest::run(type.nest.place(), checked_multiply(count, type.size(), "size of a buffer"))
          : Nest::repeat(type.nest, count, type.extent());
  if (buffer != MPI_BOTTOM || nest.empty()) return {static_cast<std::byte*>(buffer), nest};
  const std::int64_t lowest = nest.hull().begin;
  auto* const base = std::bit_cast<std::byte*>(static_cast<std::intptr_t>(lowest));
  return {base, nest.moved(-lowest)};
}

}  // namespace penstock
