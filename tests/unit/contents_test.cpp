// What all ranks must pass alike when they open a file: each member of the arguments is compared.
#include <gtest/gtest.h>

#include <functional>

#include "formats/array_contents.hpp"
#include "formats/fields/fields_contents.hpp"
#include "member_count.hpp"

namespace penstock {
namespace {

std::string text_of(const std::vector<Common>& common) {
  std::string text;
  for (const Common& one : common) text += one.name + "=" + one.value + ";";
  return text;
}

template <class Spec>
using Change = std::function<void(Spec&)>;

// `placed` is for files of another library, whose ranks compare what that library found.
static_assert(has_members<ArraySpec, 9> && has_members<ChunkSpec, 7>);
static_assert(has_members<Records, 2>);
const std::vector<Change<ArraySpec>> changes{
    [](ArraySpec& spec) { spec.shape[1] = 9; },
    [](ArraySpec& spec) { spec.shape.push_back(1); },
    [](ArraySpec& spec) { spec.element_size = 2; },
    [](ArraySpec& spec) { spec.dtype = "<u4"; },
    [](ArraySpec& spec) { spec.order = Order::fortran; },
    [](ArraySpec& spec) { spec.order = Order::c; },  // given, though it is the default
    [](ArraySpec& spec) { spec.offset = 8; },
    [](ArraySpec& spec) { spec.records.step = 8; },
    [](ArraySpec& spec) { spec.records.count = 2; },
    [](ArraySpec& spec) { spec.container = Container::raw; },
    [](ArraySpec& spec) { spec.is_scalar = true; },
};
const std::vector<Change<ArraySpec>> chunk_changes{
    [](ArraySpec& spec) {
      spec.chunks.chunks = {2, 1};
    },
    [](ArraySpec& spec) {
      spec.chunks.shards = {4, 6};
    },
    [](ArraySpec& spec) { spec.chunks.compressors = "gzip"; },
    [](ArraySpec& spec) {
      spec.chunks.fill_value = {std::byte{1}, {}, {}, {}};
    },
    [](ArraySpec& spec) {
      spec.chunks.dimension_names = {"y", "x"};
    },
    [](ArraySpec& spec) { spec.chunks.attributes = "{\"a\": 1}"; },
};

ArraySpec array_spec() {
  ArraySpec spec;
  spec.shape = {4, 6};
  spec.element_size = 4;
  spec.dtype = "<i4";
  return spec;
}

std::string common_of(const std::string& path, Mode mode, const ArraySpec& spec) {
  return text_of(contents_of(path, mode, spec, {})->common());
}

TEST(Contents, OfArraysAreComparedMemberByMember) {
  for (const char* path : {"a.npy", "a.zarr"}) {
    const std::string alike = common_of(path, Mode::create, array_spec());
    EXPECT_EQ(common_of(path, Mode::create, array_spec()), alike);
    for (const Mode mode : {Mode::read, Mode::read_write, Mode::replace})
      EXPECT_NE(common_of(path, mode, array_spec()), alike);
    auto all = changes;
    if (path == std::string("a.zarr"))
      all.insert(all.end(), chunk_changes.begin(), chunk_changes.end());
    for (std::size_t i = 0; i < all.size(); ++i) {
      ArraySpec other = array_spec();
      all[i](other);
      EXPECT_NE(common_of(path, Mode::create, other), alike) << path << ", change " << i;
    }
  }
}

static_assert(has_members<FieldsSpec, 3> && has_members<FieldSpec, 4>);
const std::vector<Change<FieldsSpec>> field_changes{
    [](FieldsSpec& spec) { spec.order = Order::fortran; },
    [](FieldsSpec& spec) { spec.offset = 8; },
    [](FieldsSpec& spec) { spec.fields.pop_back(); },
    [](FieldsSpec& spec) { std::swap(spec.fields[0], spec.fields[1]); },
    [](FieldsSpec& spec) { spec.fields[1].name = "c"; },
    [](FieldsSpec& spec) { spec.fields[1].shape = {6}; },
    [](FieldsSpec& spec) { spec.fields[1].dtype = ">f8"; },
    [](FieldsSpec& spec) { spec.fields[1].offset = 100; },
};

TEST(Contents, OfFieldsAreComparedMemberByMember) {
  const FieldsSpec spec{{{"a", {3}, "<i4", {}}, {"b", {5}, "<f8", {}}}, Order::c, 0};
  const auto common_of = [](Mode mode, const FieldsSpec& fields) {
    return text_of(FieldsContents("f", mode, fields, {}).common());
  };
  const std::string alike = common_of(Mode::create, spec);
  EXPECT_NE(common_of(Mode::read, spec), alike);
  for (std::size_t i = 0; i < field_changes.size(); ++i) {
    FieldsSpec other = spec;
    field_changes[i](other);
    EXPECT_NE(common_of(Mode::create, other), alike) << "change " << i;
  }
}

/// Fields have one buffer, which holds an element of each.
TEST(Contents, OfFieldsHaveTheGrainOfTheLargestElement) {
  for (const char* dtype : {"|i1", "<f8"}) {
    const char* const other = dtype[0] == '|' ? "<f8" : "|i1";
    const FieldsSpec spec{{{"a", {3}, dtype, 0}, {"b", {5}, other, 100}}, Order::c, 0};
    EXPECT_EQ(FieldsContents("f", Mode::create, spec, {}).units().grain, 8) << dtype;
  }
}

}  // namespace
}  // namespace penstock
