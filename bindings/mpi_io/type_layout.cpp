#include "mpi_io/type_layout.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/checked.hpp"

namespace penstock {
namespace {

constexpr const char* count_words = "count of a datatype";

TypeLayout copies(const TypeLayout& child, std::int64_t count) {
  return repeat(child, count, child.extent());
}

void join_into(std::optional<Bounds>& all, const std::optional<Bounds>& more) {
  if (!more) return;
  all = all ? joined(*all, *more) : *more;
}

/// Empty blocks are not in the type map.
void drop_empty(std::vector<std::int64_t>& lengths, std::vector<std::int64_t>& places) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] <= 0) continue;
    lengths[kept] = lengths[i];
    places[kept++] = places[i];
  }
  lengths.resize(kept);
  places.resize(kept);
}

/// Each block has a nest of its length; blocks of the same length share it.
Nest blocks_one_by_one(const TypeLayout& child, const std::vector<std::int64_t>& lengths,
                       const std::vector<std::int64_t>& places) {
  std::map<std::int64_t, Nest> of_length;
  std::vector<Nest> parts;
  parts.reserve(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    Nest& block = of_length[lengths[i]];
    if (block.empty()) block = Nest::repeat(child.nest, lengths[i], child.extent());
    parts.push_back(block.moved(places[i]));
  }
  return Nest::sequence(std::move(parts));
}

/// Blocks of a type without gaps are runs.
Nest blocks_of_runs(const TypeLayout& child, std::vector<std::int64_t> lengths,
                    std::vector<std::int64_t> places) {
  for (std::int64_t& length : lengths) length = checked_multiply(length, child.size(), count_words);
  return Nest::table(std::move(places), lengths).moved(child.nest.place());
}

/// For a cyclic distribution: whole blocks, and the last one of the array if it is shorter.
TypeLayout cyclic(const TypeLayout& child, const ArrayDimension& d, std::int64_t step) {
  const std::int64_t all = d.size / d.block + (d.size % d.block > 0 ? 1 : 0);
  if (d.part >= all) return {};
  const std::int64_t mine = (all - 1 - d.part) / d.of + 1, last = d.part + (mine - 1) * d.of;
  const std::int64_t tail = last == all - 1 ? d.size % d.block : 0;
  const std::int64_t block_step = checked_multiply(d.block, step, place_words);
  const auto place = [&](std::int64_t block) {
    return checked_multiply(block, block_step, place_words);
  };
  std::vector<TypeLayout> parts;
  parts.push_back(repeat(repeat(child, d.block, step), mine - (tail > 0 ? 1 : 0), place(d.of))
                      .moved(place(d.part)));
  parts.push_back(repeat(child, tail, step).moved(place(last)));
  return joined(parts);
}

}  // namespace

Bounds Bounds::moved(std::int64_t distance) const {
  return {checked_add(lower, distance, place_words), checked_add(upper, distance, place_words),
          lower_marked, upper_marked};
}

Bounds joined(const Bounds& a, const Bounds& b) noexcept {
  Bounds all = a;
  if (a.lower_marked == b.lower_marked) all.lower = std::min(a.lower, b.lower);
  else all.lower = a.lower_marked ? a.lower : b.lower;
  if (a.upper_marked == b.upper_marked) all.upper = std::max(a.upper, b.upper);
  else all.upper = a.upper_marked ? a.upper : b.upper;
  all.lower_marked = a.lower_marked || b.lower_marked;
  all.upper_marked = a.upper_marked || b.upper_marked;
  return all;
}

TypeLayout TypeLayout::moved(std::int64_t distance) const {
  TypeLayout result{nest.moved(distance), bounds, elements};
  if (bounds) result.bounds = bounds->moved(distance);
  return result;
}

TypeLayout basic_layout(BasicType type, std::int64_t size) {
  return {Nest::run(0, size), Bounds{0, size}, Elements::of(type)};
}

TypeLayout repeat(const TypeLayout& child, std::int64_t count, std::int64_t step) {
  if (count <= 0) return {};
  TypeLayout result{Nest::repeat(child.nest, count, step), child.bounds,
                    Elements::repeat(child.elements, count)};
  if (child.bounds)
    result.bounds =
        joined(*child.bounds, child.bounds->moved(checked_multiply(count - 1, step, place_words)));
  return result;
}

TypeLayout blocks(const TypeLayout& child, std::vector<std::int64_t> lengths,
                  std::vector<std::int64_t> places) {
  drop_empty(lengths, places);
  if (lengths.empty()) return {};
  if (std::adjacent_find(lengths.begin(), lengths.end(), std::not_equal_to<>()) == lengths.end())
    return equal_blocks(child, lengths.front(), std::move(places));
  TypeLayout result;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    count = checked_add(count, lengths[i], count_words);
    if (!child.bounds) continue;
    const Bounds first = child.bounds->moved(places[i]);
    const std::int64_t last = checked_multiply(lengths[i] - 1, child.extent(), place_words);
    join_into(result.bounds, joined(first, first.moved(last)));
  }
  result.elements = Elements::repeat(child.elements, count);
  result.nest = child.dense() ? blocks_of_runs(child, std::move(lengths), std::move(places))
                              : blocks_one_by_one(child, lengths, places);
  return result;
}

TypeLayout equal_blocks(const TypeLayout& child, std::int64_t length,
                        std::vector<std::int64_t> places) {
  const TypeLayout block = copies(child, length);
  if (places.empty() || !block.bounds) return {};
  const auto [least, most] = std::minmax_element(places.begin(), places.end());
  TypeLayout result;
  result.bounds = joined(block.bounds->moved(*least), block.bounds->moved(*most));
  result.elements = Elements::repeat(block.elements, std::ssize(places));
  result.nest = Nest::list(block.nest, std::move(places));
  return result;
}

TypeLayout joined(const std::vector<TypeLayout>& parts) {
  TypeLayout result;
  std::vector<Nest> nests;
  std::vector<Elements> elements;
  for (const TypeLayout& part : parts) {
    nests.push_back(part.nest);
    elements.push_back(part.elements);
    join_into(result.bounds, part.bounds);
  }
  result.nest = Nest::sequence(std::move(nests));
  result.elements = Elements::sequence(elements);
  return result;
}

TypeLayout array_layout(const TypeLayout& element, const std::vector<ArrayDimension>& dimensions) {
  TypeLayout result = element;
  std::int64_t step = element.extent();
  for (const ArrayDimension& d : dimensions) {
    result =
        d.of > 0
            ? cyclic(result, d, step)
            : repeat(result, d.count, step).moved(checked_multiply(d.first, step, place_words));
    step = checked_multiply(step, d.size, place_words);
  }
  result.bounds = Bounds::marked(0, step);
  return result;
}

}  // namespace penstock
