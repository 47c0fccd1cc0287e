// What a program asks of an array, brought into bytes.
#include "container/array_impl.hpp"
#include "file/words.hpp"
#include "plan/hint_table.hpp"

namespace penstock {

ArrayFile::Impl::Impl(BackgroundIo& background, Communicator comm,
                      const std::filesystem::path& path, Mode mode, const ArraySpec& spec,
                      const Hints& hints)
    : contents_(path.string(), mode, spec, hints),
      file_(background, std::move(comm), path,
            mode == Mode::read         ? OpenFlag::read
            : mode == Mode::read_write ? OpenFlag::read_write
                                       : OpenFlag::create,
            contents_, hints),
      layout_(contents_.layout()) {}

/// Hints that only `open` takes must not be given to a call: ignoring them would hide the mistake.
void ArrayFile::Impl::refuse_settings_of_the_file(const Hints& call) const {
  const std::string_view changed = changed_setting_of_file(call, file_.hints());
  if (!changed.empty())
    throw Error(ErrorClass::argument, std::string(changed) +
                                          " is a setting of the file and not of a call; pass "
                                          "it in the hints of open");
}

template <class View>
std::vector<std::int64_t> ArrayFile::Impl::strides_of(const Part<View>& part) const {
  const std::vector<std::int64_t> shape = part.section.shape();
  const auto& memory = part.memory;
  if (memory.data == nullptr) throw Error(ErrorClass::argument, "buffer: no memory was given");
  if (memory.element_size != 0 && memory.element_size != layout_.element_size)
    throw Error(ErrorClass::argument,
                "buffer has elements of " + std::to_string(memory.element_size) +
                    " bytes, the file of " + std::to_string(layout_.element_size));
  if (!memory.shape.empty() && memory.shape != shape)
    throw Error(ErrorClass::argument, "buffer has shape " + text_of(memory.shape) +
                                          ", the section " + part.section.to_string() +
                                          " has shape " + text_of(shape));
  if (memory.strides.empty()) {
    const std::int64_t needed = part.section.element_count() * layout_.element_size;
    if (static_cast<std::int64_t>(memory.size_bytes) < needed)
      throw Error(ErrorClass::argument, "buffer is too small: it has " +
                                            std::to_string(memory.size_bytes) +
                                            " bytes, the section needs " + std::to_string(needed));
    return dense_strides(shape, layout_.element_size, layout_.order);
  }
  if (memory.strides.size() != shape.size())
    throw Error(ErrorClass::argument, "buffer has " + std::to_string(memory.strides.size()) +
                                          " strides for " + std::to_string(shape.size()) +
                                          " dimensions");
  return memory.strides;
}

/// Empty where the section has no element.
template <class View>
std::optional<Lowered> ArrayFile::Impl::lower_part(const Part<View>& part, std::size_t index,
                                                   std::size_t count) const {
  try {
    part.section.check(layout_.shape);
    if (part.section.empty()) return std::nullopt;
    // A write never stores through this pointer; one Access serves both directions.
    auto* const memory = const_cast<std::byte*>(part.memory.data);
    return lower(layout_, part.section, memory, strides_of(part));
  } catch (const Error& error) {
    if (count == 1) throw;
    throw Error(error.error_class(), "part " + std::to_string(index) + ": " + error.what());
  }
}

/// What this rank asks for, and what is wrong with it.
template <class View>
Request ArrayFile::Impl::request(std::span<const Part<View>> parts, const Hints* call_hints,
                                 Direction direction, const Error* found) const {
  file_.require_open();
  Request request;
  request.hints = call_hints;
  request.access.direction = direction;
  request.error = attempt([&] {
    if (found != nullptr) throw Error(*found);
    if (direction == Direction::write && !file_.writable())
      throw Error(ErrorClass::state,
                  "'" + file_.path() + "' was opened for reading only; open it with r+ or w");
    if (call_hints != nullptr) refuse_settings_of_the_file(*call_hints);
    std::vector<FilePattern> file;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::optional<Lowered> part = lower_part(parts[i], i, parts.size());
      if (!part) continue;
      file.push_back(std::move(part->file));
      request.access.memory.push_back(std::move(part->memory));
    }
    request.access.file = Footprint(std::move(file));
  });
  return request;
}

template <class View>
void ArrayFile::Impl::transfer(std::span<const Part<View>> parts, const Hints* call_hints,
                               Direction direction, const Error* found) {
  const auto done = file_.transfer(request(parts, call_hints, direction, found));
  last_method_ = done->operation->plan().method;
}

template <class View>
std::shared_ptr<ByteFile::Begun> ArrayFile::Impl::begin(std::span<const Part<View>> parts,
                                                        const Hints* call_hints,
                                                        Direction direction, Background background,
                                                        const Error* found) {
  auto begun = file_.begin(request(parts, call_hints, direction, found), background);
  if (background != Background::all) last_method_ = begun->operation->plan().method;
  return begun;
}

void ArrayFile::Impl::truncate(std::int64_t bytes, const Error* found) {
  file_.truncate(bytes, found != nullptr ? std::optional<Error>(*found) : std::nullopt);
}

std::vector<int> ArrayFile::Impl::aggregator_ranks() const {
  Demand whole;  // how many they are may depend on how much there is to write
  whole.begin = layout_.extent().begin;
  whole.end = layout_.extent().end;
  whole.bytes = layout_.byte_count();
  const Plan plan = make_plan(layout_.units(), whole, file_.hints(), file_.machine());
  std::vector<int> ranks;
  for (std::int64_t a = 0; a < plan.domains.aggregators(); ++a) ranks.push_back(plan.rank_of(a));
  return ranks;
}

template void ArrayFile::Impl::transfer(std::span<const Part<ReadView>>, const Hints*, Direction,
                                        const Error*);
template void ArrayFile::Impl::transfer(std::span<const Part<WriteView>>, const Hints*, Direction,
                                        const Error*);
template std::shared_ptr<ByteFile::Begun> ArrayFile::Impl::begin(std::span<const Part<ReadView>>,
                                                                 const Hints*, Direction,
                                                                 Background, const Error*);
template std::shared_ptr<ByteFile::Begun> ArrayFile::Impl::begin(std::span<const Part<WriteView>>,
                                                                 const Hints*, Direction,
                                                                 Background, const Error*);

}  // namespace penstock
