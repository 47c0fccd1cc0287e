#include "formats/fields/field_state.hpp"
#include "formats/handle_state.hpp"

namespace penstock {
namespace {

[[noreturn]] void refuse_types(const FieldSpec& field, const std::string& memory, bool reading) {
  throw Error(ErrorClass::argument,
              reading ? "field '" + field.name + "' has elements of " + field.dtype +
                            ", which memory of " + memory +
                            " cannot hold without losing more than digits; read them as " +
                            field.dtype + " and convert them"
                      : "memory has elements of " + memory + ", which field '" + field.name +
                            "' of " + field.dtype +
                            " cannot hold without losing more than digits; convert them first, "
                            "or give the field dtype '" +
                            memory + "'");
}

}  // namespace

template <class View>
void FieldMemory<View>::deliver() const {
  if constexpr (std::is_same_v<View, ReadView>)
    for (const Converted& one : converted)
      convert(one.users.section.shape(), {one.elements.get(), one.field_strides, field},
              {one.users.memory.data, one.strides, memory});
}

Field::State::State(std::shared_ptr<FieldsFile::Impl> file, const FieldSpec& spec)
    : file_(std::move(file)),
      spec_(spec),
      dataset_(file_->layout(spec)),
      calls_(file_->bytes(), dataset_,
             std::make_shared<const Region>(spec.name, file_->layout(spec).units())) {}

const FieldSpec& Field::State::spec() const {
  if (fault_) throw Error(*fault_);
  return spec_;
}
const Dataset& Field::State::dataset() const {
  if (fault_) throw Error(*fault_);
  return dataset_;
}

/// Its elements in the field's type, in memory owned by `memory`.
template <class View>
void Field::State::add_converted(FieldMemory<View>& memory, const Part<View>& part) const {
  part.section.check(dataset_.shape());
  if (part.section.empty()) return;
  const std::int64_t size = dataset_.element_size();
  const std::int64_t bytes = part.section.element_count() * size;
  typename FieldMemory<View>::Converted one{
      part, memory_strides(dataset_, part, memory.memory.size),
      dense_strides(part.section.shape(), size, dataset_.order()),
      std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes))};
  if constexpr (std::is_same_v<View, WriteView>)
    if (!convert(part.section.shape(), {part.memory.data, one.strides, memory.memory},
                 {one.elements.get(), one.field_strides, memory.field}))
      throw Error(ErrorClass::argument, "memory has a number that is too large for field '" +
                                            spec_.name + "' of " + spec_.dtype);
  View dense;
  dense.data = one.elements.get();
  dense.size_bytes = static_cast<std::size_t>(bytes);
  memory.parts.push_back({part.section, dense});
  memory.converted.push_back(std::move(one));
}

template <class View>
FieldMemory<View> Field::State::prepare(const FieldCall<View>& call) const {
  constexpr bool reading = std::is_same_v<View, ReadView>;
  if (fault_) throw Error(*fault_);
  if (call.found != nullptr) throw Error(*call.found);
  FieldMemory<View> memory;
  const std::string own = with_byte_order(call.dtype);
  if (own.empty() || own == spec_.dtype) {
    memory.parts.assign(call.parts.begin(), call.parts.end());
    return memory;
  }
  if (!(reading ? converts(spec_.dtype, own) : converts(own, spec_.dtype)))
    refuse_types(spec_, own, reading);
  memory.memory = *element_kind(own);
  memory.field = *element_kind(spec_.dtype);
  for (const Part<View>& part : call.parts) add_converted(memory, part);
  return memory;
}

template <class View>
void Field::State::transfer(Direction direction, const FieldCall<View>& call) {
  FieldMemory<View> memory;
  const std::optional<Error> found = attempt([&] { memory = prepare(call); });
  calls_.transfer(direction, ArrayCall<View>{memory.parts, call.hints, found ? &*found : nullptr});
  memory.deliver();
}

template <class View>
Handle Field::State::begin(Direction direction, std::optional<Background> background,
                           const FieldCall<View>& call) {
  const auto memory = std::make_shared<FieldMemory<View>>();
  const std::optional<Error> found = attempt([&] { *memory = prepare(call); });
  memory->keeps = call.keeps;
  auto begun =
      calls_.begin(direction, background,
                   ArrayCall<View>{memory->parts, call.hints, found ? &*found : nullptr, memory});
  if (memory->converted.empty()) return handle_of(file_, file_->bytes(), std::move(begun));
  return handle_of(file_, file_->bytes(), std::move(begun), [memory] { memory->deliver(); });
}

const FieldSpec& Field::spec() const {
  return state_->spec();
}
std::int64_t Field::element_size() const {
  return state_->dataset().element_size();
}
std::int64_t Field::data_offset() const {
  return *state_->spec().offset;
}
std::int64_t Field::end_offset() const {
  const FieldSpec& field = state_->spec();
  std::int64_t bytes = element_size();
  for (const std::int64_t extent : field.shape) bytes *= extent;
  return *field.offset + bytes;
}
const Hints& Field::hints() const {
  return state_->hints();
}
Method Field::last_method() const {
  return state_->last_method();
}

void Field::write(std::span<const Part<WriteView>> parts, const std::string& memory_dtype,
                  const Hints* hints, const Error* found) {
  state_->transfer(Direction::write, FieldCall<WriteView>{parts, memory_dtype, hints, found});
}
void Field::read(std::span<const Part<ReadView>> parts, const std::string& memory_dtype,
                 const Hints* hints, const Error* found) {
  state_->transfer(Direction::read, FieldCall<ReadView>{parts, memory_dtype, hints, found});
}
Handle Field::write_begin(std::span<const Part<WriteView>> parts, const std::string& memory_dtype,
                          std::optional<Background> background, const Hints* hints,
                          const Error* found, std::shared_ptr<const void> keeps) {
  const FieldCall<WriteView> call{parts, memory_dtype, hints, found, std::move(keeps)};
  return state_->begin(Direction::write, background, call);
}
Handle Field::read_begin(std::span<const Part<ReadView>> parts, const std::string& memory_dtype,
                         std::optional<Background> background, const Hints* hints,
                         const Error* found, std::shared_ptr<const void> keeps) {
  const FieldCall<ReadView> call{parts, memory_dtype, hints, found, std::move(keeps)};
  return state_->begin(Direction::read, background, call);
}

}  // namespace penstock
