#include "model_request.hpp"

#include "plan/hint_table.hpp"

namespace {

std::vector<std::int64_t> indices_of(const ps::Indices& indices) {
  if (const auto* list = std::get_if<ps::IndexList>(&indices)) return *list;
  const ps::Range range = std::get<ps::Range>(indices);
  std::vector<std::int64_t> all;
  for (auto i = range.lower; i < range.upper; ++i)
    if ((i - range.lower) % range.stride < range.block) all.push_back(i);
  return all;
}

/// In the section's C order.
std::vector<std::int64_t> places_in(const ModelArray& array, const ps::Section& section) {
  std::vector<std::int64_t> places;
  if (section.is_extents()) {
    for (const auto& run : section.runs())
      for (auto i = run.begin; i < run.end; ++i) places.push_back(i * array.element_size);
    return places;
  }
  if (section.empty()) return places;
  const std::size_t dimensions = array.shape.size();
  std::vector<std::int64_t> pitch(dimensions);
  std::int64_t step = array.element_size;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t d = array.order == ps::Order::c ? dimensions - 1 - i : i;
    pitch[d] = step;
    step *= array.shape[d];
  }
  places.push_back(0);
  for (std::size_t d = 0; d < dimensions; ++d) {
    const std::vector<std::int64_t> indices = indices_of(section.dimensions()[d]);
    std::vector<std::int64_t> grown;
    for (const auto place : places)
      for (const auto i : indices) grown.push_back(place + i * pitch[d]);
    places = std::move(grown);
  }
  return places;
}

template <class View>
std::vector<ps::Part<View>> parts_of(const ModelRequest& request, Memories& memories) {
  std::vector<ps::Part<View>> parts;
  for (std::size_t p = 0; p < memories.size(); ++p)
    parts.push_back(
        {request.sections[p], {memories[p].data(), memories[p].shape, memories[p].strides, 0, 0}});
  return parts;
}

template <class View>
std::shared_ptr<ps::InFlight::Begun> carry_out_sections(ps::ArrayFile::Impl& file,
                                                        ps::Direction direction,
                                                        const ModelRequest& request,
                                                        Memories& memories, const ps::Hints& hints,
                                                        std::optional<ps::Background> background) {
  const auto parts = parts_of<View>(request, memories);
  const ps::ArrayCall<View> call{parts, &hints};
  if (background) return file.calls().begin(direction, *background, call);
  file.calls().transfer(direction, call);
  return nullptr;
}

/// `start`: file offset of the array.
ps::Access access_of(ps::Direction direction, const ModelRequest& request, Memories& memories,
                     std::int64_t start) {
  ps::Access access;
  access.direction = direction;
  std::vector<ps::FilePattern> file;
  for (std::size_t p = 0; p < memories.size(); ++p) {
    const ps::Nest& nest = request.patterns[p].nest;
    if (nest.empty()) continue;
    file.emplace_back(nest.moved(start));
    access.memory.emplace_back(memories[p].data(), memories[p].nest);
  }
  access.file = ps::Footprint(std::move(file));
  return access;
}

/// The first runs.
std::string text_of(const ps::test::Drawn& drawn) {
  std::string text = std::to_string(drawn.places.size()) + " bytes:";
  ps::NestCursor cursor(drawn.nest, 0, drawn.nest.size());
  ps::Strided s;
  for (int i = 0; i < 12 && cursor.next(s); ++i)
    text += " " + std::to_string(s.count) + "x[" + std::to_string(s.place) + ", +" +
            std::to_string(s.run) + ") by " + std::to_string(s.step);
  return text;
}

}  // namespace

std::vector<std::int64_t> ModelRequest::places(const ModelArray& array, std::size_t part) const {
  return patterns.empty() ? places_in(array, sections[part]) : patterns[part].places;
}

std::string ModelRequest::text(std::size_t part) const {
  return patterns.empty() ? sections[part].to_string() : text_of(patterns[part]);
}

Requests requests_of(const ps::test::RankPatterns& patterns) {
  Requests requests;
  for (const auto& of_rank : patterns) requests.push_back({{}, of_rank});
  return requests;
}

Memory::Memory(const ps::Section& section, std::int64_t element_size)
    : shape(section.shape()), strides(shape.size()) {
  std::int64_t step = element_size;
  for (std::size_t d = shape.size(); d-- > 0; step *= shape[d]) strides[d] = step;
  bytes.assign(static_cast<std::size_t>(step + 48), untouched);
  find_places();
}

Memory::Memory(Random& r, const ps::Section& section, std::int64_t element_size)
    : shape(section.shape()) {
  std::vector<std::size_t> order(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), r.engine);
  strides.resize(shape.size());
  std::int64_t step = element_size, low = 0;
  for (const std::size_t d : order) {
    if (r.chance(30)) step += r.in(0, 3) * element_size + (r.chance(20) ? 1 : 0);
    strides[d] = step;
    const std::int64_t reach = step * std::max<std::int64_t>(1, shape[d]);
    if (r.chance(20)) {
      strides[d] = -step;
      low += step * std::max<std::int64_t>(0, shape[d] - 1);
    }
    step = reach;
  }
  first = low + 16;
  bytes.assign(static_cast<std::size_t>(step + 48 + element_size), untouched);
  find_places();
}

Memory::Memory(Random& r, const ps::test::Drawn& pattern) {
  ps::test::Drawn drawn = ps::test::draw_memory(r, std::ssize(pattern.places));
  bytes.assign(static_cast<std::size_t>(drawn.nest.hull().end + 48), untouched);
  nest = std::move(drawn.nest);
  for (const std::int64_t place : drawn.places) places.push_back(first + place);
}

void Memory::find_places() {
  std::int64_t total = 1;
  for (const auto n : shape) total *= n;
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::int64_t k = 0; k < total; ++k) {
    std::int64_t at = first;
    for (std::size_t d = 0; d < shape.size(); ++d) at += index[d] * strides[d];
    places.push_back(at);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

Memories draw_memories(Random& r, const ModelRequest& request, std::int64_t element_size) {
  Memories memories;
  for (const auto& section : request.sections) memories.emplace_back(r, section, element_size);
  for (const auto& pattern : request.patterns) memories.emplace_back(r, pattern);
  return memories;
}

Memories dense_memories(const ModelRequest& request, std::int64_t element_size) {
  Memories memories;
  for (const auto& section : request.sections) memories.emplace_back(section, element_size);
  return memories;
}

std::shared_ptr<ps::InFlight::Begun> carry_out(ps::ArrayFile::Impl& file, ps::Direction direction,
                                               const ModelRequest& request, Memories& memories,
                                               const ps::Hints& hints,
                                               std::optional<ps::Background> background) {
  if (!request.patterns.empty()) {
    ps::Access access = access_of(direction, request, memories, file.data_offset());
    ps::ByteRequest bytes{std::move(access), std::nullopt,
                          ps::hints_of_call(hints, file.bytes().hints())};
    if (background) return file.bytes().begin(std::move(bytes), *background);
    file.bytes().transfer(std::move(bytes));
    return nullptr;
  }
  const auto carry_out_of = direction == ps::Direction::write ? &carry_out_sections<ps::WriteView>
                                                              : &carry_out_sections<ps::ReadView>;
  return carry_out_of(file, direction, request, memories, hints, background);
}
