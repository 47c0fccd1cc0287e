// Reads and writes, blocking or with begin and wait. An error on this rank is passed to the
// collective call, so that all ranks return it.
#include <optional>
#include <span>
#include <type_traits>

#include "c/guard.hpp"
#include "c/objects.hpp"

using penstock::ArrayFile;
using penstock::Background;
using penstock::Error;
using penstock::ErrorClass;
using penstock::Handle;
using penstock::Hints;
using penstock::Part;
using penstock::Range;
using penstock::ReadView;
using penstock::Section;
using penstock::WriteView;
using penstock::c::fault_of;
using penstock::c::given;
using penstock::c::guarded;

namespace {

/// Dense memory of unknown size: assumed to be as large as the section needs.
constexpr std::size_t any_size = PTRDIFF_MAX;

/// The arguments as passed. `in_step`: parts are of one step, without the slowest dimension.
struct PassedArguments {
  int count;
  const penstock_part* parts;
  const char* hints;
  bool in_step = false;
};

/// The same as library types, or their error. `early`: an error found before.
template <class View>
struct CheckedArguments {
  CheckedArguments(const ArrayFile& file, const PassedArguments& passed,
                   const std::optional<Error>& early = {}) {
    fault = fault_of([&] {
      if (early) throw Error(*early);
      if (passed.count < 0)
        throw Error(ErrorClass::argument, "the count of parts must not be negative, but is " +
                                              std::to_string(passed.count));
      if (passed.count > 0) given(passed.parts, "parts");
      if (passed.hints != nullptr) hints.emplace().set(penstock::split_hints(passed.hints));
      for (int i = 0; i < passed.count; ++i) add(file.spec(), passed.parts[i], passed.in_step);
    });
  }

  const Hints* call_hints() const { return hints ? &*hints : nullptr; }

  std::vector<Part<View>> parts;
  std::optional<Hints> hints;
  std::optional<Error> fault;
  const Error* found() const { return fault ? &*fault : nullptr; }

 private:
  void add(const penstock::ArraySpec& spec, const penstock_part& part, bool in_step) {
    const std::size_t dimensions = spec.shape.size() - (in_step ? 1 : 0);
    if (part.fault != nullptr) throw Error(ErrorClass::argument, part.fault);
    if (part.section == nullptr) return;
    if (part.dimensions != 0 && static_cast<std::size_t>(part.dimensions) != dimensions)
      throw Error(ErrorClass::section, "the section has " + std::to_string(part.dimensions) +
                                           " dimensions, the " + (in_step ? "step of the " : "") +
                                           "array has " + std::to_string(dimensions));
    std::vector<penstock::Indices> indices;
    for (std::size_t d = 0; d < dimensions; ++d) {
      const penstock_range& range = part.section[d];
      indices.emplace_back(Range{range.lower, range.upper, range.stride != 0 ? range.stride : 1,
                                 range.block != 0 ? range.block : 1});
    }
    View memory;
    memory.data = static_cast<decltype(memory.data)>(part.data);
    memory.size_bytes = any_size;
    memory.element_size = part.element_size;
    if (part.shape != nullptr) memory.shape.assign(part.shape, part.shape + dimensions);
    if (part.strides != nullptr) memory.strides.assign(part.strides, part.strides + dimensions);
    if (in_step) add_step(spec, indices, memory);
    parts.push_back({Section(std::move(indices)), std::move(memory)});
  }

  /// Adds the slowest dimension, in which a step is one element.
  static void add_step(const penstock::ArraySpec& spec, std::vector<penstock::Indices>& indices,
                       View& memory) {
    const bool last = spec.order == penstock::Order::fortran;
    const std::int64_t number = last ? spec.shape.back() : spec.shape.front();
    const auto insert = [&](auto& values, const auto& value) {
      values.insert(last ? values.end() : values.begin(), value);
    };
    insert(indices, penstock::Indices(Range{number, number + 1}));
    if (!memory.shape.empty()) insert(memory.shape, std::int64_t{1});
    if (!memory.strides.empty()) insert(memory.strides, spec.element_size);
  }
};

template <class View>
constexpr bool is_read = std::is_same_v<View, ReadView>;

template <class View>
int transfer(penstock_file* file, const PassedArguments& passed) {
  return guarded([&] {
    ArrayFile& array = given(file, "file").array;
    const CheckedArguments<View> arguments(array, passed);
    if constexpr (is_read<View>)
      array.read(arguments.parts, arguments.call_hints(), arguments.found());
    else array.write(arguments.parts, arguments.call_hints(), arguments.found());
  });
}

template <class View>
Handle begun(ArrayFile& array, const PassedArguments& passed, const char* background,
             bool has_place) {
  std::optional<Background> mode;
  const auto early = fault_of([&] {
    mode = penstock::parse_background(background != nullptr ? background : "storage");
    if (!has_place) throw Error(ErrorClass::argument, "the place for the handle is NULL");
  });
  const CheckedArguments<View> arguments(array, passed, early);
  if constexpr (is_read<View>)
    return array.read_begin(arguments.parts, mode, arguments.call_hints(), arguments.found());
  else return array.write_begin(arguments.parts, mode, arguments.call_hints(), arguments.found());
}

template <class View>
int begin(penstock_file* file, const PassedArguments& passed, const char* background,
          penstock_handle** handle) {
  if (handle != nullptr) *handle = nullptr;
  return guarded([&] {
    Handle half = begun<View>(given(file, "file").array, passed, background, handle != nullptr);
    if (handle != nullptr) *handle = new penstock_handle{std::move(half)};
    else half.wait();  // with "all" the error is thrown here
  });
}

/// One section of dense memory.
penstock_part dense(const penstock_range* section, const void* data) {
  penstock_part part{};
  part.section = section;
  part.data = const_cast<void*>(data);  // a write does not modify it
  return part;
}

}  // namespace

int penstock_write(penstock_file* file, const penstock_range* section, const void* data) {
  const penstock_part part = dense(section, data);
  return penstock_write_parts(file, 1, &part, nullptr);
}

int penstock_read(penstock_file* file, const penstock_range* section, void* data) {
  const penstock_part part = dense(section, data);
  return penstock_read_parts(file, 1, &part, nullptr);
}

int penstock_write_parts(penstock_file* file, int count, const penstock_part* parts,
                         const char* hints) {
  return transfer<WriteView>(file, {count, parts, hints});
}

int penstock_read_parts(penstock_file* file, int count, const penstock_part* parts,
                        const char* hints) {
  return transfer<ReadView>(file, {count, parts, hints});
}

int penstock_append(penstock_file* file, const penstock_range* section, const void* data) {
  const penstock_part part = dense(section, data);
  return penstock_append_parts(file, 1, &part, nullptr);
}

int penstock_append_parts(penstock_file* file, int count, const penstock_part* parts,
                          const char* hints) {
  return guarded([&] {
    ArrayFile& array = given(file, "file").array;
    const CheckedArguments<WriteView> arguments(array, {count, parts, hints, /*in_step=*/true});
    array.append(arguments.parts, arguments.call_hints(), arguments.found());
  });
}

int penstock_write_begin(penstock_file* file, const penstock_range* section, const void* data,
                         const char* background, penstock_handle** handle) {
  const penstock_part part = dense(section, data);
  return penstock_write_parts_begin(file, 1, &part, background, nullptr, handle);
}

int penstock_read_begin(penstock_file* file, const penstock_range* section, void* data,
                        const char* background, penstock_handle** handle) {
  const penstock_part part = dense(section, data);
  return penstock_read_parts_begin(file, 1, &part, background, nullptr, handle);
}

int penstock_write_parts_begin(penstock_file* file, int count, const penstock_part* parts,
                               const char* background, const char* hints,
                               penstock_handle** handle) {
  return begin<WriteView>(file, {count, parts, hints}, background, handle);
}

int penstock_read_parts_begin(penstock_file* file, int count, const penstock_part* parts,
                              const char* background, const char* hints, penstock_handle** handle) {
  return begin<ReadView>(file, {count, parts, hints}, background, handle);
}

int penstock_handle_wait(penstock_handle** handle) {
  return guarded([&] {
    if (given(handle, "the handle's place") == nullptr) return;
    const auto fault = fault_of([&] { (*handle)->begun.wait(); });
    delete *handle;
    *handle = nullptr;
    if (fault) throw Error(*fault);
  });
}

int penstock_handle_test(penstock_handle* handle, int* done) {
  return guarded([&] {
    given(done, "the place for the answer") = handle == nullptr || handle->begun.test() ? 1 : 0;
  });
}

int penstock_handle_copied(penstock_handle* handle, int wait, int* copied) {
  return guarded([&] {
    const bool free = handle == nullptr || handle->begun.copied(wait != 0);
    if (copied != nullptr) *copied = free ? 1 : 0;
  });
}

int penstock_handle_free(penstock_handle** handle) {
  return guarded([&] {
    delete given(handle, "the handle's place");
    *handle = nullptr;
  });
}
