#include "formats/dataset.hpp"

#include "file/words.hpp"
#include "plan/hint_table.hpp"

namespace penstock {
namespace {

/// Strides of memory that must hold the section, which has this shape.
std::vector<std::int64_t> strides_of_dense(Order order, const Section& section,
                                           const std::vector<std::int64_t>& shape,
                                           std::int64_t element_size, std::size_t size_bytes) {
  const std::int64_t needed = section.element_count() * element_size;
  if (static_cast<std::int64_t>(size_bytes) < needed)
    throw Error(ErrorClass::argument, "buffer is too small: it has " + std::to_string(size_bytes) +
                                          " bytes, the section needs " + std::to_string(needed));
  return dense_strides(shape, element_size, order);
}

}  // namespace

template <class View>
std::vector<std::int64_t> memory_strides(const Dataset& dataset, const Part<View>& part,
                                         std::int64_t element_size) {
  const std::vector<std::int64_t> shape = part.section.shape();
  const auto& memory = part.memory;
  if (memory.data == nullptr) throw Error(ErrorClass::argument, "buffer: no memory was given");
  if (memory.element_size != 0 && memory.element_size != element_size)
    throw Error(ErrorClass::argument, "buffer has elements of " +
                                          std::to_string(memory.element_size) +
                                          " bytes, the file of " + std::to_string(element_size));
  if (!memory.shape.empty() && memory.shape != shape)
    throw Error(ErrorClass::argument, "buffer has shape " + text_of(memory.shape) +
                                          ", the section " + part.section.to_string() +
                                          " has shape " + text_of(shape));
  if (memory.strides.empty())
    return strides_of_dense(dataset.order(), part.section, shape, element_size, memory.size_bytes);
  if (memory.strides.size() != shape.size())
    throw Error(ErrorClass::argument, "buffer has " + std::to_string(memory.strides.size()) +
                                          " strides for " + std::to_string(shape.size()) +
                                          " dimensions");
  return memory.strides;
}

template std::vector<std::int64_t> memory_strides(const Dataset&, const Part<ReadView>&,
                                                  std::int64_t);
template std::vector<std::int64_t> memory_strides(const Dataset&, const Part<WriteView>&,
                                                  std::int64_t);

ArrayLayout layout_of(const ArrayPlace& place) {
  return {place.shape, place.element_size, Order::c, place.offset};
}

void ContiguousDataset::lower(const Section& section, std::byte* base,
                              const std::vector<std::int64_t>& strides,
                              std::vector<FilePattern>& file,
                              std::vector<MemoryMap>& memory) const {
  Lowered part = penstock::lower(layout_, section, base, strides);
  file.push_back(std::move(part.file));
  memory.push_back(std::move(part.memory));
}

namespace {

template <class View>
void lower_into(const Dataset& dataset, const Part<View>& part, std::vector<FilePattern>& file,
                std::vector<MemoryMap>& memory) {
  part.section.check(dataset.shape());
  if (part.section.empty()) return;
  // A write never stores through this pointer; one Access serves both directions.
  auto* const base = const_cast<std::byte*>(part.memory.data);
  dataset.lower(part.section, base, memory_strides(dataset, part, dataset.element_size()), file,
                memory);
}

}  // namespace

template <class View>
void DatasetCalls::lower_part(const ArrayCall<View>& call, std::size_t number,
                              std::vector<FilePattern>& file,
                              std::vector<MemoryMap>& memory) const {
  const Part<View>& part = call.parts[number];
  if (call.places.empty()) return lower_into(*dataset_, part, file, memory);
  lower_into(ContiguousDataset(layout_of(call.places[number])), part, file, memory);
}

template <class View>
ByteRequest DatasetCalls::request(Direction direction, const ArrayCall<View>& call) const {
  file_.require_open();
  ByteRequest request;
  request.access.direction = direction;
  request.access.region = region_;
  request.access.keeps = call.keeps;
  request.error = attempt([&] {
    if (call.found != nullptr) throw Error(*call.found);
    if (direction == Direction::write && !file_.writable())
      throw Error(ErrorClass::state,
                  "'" + file_.path() + "' was opened for reading only; open it with r+ or w");
    if (call.hints != nullptr) request.hints = hints_of_call(*call.hints, file_.hints());
    std::vector<FilePattern> file;
    for (std::size_t i = 0; i < call.parts.size(); ++i) {
      try {
        lower_part(call, i, file, request.access.memory);
      } catch (const Error& error) {
        if (call.parts.size() == 1) throw;
        throw Error(error.error_class(), "part " + std::to_string(i) + ": " + error.what());
      }
    }
    if (!call.places.empty()) join_ascending(file, request.access.memory);
    request.access.file = Footprint(std::move(file));
  });
  return request;
}

void DatasetCalls::transfer(ByteRequest request) {
  const CallGate::Pass pass = file_.admit();
  const auto done = file_.transfer(std::move(request));
  last_method_ = done->plan().method;
}

template <class View>
void DatasetCalls::transfer(Direction direction, const ArrayCall<View>& call) {
  const CallGate::Pass pass = file_.admit();
  transfer(request(direction, call));
}

template <class View>
std::shared_ptr<ByteFile::Begun> DatasetCalls::begin(Direction direction,
                                                     std::optional<Background> background,
                                                     const ArrayCall<View>& call) {
  const CallGate::Pass pass = file_.admit();
  if (!background)
    file_.refuse_begin(call.found != nullptr ? *call.found
                                             : Error(ErrorClass::argument, "background is none"));
  auto begun = file_.begin(request(direction, call), *background);
  if (background != Background::all) last_method_ = begun->plan().method;
  return begun;
}

template void DatasetCalls::transfer(Direction, const ArrayCall<ReadView>&);
template void DatasetCalls::transfer(Direction, const ArrayCall<WriteView>&);
template std::shared_ptr<ByteFile::Begun> DatasetCalls::begin(Direction, std::optional<Background>,
                                                              const ArrayCall<ReadView>&);
template std::shared_ptr<ByteFile::Begun> DatasetCalls::begin(Direction, std::optional<Background>,
                                                              const ArrayCall<WriteView>&);

}  // namespace penstock
