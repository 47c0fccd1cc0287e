#include "array/lower.hpp"

#include <algorithm>
#include <numeric>

#include "base/checked.hpp"

namespace penstock {
namespace {

/// One dimension of a section. The memory of a section has no gaps between its indices, so a place
/// in memory is the number of the index.
struct Step {
  std::int64_t file, memory;  // bytes from one index to the next
};

Sides repeat(const Sides& inner, std::int64_t count, std::int64_t file_step,
             std::int64_t memory_step) {
  return {Nest::repeat(inner.file, count, file_step),
          Nest::repeat(inner.memory, count, memory_step)};
}

Sides lower(const IndexList& indices, const Sides& inner, Step step) {
  std::vector<std::int64_t> order(indices.size());
  std::iota(order.begin(), order.end(), 0);
  if (!std::is_sorted(indices.begin(), indices.end()))
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return indices[static_cast<std::size_t>(a)] < indices[static_cast<std::size_t>(b)];
    });
  std::vector<std::int64_t> file, memory;
  for (const std::int64_t i : order) {
    file.push_back(indices[static_cast<std::size_t>(i)] * step.file);
    memory.push_back(checked_multiply(i, step.memory, "strides of the memory"));
  }
  return {Nest::list(inner.file, std::move(file)), Nest::list(inner.memory, std::move(memory))};
}

/// Whole blocks, then the one that the upper bound cuts. With a single block, stride and block may
/// be arbitrarily large: nothing is multiplied by them.
Sides lower(const Range& range, const Sides& inner, Step step) {
  const std::int64_t count = range.count(), block = range.block;
  const auto at_lower = [&](Sides sides) {
    return Sides{sides.file.moved(range.lower * step.file), std::move(sides.memory)};
  };
  if (count <= block || block == range.stride)
    return at_lower(repeat(inner, count, step.file, step.memory));
  const std::int64_t pitch = range.stride * step.file;
  if (block == 1) return at_lower(repeat(inner, count, pitch, step.memory));
  const std::int64_t blocks = count / block, rest = count % block;
  const std::int64_t memory_pitch = checked_multiply(block, step.memory, "strides of the memory");
  const Sides whole =
      repeat(repeat(inner, block, step.file, step.memory), blocks, pitch, memory_pitch);
  if (rest == 0) return at_lower(whole);
  const Sides cut = repeat(inner, rest, step.file, step.memory);
  const std::int64_t distance = checked_multiply(blocks, memory_pitch, "strides of the memory");
  return at_lower({Nest::sequence({whole.file, cut.file.moved(blocks * pitch)}),
                   Nest::sequence({whole.memory, cut.memory.moved(distance)})});
}

Sides lower_extents(const ArrayLayout& layout, const Section& section, std::int64_t stride) {
  std::vector<std::int64_t> places, lengths;
  std::int64_t elements = 0;
  const std::int64_t size = layout.element_size;
  const auto add = [&](std::int64_t place, std::int64_t count) {
    places.push_back(layout.offset + place);
    lengths.push_back(count * size);
    elements += count;
  };
  for (const ElementExtent& run : section.runs()) {
    if (layout.step == 0) {
      add(run.begin * size, run.end - run.begin);
      continue;
    }
    const std::int64_t in_step = layout.element_count() / layout.shape[layout.dimension_at(0)];
    for (std::int64_t at = run.begin, end = 0; at < run.end; at = end) {
      const std::int64_t number = at / in_step;
      end = std::min(run.end, (number + 1) * in_step);
      add(number * layout.step + (at - number * in_step) * size, end - at);
    }
  }
  return {Nest::table(std::move(places), lengths),
          Nest::repeat(Nest::run(0, layout.element_size), elements, stride)};
}

/// `strides`: null if only the file side is needed.
Sides lower_both(const ArrayLayout& layout, const Section& section,
                 const std::vector<std::int64_t>* strides) {
  if (section.empty()) return {};
  if (section.is_extents())
    return lower_extents(layout, section, strides ? strides->at(0) : layout.element_size);
  const std::vector<std::int64_t> pitches = layout.pitches();
  const Nest element = Nest::run(0, layout.element_size);
  Sides sides{element.moved(layout.offset), element};
  for (std::size_t place = layout.shape.size(); place-- > 0;) {  // the fastest first
    const std::size_t d = layout.dimension_at(place);
    const Step step{pitches[d], strides ? (*strides)[d] : 0};
    sides = std::visit([&](const auto& indices) { return lower(indices, sides, step); },
                       section.dimensions()[d]);
  }
  return sides;
}

}  // namespace

FilePattern lower(const ArrayLayout& layout, const Section& section) {
  return FilePattern(lower_both(layout, section, nullptr).file);
}

Footprint lower(const ArrayLayout& layout, std::span<const Section> sections) {
  std::vector<FilePattern> parts;
  for (const Section& section : sections) parts.push_back(lower(layout, section));
  return Footprint(std::move(parts));
}

Lowered lower(const ArrayLayout& layout, const Section& section, std::byte* base,
              const std::vector<std::int64_t>& strides) {
  Sides sides = lower_both(layout, section, &strides);
  return {FilePattern(std::move(sides.file)), {base, std::move(sides.memory)}};
}

}  // namespace penstock
