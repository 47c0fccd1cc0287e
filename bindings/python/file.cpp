#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <new>
#include <optional>

#include <penstock/placed_chunks.hpp>
#include <penstock/replacement_place.hpp>

#include "arguments.hpp"
#include "gil.hpp"
#include "module.hpp"

namespace penstock::python {
namespace {

using namespace nb::literals;

template <class View, class Array>
void transfer(Array& file, nb::list arrays, nb::list sections, const Hints* hints,
              const Problem& problem) {
  const PinnedArguments<View> given(arrays, sections, problem);
  const WithoutGil without_gil;
  if constexpr (std::is_same_v<View, ReadView>) file.read(given.parts, hints, given.found());
  else file.write(given.parts, hints, given.found());
}

/// Destroys what may be the last reference to an open file without the interpreter's lock, since
/// that may wait for the device.
template <class Object>
struct Released : Object {
  explicit Released(Object&& object) : Object(std::move(object)) {}
  Released(Released&&) = default;
  ~Released() {
    const WithoutGil without_gil;
    const Object gone(std::move(static_cast<Object&>(*this)));
  }
};

using PythonFile = Released<ArrayFile>;
using PythonFields = Released<FieldsFile>;
using PythonField = Released<Field>;

using Shapes = std::vector<std::vector<std::int64_t>>;

/// The arrays in the file that the parts belong to; their elements have the type of the memory.
std::vector<ArrayPlace> places_of(const Pins& pinned, const Shapes& shapes,
                                  const std::vector<std::int64_t>& offsets) {
  std::vector<ArrayPlace> places;
  for (std::size_t i = 0; i < std::min({pinned.size(), shapes.size(), offsets.size()}); ++i)
    places.push_back({shapes[i], pinned[i].itemsize, offsets[i]});
  return places;
}

template <class View>
void transfer_placed(PythonFile& file, nb::list arrays, nb::list sections, const Shapes& shapes,
                     const std::vector<std::int64_t>& offsets, const Problem& problem) {
  const PinnedArguments<View> given(arrays, sections, problem);
  const std::vector<ArrayPlace> places = places_of(*given.pinned, shapes, offsets);
  const WithoutGil without_gil;
  if constexpr (std::is_same_v<View, ReadView>)
    file.read_placed(places, given.parts, nullptr, given.found());
  else file.write_placed(places, given.parts, nullptr, given.found());
}

/// For a part of an array of that shape.
std::uint32_t checksum_share(nb::handle array, nb::handle section,
                             const std::vector<std::int64_t>& shape) {
  const auto pinned = Pins::make();
  const Py_buffer& memory = pinned->add(array, /*writable=*/false);
  const Part<WriteView> part = part_of<WriteView>(section_of(section, memory), memory);
  const WithoutGil without_gil;
  return crc32c_share({shape, memory.itemsize, 0}, part);
}

void append(PythonFile& file, nb::list arrays, nb::list sections, const Hints* hints,
            const Problem& problem) {
  const PinnedArguments<WriteView> given(arrays, sections, problem);
  const WithoutGil without_gil;
  file.append(given.parts, hints, given.found());
}

/// A handle and the memory that its operation may still use; the operation has a reference, too.
struct PinnedHandle : Released<Handle> {
  PinnedHandle(Handle handle, std::shared_ptr<Pins> pinned)
      : Released(std::move(handle)), pinned(std::move(pinned)) {}
  PinnedHandle(const PinnedHandle&) = delete;

  std::shared_ptr<Pins> pinned;  // null: for a close
};

/// None if the name is unknown: this becomes the error of the call, unless there is another one.
std::optional<Background> background_of(const std::string& name, Problem& problem) {
  try {
    return parse_background(name);
  } catch (const Error& error) {
    if (!problem) problem = {"argument", error.what()};
    return std::nullopt;
  }
}

template <class View, class Array>
PinnedHandle* begin(Array& file, nb::list arrays, nb::list sections, const std::string& background,
                    const Hints* hints, Problem problem) {
  const std::optional<Background> mode = background_of(background, problem);
  PinnedArguments<View> given(arrays, sections, problem);
  const auto begun = [&] {
    const WithoutGil without_gil;
    if constexpr (std::is_same_v<View, ReadView>)
      return file.read_begin(given.parts, mode, hints, given.found(), given.pinned);
    else return file.write_begin(given.parts, mode, hints, given.found(), given.pinned);
  };
  return new PinnedHandle(begun(), given.pinned);
}

/// The members of a ChunkSpec in their order.
using ChunkArguments = std::tuple<std::vector<std::int64_t>, std::vector<std::int64_t>, std::string,
                                  nb::bytes, std::vector<std::string>, std::string>;

ChunkSpec chunk_spec_of(const ChunkArguments& arguments) {
  const auto& [chunks, shards, compressors, fill, names, attributes] = arguments;
  const auto* const begin = reinterpret_cast<const std::byte*>(fill.c_str());
  return {chunks, shards, compressors, {begin, begin + fill.size()}, names, attributes, nullptr};
}

ChunkArguments chunk_arguments_of(const ChunkSpec& spec) {
  const auto& fill = spec.fill_value;
  return {spec.chunks,          spec.shards,
          spec.compressors,     nb::bytes(reinterpret_cast<const char*>(fill.data()), fill.size()),
          spec.dimension_names, spec.attributes};
}

/// Another thread may drop the last reference, without the interpreter's lock.
using Callable = std::shared_ptr<nb::callable>;
Callable kept(nb::callable function) {
  return {new nb::callable(std::move(function)), [](nb::callable* gone) {
            const WithGil with_gil;
            delete gone;
          }};
}

/// The bytes that it returns, empty for None; its exceptions are thrown.
template <class... Arguments>
std::string called(const Callable& function, const Arguments&... arguments) {
  const WithGil with_gil;
  try {
    const nb::object returned = (*function)(arguments...);
    if (returned.is_none()) return {};
    const auto result = nb::cast<nb::bytes>(returned);
    return {result.c_str(), result.size()};
  } catch (const nb::python_error& raised) {
    throw error_of(raised.value());
  }
}

/// Name, level, compressor, shuffle.
using FilterArguments = std::tuple<std::string, int, std::string, int>;
/// Filters, existing chunks and the extent of the slowest dimension; on rank 0, for a file opened
/// for writing, the functions `place` and `publish`.
using PlacedArguments =
    std::tuple<std::vector<FilterArguments>, nb::bytes, std::int64_t, nb::object, nb::object>;
static_assert(sizeof(ChunkPlace) == 4 * sizeof(std::int64_t));

std::shared_ptr<const PlacedChunks> placed_of(const PlacedArguments& arguments) {
  const auto& [filters, places, extent, place, publish] = arguments;
  auto placed = std::make_shared<PlacedChunks>();
  for (const auto& [name, level, compressor, shuffle] : filters)
    placed->filters.push_back({name, level, compressor, shuffle});
  placed->places.resize(places.size() / sizeof(ChunkPlace));
  std::memcpy(placed->places.data(), places.c_str(), places.size());
  placed->extent = extent;
  if (place.is_none()) return placed;
  placed->place = [place = kept(nb::cast<nb::callable>(place))](
                      const std::vector<std::int64_t>& shape, std::vector<ChunkPlace>& chunks) {
    const std::string_view given(reinterpret_cast<const char*>(chunks.data()),
                                 chunks.size() * sizeof(ChunkPlace));
    const WithGil with_gil;
    const std::string result = called(place, shape, nb::bytes(given.data(), given.size()));
    if (result.size() != given.size()) throw Error(ErrorClass::internal, "places of other chunks");
    std::memcpy(chunks.data(), result.data(), result.size());
  };
  placed->publish = [publish = kept(nb::cast<nb::callable>(publish))](
                        const std::vector<std::int64_t>& shape) { called(publish, shape); };
  return placed;
}

/// `parse`: makes the spec from the program's arguments. `problem`: an error found by the package.
template <class File, class Spec>
Released<File>* opened(std::uintptr_t comm_address, const nb::bytes& name, const std::string& mode,
                       const Hints* hints, const std::optional<std::string>& problem,
                       const std::function<Spec()>& parse) {
  const std::string path(name.c_str(), name.size());
  Mode parsed_mode = Mode::read;
  Spec spec;
  const Hints parsed = hints != nullptr ? *hints : Hints();
  std::optional<Error> fault;
  try {
    if (problem) throw Error(ErrorClass::argument, *problem);
    parsed_mode = parse_mode(mode);
    spec = parse();
  } catch (const Error& error) {
    fault = error;
  }
  const Error* const found = fault ? &*fault : nullptr;
  const WithoutGil without_gil;
  if (comm_address == 0)
    return new Released<File>(File::open(path, parsed_mode, spec, parsed, found));
  const MPI_Comm comm = *reinterpret_cast<MPI_Comm*>(comm_address);
  return new Released<File>(File::open(comm, path, parsed_mode, spec, parsed, found));
}

/// `shape`: nothing where the file tells it; empty for a single element.
PythonFile* open_file(std::uintptr_t comm_address, const nb::bytes& name, const std::string& mode,
                      const std::optional<std::vector<std::int64_t>>& shape,
                      const std::string& dtype, std::int64_t element_size, const std::string& order,
                      std::int64_t offset, const std::string& container, const Hints* hints,
                      const ChunkArguments& chunks, const std::optional<PlacedArguments>& placed,
                      const std::optional<std::string>& problem,
                      std::pair<std::int64_t, std::int64_t> records) {
  return opened<ArrayFile, ArraySpec>(comm_address, name, mode, hints, problem, [&] {
    ArraySpec spec;
    spec.is_scalar = shape && shape->empty();
    if (shape) spec.shape = spec.is_scalar ? std::vector<std::int64_t>{1} : *shape;
    spec.element_size = element_size;
    spec.dtype = dtype;
    spec.offset = offset;
    spec.container = parse_container(container);
    spec.chunks = chunk_spec_of(chunks);
    if (placed) spec.chunks.placed = placed_of(*placed);
    spec.records = {records.first, records.second};
    if (!order.empty()) spec.order = parse_order(order);
    return spec;
  });
}

using CommonText = std::vector<std::pair<std::string, std::string>>;

/// A task that rank 0 runs for all, by calling `work`. `problem`: an exception with this rank's
/// error.
struct PythonTask {
  FirstRankTask task;
  std::optional<Error> error;

  PythonTask(const CommonText& common, nb::callable work, bool writes, const nb::object& problem) {
    task.common = common;
    task.writes = writes;
    task.work = [work = kept(std::move(work))] { return called(work); };
    if (!problem.is_none()) error = error_of(problem);
  }
  const Error* found() const { return error ? &*error : nullptr; }
};

nb::bytes bytes_of(const std::string& result) {
  return nb::bytes(result.data(), result.size());
}

/// Before a file is opened.
nb::bytes ask_first_rank(std::uintptr_t comm_address, const nb::bytes& name,
                         const CommonText& common, nb::callable work, bool writes,
                         const nb::object& problem) {
  const std::string path(name.c_str(), name.size());
  const PythonTask task(common, std::move(work), writes, problem);
  std::string result;
  {
    const WithoutGil without_gil;
    result = comm_address == 0
                 ? ArrayFile::on_first_rank(path, task.task, task.found())
                 : ArrayFile::on_first_rank(*reinterpret_cast<MPI_Comm*>(comm_address), path,
                                            task.task, task.found());
  }
  return bytes_of(result);
}

std::string settled_mode_text(std::uintptr_t comm_address, const nb::bytes& name,
                              const std::string& mode) {
  const std::string path(name.c_str(), name.size());
  const WithoutGil without_gil;
  const Mode given = parse_mode(mode);
  const Mode settled = comm_address == 0
                           ? settled_mode(path, given)
                           : settled_mode(*reinterpret_cast<MPI_Comm*>(comm_address), path, given);
  return std::string(to_string(settled));
}

/// A context manager.
struct PythonOpening {
  std::filesystem::path path;
  std::optional<OpeningSteps> steps;
};

/// For the ranks of an open file.
nb::bytes ask_first_rank_of(PythonFile& file, const CommonText& common, nb::callable work,
                            bool writes, const nb::object& problem) {
  const PythonTask task(common, std::move(work), writes, problem);
  std::string result;
  {
    const WithoutGil without_gil;
    result = file.on_first_rank(task.task, task.found());
  }
  return bytes_of(result);
}

/// (name, shape, dtype, offset or None)
using GivenField =
    std::tuple<std::string, std::vector<std::int64_t>, std::string, std::optional<std::int64_t>>;

PythonFields* open_fields(std::uintptr_t comm_address, const nb::bytes& name,
                          const std::string& mode, const std::vector<GivenField>& fields,
                          const std::string& order, std::int64_t offset, const Hints* hints,
                          const std::optional<std::string>& problem) {
  return opened<FieldsFile, FieldsSpec>(comm_address, name, mode, hints, problem, [&] {
    FieldsSpec spec;
    spec.offset = offset;
    for (const auto& [field, shape, dtype, at] : fields)
      spec.fields.push_back({field, shape, dtype, at});
    if (!order.empty()) spec.order = parse_order(order);
    return spec;
  });
}

/// Common methods of an array in a file and a field of one.
template <class Array>
void bind_calls(nb::class_<Array>& bound) {
  bound
      .def("write", &transfer<WriteView, Array>, "arrays"_a, "sections"_a, "hints"_a.none(),
           "problem"_a.none())
      .def("read", &transfer<ReadView, Array>, "arrays"_a, "sections"_a, "hints"_a.none(),
           "problem"_a.none())
      .def("write_begin", &begin<WriteView, Array>, nb::rv_policy::take_ownership, "arrays"_a,
           "sections"_a, "background"_a, "hints"_a.none(), "problem"_a.none())
      .def("read_begin", &begin<ReadView, Array>, nb::rv_policy::take_ownership, "arrays"_a,
           "sections"_a, "background"_a, "hints"_a.none(), "problem"_a.none())
      .def_prop_ro("data_offset", &Array::data_offset)
      .def_prop_ro("end_offset", &Array::end_offset)
      .def_prop_ro(
          "last_method", [](const Array& f) { return to_string(f.last_method()); },
          nb::call_guard<WithoutGil>());
}

/// Common methods of all open files.
template <class File>
void bind_open_file(nb::class_<File>& bound) {
  bound.def("sync", &File::sync, nb::call_guard<WithoutGil>())
      .def("close", &File::close, nb::call_guard<WithoutGil>())
      .def(
          "close_begin",
          [](File& file) {
            const WithoutGil without_gil;
            return new PinnedHandle(file.close_begin(), nullptr);
          },
          nb::rv_policy::take_ownership)
      .def("file_size", &File::file_size, nb::call_guard<WithoutGil>())
      .def("abandon", &File::abandon, nb::call_guard<WithoutGil>())
      .def_prop_ro("closed", &File::closed)
      .def_prop_ro("aggregators", &File::aggregator_ranks, nb::call_guard<WithoutGil>())
      .def_prop_ro("hints", [](const File& f) { return f.hints().text(); })
      .def_prop_ro("statistics", &File::statistics, nb::call_guard<WithoutGil>())
      .def_prop_ro("device", &File::device)
      .def_prop_ro("file_system", [](const File& f) { return facts_of(f.file_system()); })
      .def_prop_ro("last_call", &File::last_call, nb::call_guard<WithoutGil>());
}

void bind_fields(nb::module_& m) {
  m.def("_open_fields", &open_fields, nb::rv_policy::take_ownership, "comm"_a, "path"_a, "mode"_a,
        "fields"_a, "order"_a, "offset"_a, "hints"_a.none(), "problem"_a.none());
  nb::class_<PythonField> field(m, "_Field");
  bind_calls(field);
  nb::class_<PythonFields> file(m, "_FieldsFile");
  bind_open_file(file);
  file.def("field",
           [](const PythonFields& f, const std::string& name) { return PythonField(f[name]); })
      .def_prop_ro("end_offset", &PythonFields::end_offset);
}

}  // namespace

nb::dict facts_of(const FileSystemFacts& facts) {
  nb::dict d;
  d["type"] = facts.type;
  d["block_size"] = facts.block_size;
  d["stripe_size"] = facts.stripe_size;
  d["direct_alignment"] = facts.direct_alignment;
  d["caches_agree"] = facts.caches_agree;
  d["several_caches"] = facts.several_caches;
  d["locks_exclude"] = facts.locks_exclude;
  d["whole_pages"] = facts.whole_pages;
  return d;
}

void bind_file(nb::module_& m) {
  m.def("_open", &open_file, nb::rv_policy::take_ownership, "comm"_a, "path"_a, "mode"_a,
        "shape"_a.none(), "dtype"_a, "element_size"_a, "order"_a, "offset"_a, "container"_a,
        "hints"_a.none(), "chunks"_a, "placed"_a.none(), "problem"_a.none(),
        "records"_a = std::pair(0, 0));
  m.def("_settled_mode", &settled_mode_text, "comm"_a, "path"_a, "mode"_a);
  m.def("_on_first_rank", &ask_first_rank, "comm"_a, "path"_a, "common"_a, "work"_a, "writes"_a,
        "problem"_a.none());
  nb::class_<PythonOpening>(m, "_OpeningSteps")
      .def("__init__",
           [](PythonOpening* self, const nb::bytes& path) {
             new (self) PythonOpening{std::string(path.c_str(), path.size()), std::nullopt};
           })
      .def("__enter__", [](PythonOpening& self) { self.steps.emplace(self.path); })
      .def("__exit__", [](PythonOpening& self, const nb::args&) { self.steps.reset(); });
  m.def("_remove_unfinished", [](const nb::bytes& folder) {
    remove_unfinished(std::filesystem::path(std::string(folder.c_str(), folder.size())));
  });
  nb::class_<ReplacementPlace>(m, "_ReplacementPlace")
      .def("__init__",
           [](ReplacementPlace* self, const nb::bytes& path, bool is_folder) {
             new (self) ReplacementPlace(
                 std::string(path.c_str(), path.size()),
                 is_folder ? ReplacementPlace::Kind::folder : ReplacementPlace::Kind::file);
           })
      .def_prop_ro("path",
                   [](const ReplacementPlace& place) {
                     return nb::bytes(place.path().data(), place.path().size());
                   })
      .def("commit", &ReplacementPlace::commit, nb::call_guard<WithoutGil>());
  m.def("_crc32c_share", &checksum_share, "array"_a, "section"_a, "shape"_a);
  m.def("_crc32c_of_shares", &crc32c_of_shares, "shares"_a, "bytes"_a);
  nb::class_<PinnedHandle>(m, "_Handle")
      .def("copied",
           [](PinnedHandle& h, bool wait) {
             const WithoutGil without_gil;
             return h.copied(wait);
           })
      .def(
          "test", [](PinnedHandle& h) { return h.test(); }, nb::call_guard<WithoutGil>())
      .def("wait", [](PinnedHandle& h) {
        {
          const WithoutGil without_gil;
          h.wait();
        }
        if (h.pinned) h.pinned->release();
      });
  nb::class_<PythonFile> file(m, "_ArrayFile");
  bind_calls(file);
  bind_open_file(file);
  file.def("truncate",
           [](PythonFile& file, std::int64_t bytes, const std::optional<std::string>& problem) {
             const WithoutGil without_gil;
             const Error error(ErrorClass::argument, problem.value_or(""));
             file.truncate(bytes, problem ? &error : nullptr);
           })
      .def("on_first_rank", &ask_first_rank_of, "common"_a, "work"_a, "writes"_a,
           "problem"_a.none())
      .def("check_whole", &PythonFile::check_whole, nb::call_guard<WithoutGil>())
      .def("write_placed", &transfer_placed<WriteView>, "arrays"_a, "sections"_a, "shapes"_a,
           "offsets"_a, "problem"_a.none())
      .def("read_placed", &transfer_placed<ReadView>, "arrays"_a, "sections"_a, "shapes"_a,
           "offsets"_a, "problem"_a.none())
      .def("append", &append, "arrays"_a, "sections"_a, "hints"_a.none(), "problem"_a.none())
      .def("attributes", &PythonFile::attributes, nb::call_guard<WithoutGil>())
      .def(
          "set_attributes",
          [](PythonFile& file, const std::string& json, const std::optional<std::string>& problem) {
            const WithoutGil without_gil;
            const Error error(ErrorClass::argument, problem.value_or(""));
            file.set_attributes(json, problem ? &error : nullptr);
          })
      .def_prop_ro(
          "shape",
          [](const PythonFile& f) {
            const ArraySpec& spec = f.spec();
            return nb::tuple(nb::cast(spec.is_scalar ? std::vector<std::int64_t>() : spec.shape));
          })
      .def_prop_ro("dtype", [](const PythonFile& f) { return f.spec().dtype; })
      .def_prop_ro("element_size", [](const PythonFile& f) { return f.spec().element_size; })
      .def_prop_ro("order",
                   [](const PythonFile& f) { return to_string(f.spec().order.value_or(Order::c)); })
      .def_prop_ro("container", [](const PythonFile& f) { return to_string(f.spec().container); })
      .def_prop_ro("chunks",
                   [](const PythonFile& f) { return chunk_arguments_of(f.spec().chunks); });
  bind_fields(m);
}

}  // namespace penstock::python
