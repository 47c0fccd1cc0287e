#include "mpi_io/datatype.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <penstock/error.hpp>

#include "base/checked.hpp"
#include "mpi/communicator.hpp"
#include "mpi_io/mpi_error.hpp"

namespace penstock {
namespace {

using Shared = std::shared_ptr<const TypeLayout>;

struct Predefined {
  MPI_Datatype type;
  Shared layout;
};

/// Never destroyed: I/O may still be running while the process ends.
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

/// Null: not one of these.
const Predefined* find_predefined(MPI_Datatype type) {
  const std::vector<Predefined>& known = predefined_layouts();
  const auto found = std::ranges::lower_bound(known, type, std::less<>(), &Predefined::type);
  return found != known.end() && found->type == type ? &*found : nullptr;
}

/// Layouts of the program's types until they are freed, so a handle found here is valid.
class KnownTypes {
 public:
  Shared find(MPI_Datatype type) const {
    const std::shared_lock lock(mutex_);
    const auto found = all_.find(type);
    return found != all_.end() ? found->second.layout : nullptr;
  }
  void add(MPI_Datatype type, Shared layout) {
    const std::lock_guard lock(mutex_);
    all_[type] = {std::move(layout), false};
  }
  void remove(MPI_Datatype type) {
    const std::lock_guard lock(mutex_);
    all_.erase(type);
  }
  bool is_committed(MPI_Datatype type) const {
    const std::shared_lock lock(mutex_);
    const auto found = all_.find(type);
    return found != all_.end() && found->second.committed;
  }
  void note_committed(MPI_Datatype type) {
    const std::lock_guard lock(mutex_);
    if (const auto found = all_.find(type); found != all_.end()) found->second.committed = true;
  }
  /// Never destroyed: MPI frees types while the process ends.
  static KnownTypes& of_process() {
    static auto* const known = new KnownTypes;
    return *known;
  }

 private:
  mutable std::shared_mutex mutex_;
  struct Known {
    Shared layout;
    bool committed = false;  // as far as it was checked
  };
  std::unordered_map<MPI_Datatype, Known> all_;
};

int forget(MPI_Datatype type, int, void*, void*) {
  KnownTypes::of_process().remove(type);
  return MPI_SUCCESS;
}

/// MPI reports when a type with this attribute is freed.
int attribute_key() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    Communicator::check(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, &forget, &made, nullptr),
                        "MPI_Type_create_keyval");
    return made;
  }();
  return key;
}

/// One thread at a time: setting the attribute again would delete what another one has just stored.
Shared decode_and_keep(MPI_Datatype type) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  KnownTypes& known = KnownTypes::of_process();
  if (Shared layout = known.find(type)) return layout;
  if (!is_datatype(type))
    throw_mpi(MPI_ERR_TYPE, "this is no datatype: its handle was freed, or never made");
  auto made = std::make_shared<const TypeLayout>(decode(type, Representation::native));
  if (is_predefined(type)) return made;  // never freed
  Communicator::check(MPI_Type_set_attr(type, attribute_key(), nullptr), "MPI_Type_set_attr");
  known.add(type, made);
  return made;
}

}  // namespace

std::shared_ptr<const TypeLayout> layout_of(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL)
    throw_mpi(MPI_ERR_TYPE, "MPI_DATATYPE_NULL was passed, expected a datatype");
  if (const Predefined* const predefined = find_predefined(type)) return predefined->layout;
  if (Shared layout = KnownTypes::of_process().find(type)) return layout;
  return decode_and_keep(type);
}

void require_committed(MPI_Datatype type) {
  KnownTypes& known = KnownTypes::of_process();
  if (find_predefined(type) != nullptr || known.is_committed(type)) return;
  static_cast<void>(layout_of(type));  // throws for invalid types
  if (is_predefined(type)) return;
  if (!is_committed(type))
    throw_mpi(MPI_ERR_TYPE, "the datatype was not committed (MPI_Type_commit)");
  known.note_committed(type);
}

std::byte* memory_at(void* buffer, std::int64_t place) {
  constexpr std::intptr_t first_page = 4096;  // no program memory; MPI_IN_PLACE is in this range
  const auto base = buffer == MPI_BOTTOM ? std::intptr_t{0} : std::bit_cast<std::intptr_t>(buffer);
  const auto address = static_cast<std::intptr_t>(base + place);
  if (address < first_page)
    throw_mpi(MPI_ERR_BUFFER,
              "the buffer is a null pointer, or MPI_BOTTOM with a datatype whose "
              "displacements are no addresses");
  return std::bit_cast<std::byte*>(address);
}

MemoryMap memory_map(void* buffer, std::int64_t count, const TypeLayout& type) {
  if (count < 0)
    throw Error(ErrorClass::argument,
                "count " + std::to_string(count) + " was passed, expected 0 or more");
  const Nest nest =
      type.dense()
          ? Nest::run(type.nest.place(), checked_multiply(count, type.size(), "size of a buffer"))
          : Nest::repeat(type.nest, count, type.extent());
  if (nest.empty()) return {static_cast<std::byte*>(buffer), nest};
  const std::int64_t lowest = nest.hull().begin;
  std::byte* const first = memory_at(buffer, lowest);
  if (buffer != MPI_BOTTOM) return {static_cast<std::byte*>(buffer), nest};
  return {first, nest.moved(-lowest)};
}

}  // namespace penstock
