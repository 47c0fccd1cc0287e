// Opening, closing and describing files.
#include <algorithm>

#include "c/guard.hpp"
#include "c/objects.hpp"

using penstock::ArrayFile;
using penstock::ArraySpec;
using penstock::ChunkSpec;
using penstock::Error;
using penstock::ErrorClass;
using penstock::Hints;
using penstock::Mode;
using penstock::c::fault_of;
using penstock::c::given;
using penstock::c::guarded;
using penstock::c::text_or;

penstock_file::penstock_file(ArrayFile opened)
    : array(std::move(opened)),
      order(to_string(array.spec().order.value_or(penstock::Order::c))),
      container(to_string(array.spec().container)),
      chunk_spec(array.spec().chunks) {
  std::ranges::copy(chunk_spec.chunks, chunks.chunks);
  std::ranges::copy(chunk_spec.shards, chunks.shards);
  if (!chunk_spec.fill_value.empty()) chunks.fill_value = chunk_spec.fill_value.data();
  for (const std::string& name : chunk_spec.dimension_names)
    dimension_names.push_back(name.empty() ? nullptr : name.c_str());
  if (!dimension_names.empty()) chunks.dimension_names = dimension_names.data();
}

namespace {

/// The arguments of an open, as library types.
struct OpenRequest {
  std::string path;
  Mode mode = Mode::read;
  ArraySpec spec;
  Hints hints;
};

/// The extents before the first 0.
std::vector<std::int64_t> extents_of(const int64_t* extents, int dimensions) {
  if (extents[0] == 0) return {};
  return {extents, extents + dimensions};
}

ChunkSpec chunks_of(const penstock_chunks& given, const ArraySpec& spec) {
  const int dimensions = static_cast<int>(spec.shape.size());
  if (dimensions == 0)
    throw Error(ErrorClass::argument, "chunks need a shape: dimensions is 0 (not given)");
  ChunkSpec chunks;
  chunks.chunks = extents_of(given.chunks, dimensions);
  chunks.shards = extents_of(given.shards, dimensions);
  chunks.compressors = text_or(given.compressors, "");
  chunks.attributes = text_or(given.attributes, "");
  if (given.fill_value != nullptr) {
    const auto* const element = static_cast<const std::byte*>(given.fill_value);
    chunks.fill_value.assign(element, element + spec.element_size);
  }
  for (int d = 0; given.dimension_names != nullptr && d < dimensions; ++d)
    chunks.dimension_names.emplace_back(text_or(given.dimension_names[d], ""));
  return chunks;
}

ArraySpec spec_of(const penstock_array& array) {
  if (array.fault != nullptr) throw Error(ErrorClass::argument, array.fault);
  if (array.dimensions < 0 || array.dimensions > PENSTOCK_MAX_DIMENSIONS)
    throw Error(ErrorClass::argument, "dimensions must be 0 (not given) to 8, but is " +
                                          std::to_string(array.dimensions));
  ArraySpec spec;
  spec.shape.assign(array.shape, array.shape + array.dimensions);
  spec.dtype = text_or(array.dtype, "");
  spec.element_size = array.element_size;
  if (spec.element_size == 0 && !spec.dtype.empty())
    spec.element_size = penstock::element_size_of(spec.dtype);
  if (array.order != nullptr) spec.order = penstock::parse_order(array.order);
  spec.offset = array.offset;
  spec.container = penstock::parse_container(text_or(array.container, "auto"));
  if (array.chunks != nullptr) spec.chunks = chunks_of(*array.chunks, spec);
  return spec;
}

OpenRequest opening_of(const char* path, const char* mode, const penstock_array* array,
                       const char* hints, penstock_file** file) {
  given(file, "the place for the open file");
  given(path, "path");
  given(mode, "mode");
  OpenRequest opening;
  opening.path = path;
  opening.mode = penstock::parse_mode(mode);
  if (array != nullptr) opening.spec = spec_of(*array);
  if (hints != nullptr) opening.hints.set(penstock::split_hints(hints));
  return opening;
}

penstock_file& given_file(penstock_file** file) {
  return given(given(file, "the file's place"), "file");
}

void free_file(penstock_file** file) {
  delete *file;
  *file = nullptr;
}

}  // namespace

int penstock_open(MPI_Comm comm, const char* path, const char* mode, const penstock_array* array,
                  const char* hints, penstock_file** file) {
  if (file != nullptr) *file = nullptr;
  return guarded([&] {
    OpenRequest opening;
    const auto fault = fault_of([&] { opening = opening_of(path, mode, array, hints, file); });
    *file = new penstock_file(ArrayFile::open(comm, opening.path, opening.mode, opening.spec,
                                              opening.hints, fault ? &*fault : nullptr));
  });
}

int penstock_open_alone(const char* path, const char* mode, const penstock_array* array,
                        const char* hints, penstock_file** file) {
  if (file != nullptr) *file = nullptr;
  return guarded([&] {
    const OpenRequest opening = opening_of(path, mode, array, hints, file);
    *file =
        new penstock_file(ArrayFile::open(opening.path, opening.mode, opening.spec, opening.hints));
  });
}

int penstock_close(penstock_file** file) {
  return guarded([&] {
    ArrayFile& array = given_file(file).array;
    const auto fault = fault_of([&] { array.close(); });
    if (array.closed()) free_file(file);
    if (fault) throw Error(*fault);
  });
}

int penstock_close_begin(penstock_file** file, penstock_handle** handle) {
  if (handle != nullptr) *handle = nullptr;
  return guarded([&] {
    ArrayFile& array = given_file(file).array;
    given(handle, "the place for the handle");
    *handle = new penstock_handle{array.close_begin()};
    free_file(file);
  });
}

int penstock_abandon(penstock_file** file) {
  return guarded([&] {
    given_file(file).array.abandon();
    free_file(file);
  });
}

int penstock_sync(penstock_file* file) {
  return guarded([&] { given(file, "file").array.sync(); });
}

int penstock_file_size(penstock_file* file, int64_t* bytes) {
  return guarded([&] {
    const std::int64_t size = given(file, "file").array.file_size();
    given(bytes, "the place for the size") = size;
  });
}

int penstock_truncate(penstock_file* file, int64_t bytes) {
  return guarded([&] { given(file, "file").array.truncate(bytes); });
}

int penstock_describe(const penstock_file* file, penstock_array* array) {
  return guarded([&] {
    const ArraySpec& spec = given(file, "file").array.spec();
    penstock_array& description = given(array, "array");
    description = {};
    description.dimensions = static_cast<int>(spec.shape.size());
    std::copy(spec.shape.begin(), spec.shape.end(), description.shape);
    description.dtype = spec.dtype.c_str();
    description.element_size = spec.element_size;
    description.order = file->order.c_str();
    description.offset = spec.offset;
    description.container = file->container.c_str();
    description.chunks = spec.chunks.chunks.empty() ? nullptr : &file->chunks;
  });
}

int penstock_attributes(penstock_file* file, const char** json) {
  return guarded([&] {
    std::string found = given(file, "file").array.attributes();
    given(json, "the place for the attributes");
    file->attributes = std::move(found);
    *json = file->attributes.c_str();
  });
}

int penstock_set_attributes(penstock_file* file, const char* json) {
  return guarded([&] {
    ArrayFile& array = given(file, "file").array;
    const auto fault = fault_of([&] { given(json, "the text of the attributes"); });
    array.set_attributes(text_or(json, ""), fault ? &*fault : nullptr);
  });
}

int penstock_data_offset(const penstock_file* file, int64_t* offset) {
  return guarded(
      [&] { given(offset, "the place for the offset") = given(file, "file").array.data_offset(); });
}

int penstock_hint(const penstock_file* file, const char* name, const char** value) {
  return guarded([&] {
    given(name, "name");
    std::string text = given(file, "file").array.hints().text(std::string_view(name));
    given(value, "the place for the value");
    *value = file->hints.try_emplace(name, std::move(text)).first->second.c_str();
  });
}
