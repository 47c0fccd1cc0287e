#include "formats/fields/fields_contents.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "file/words.hpp"
#include "formats/anew.hpp"
#include "formats/element_kind.hpp"
#include "mpi/launch.hpp"
#include "plan/plan.hpp"

namespace penstock {
namespace {

std::string described(const FieldSpec& field) {
  return "'" + field.name + "' " + text_of(field.shape) + " " + field.dtype +
         (field.offset ? " at " + std::to_string(*field.offset) : "");
}

std::string range_of(const Extent& extent) {
  return "bytes " + std::to_string(extent.begin) + " to " + std::to_string(extent.end);
}

}  // namespace

std::vector<Common> FieldsContents::common() const {
  std::string fields;
  for (const FieldSpec& field : spec_.fields)
    fields += (fields.empty() ? "" : ", ") + described(field);
  return {{"mode", std::string(to_string(mode_))},
          {"fields", fields},
          {"order", std::string(to_string(spec_.order))},
          {"offset", std::to_string(spec_.offset)}};
}

ArrayLayout FieldsContents::layout(const FieldSpec& field) const {
  return {field.shape, element_size_of(field.dtype), spec_.order, *field.offset};
}

void FieldsContents::check_names() const {
  if (spec_.fields.empty())
    throw Error(ErrorClass::argument, "'" + path_ + "': fields must have at least one");
  std::set<std::string_view> names;
  for (const FieldSpec& field : spec_.fields) {
    if (field.name.empty())
      throw Error(ErrorClass::argument, "'" + path_ + "': a field has no name");
    if (!names.insert(field.name).second)
      throw Error(ErrorClass::argument,
                  "'" + path_ + "': two fields have the name '" + field.name + "'");
  }
}

/// Without an offset, a field begins where the previous one in the list ends.
void FieldsContents::place_fields() {
  std::int64_t end = spec_.offset;
  for (FieldSpec& field : spec_.fields) {
    try {
      field.dtype = with_byte_order(field.dtype);
      if (!field.offset) field.offset = end;
      const ArrayLayout placed = layout(field);
      placed.check();
      end = placed.extent().end;
    } catch (const Error& error) {
      throw Error(ErrorClass::argument,
                  "'" + path_ + "', field '" + field.name + "': " + error.what());
    }
  }
}

void FieldsContents::check_apart() const {
  std::vector<const FieldSpec*> sorted;
  for (const FieldSpec& field : spec_.fields)
    if (!layout(field).extent().empty()) sorted.push_back(&field);
  std::sort(sorted.begin(), sorted.end(),
            [](const FieldSpec* a, const FieldSpec* b) { return *a->offset < *b->offset; });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const Extent before = layout(*sorted[i - 1]).extent(), after = layout(*sorted[i]).extent();
    if (before.end > after.begin)
      throw Error(ErrorClass::argument, "'" + path_ + "': fields '" + sorted[i - 1]->name + "' (" +
                                            range_of(before) + ") and '" + sorted[i]->name + "' (" +
                                            range_of(after) + ") overlap");
  }
}

void FieldsContents::check(const Communicator& comm) {
  if (spec_.offset < 0)
    throw Error(ErrorClass::argument,
                "offset must not be negative, but is " + std::to_string(spec_.offset));
  if (mode_ != Mode::read) refuse_lone_writer(comm, path_);
  check_names();
  place_fields();
  check_apart();
  check_hints(hints_, units().grain, comm.size());
}

FileUnits FieldsContents::units() const {
  FileUnits units{1, {}, {spec_.offset, spec_.offset}};
  bool first = true;
  for (const FieldSpec& field : spec_.fields) {
    const Extent extent = layout(field).extent();
    units.grain = std::max(units.grain, element_size_of(field.dtype));
    units.all = first ? extent
                      : Extent{std::min(units.all.begin, extent.begin),
                               std::max(units.all.end, extent.end)};
    first = false;
  }
  return units;
}

/// The first field that does not fit gives the most useful message.
void FieldsContents::find(Storage& storage) {
  if (makes_anew(mode_)) return;
  const std::int64_t size = checked_size(storage);
  too_short_ = size < units().all.end;
  if (mode_ != Mode::read || !too_short_) return;
  for (const FieldSpec& field : spec_.fields) {
    const Extent extent = layout(field).extent();
    if (extent.end > size)
      throw Error(ErrorClass::format, "'" + path_ + "' is too short for its fields: '" +
                                          field.name + "' of shape " + text_of(field.shape) +
                                          " is " + range_of(extent) + ", the file has " +
                                          std::to_string(size) + " bytes");
  }
}

void FieldsContents::change(Storage& storage) {
  Described bare;
  bare.spec.offset = bare.data_offset = spec_.offset;
  const std::int64_t end = units().all.end;
  if (mode_ == Mode::replace || mode_ == Mode::create_new) fill_new(storage, path_, bare, end);
  else if (mode_ == Mode::create) make_anew(storage, path_, bare, end);
  else extend(storage, path_, bare, end);
}

}  // namespace penstock
