// Random nests and file patterns, each with the list of its bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pattern/memory_map.hpp"
#include "support/random.hpp"

namespace penstock::test {

/// The places of the bytes, in stream order.
using Places = std::vector<std::int64_t>;

inline Places places_of(const Nest& nest, std::int64_t begin, std::int64_t end) {
  Places places;
  NestCursor cursor(nest, begin, end);
  for (Strided s; cursor.next(s);)
    for (std::int64_t i = 0; i < s.count; ++i)
      for (std::int64_t k = 0; k < s.run; ++k) places.push_back(s.place + i * s.step + k);
  return places;
}

struct Drawn {
  Nest nest;
  Places places;
};

/// Bytes ascend, at most `depth` levels deep.
inline Drawn draw_ascending(Random& r, int depth) {
  if (depth == 0 || r.in(0, 5) == 0) {
    const std::int64_t place = r.in(0, 5), length = r.in(1, 6);
    Drawn run{Nest::run(place, length), {}};
    for (std::int64_t k = 0; k < length; ++k) run.places.push_back(place + k);
    return run;
  }
  const auto add = [](Drawn& to, const Drawn& child, std::int64_t by) {
    for (const std::int64_t place : child.places) to.places.push_back(place + by);
  };
  Drawn drawn;
  const std::int64_t kind = r.in(0, 3), count = r.in(1, 4);
  if (kind == 0 || kind == 1) {
    const Drawn child = draw_ascending(r, depth - 1);
    const std::int64_t span = child.nest.hull().length();
    if (kind == 0) {
      const std::int64_t step = span + r.in(0, 1) * r.in(0, 9);
      drawn.nest = Nest::repeat(child.nest, count, step);
      for (std::int64_t i = 0; i < count; ++i) add(drawn, child, i * step);
      return drawn;
    }
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0, at = r.in(0, 3); i < count; ++i, at += span + r.in(0, 1) * r.in(0, 7))
      places.push_back(at);
    for (const std::int64_t place : places) add(drawn, child, place);
    drawn.nest = Nest::list(child.nest, places);
    return drawn;
  }
  if (kind == 2) {
    std::vector<std::int64_t> places, lengths;
    std::int64_t at = r.in(0, 5);
    for (std::int64_t i = 0; i < count; ++i) {
      places.push_back(at);
      lengths.push_back(r.in(0, 6));
      for (std::int64_t k = 0; k < lengths.back(); ++k) drawn.places.push_back(at + k);
      at += lengths.back() + r.in(0, 1) * r.in(0, 5);
    }
    drawn.nest = Nest::table(places, lengths);
    return drawn;
  }
  std::vector<Nest> parts;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const Drawn child = draw_ascending(r, depth - 1);
    at += r.in(0, 1) * r.in(0, 5);
    add(drawn, child, at);
    parts.push_back(child.nest.moved(at));
    at += child.nest.hull().end;
  }
  drawn.nest = Nest::sequence(parts);
  return drawn;
}

/// `size` bytes of memory in any order, each once; gaps of at most `gap` bytes between runs.
inline Drawn draw_memory(Random& r, std::int64_t size) {
  Drawn drawn;
  std::vector<Nest> parts;
  for (std::int64_t left = size, at = 0; left > 0;) {
    const std::int64_t run = r.in(1, std::min<std::int64_t>(left, 6));
    const std::int64_t count = r.in(1, std::min<std::int64_t>(left / run, 5));
    const std::int64_t step = run + r.in(0, 1) * r.in(0, 4);
    const bool backwards = r.in(0, 2) == 0;
    Nest part = Nest::repeat(Nest::run(backwards ? (count - 1) * step : 0, run), count,
                             backwards ? -step : step)
                    .moved(at);
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t k = 0; k < run; ++k)
        drawn.places.push_back(at + (backwards ? count - 1 - i : i) * step + k);
    parts.push_back(std::move(part));
    at += count * step + r.in(0, 3);
    left -= run * count;
  }
  drawn.nest = Nest::sequence(std::move(parts));
  return drawn;
}

/// Patterns of one call: some for each rank.
using RankPatterns = std::vector<std::vector<Drawn>>;

/// Within the first `bytes` of a file: a nest somewhere, or a part of its tiles, as in a file view.
inline Drawn draw_pattern(Random& r, std::int64_t bytes) {
  FilePattern pattern(draw_ascending(r, 4).nest);
  if (!pattern.empty() && r.chance(50)) {
    const std::int64_t size = r.in(0, bytes), first = r.in(0, bytes / 4);
    pattern = FilePattern::tiles(pattern, pattern.hull().length() + r.in(0, 20), first, size);
  }
  pattern = FilePattern(pattern.nest().moved(r.chance(50) ? 0 : r.in(0, bytes)));
  pattern = pattern.within({0, bytes});
  return {pattern.nest(), places_of(pattern.nest(), 0, pattern.size())};
}

/// Ranks may want the same bytes; sometimes all want the same.
inline RankPatterns draw_patterns(Random& r, std::int64_t bytes, int ranks) {
  RankPatterns patterns(static_cast<std::size_t>(ranks));
  const bool alike = r.chance(15);
  for (auto& of_rank : patterns) {
    if (alike && &of_rank != &patterns.front()) of_rank = patterns.front();
    else
      for (std::int64_t i = r.in(0, 2); i > 0; --i) of_rank.push_back(draw_pattern(r, bytes));
  }
  return patterns;
}

/// Disjoint patterns. The file is cut into blocks, which the ranks have in turn, or one each; a
/// rank's pattern is the same in all of its blocks.
inline RankPatterns draw_patterns_apart(Random& r, std::int64_t bytes, int ranks) {
  RankPatterns patterns(static_cast<std::size_t>(ranks));
  const std::int64_t shift = r.in(0, ranks - 1);
  const std::int64_t block = r.chance(30) ? bytes / ranks + 1 : r.in(1, 80);
  for (int rank = 0; rank < ranks; ++rank)
    for (std::int64_t i = r.in (0, 9) == 0 ? 0 : r.in(1, 2); i > 0; --i) {
      const std::int64_t first = (rank + shift) % ranks * block, step = block * ranks;
      const Drawn nest = draw_ascending(r, 3);
      const std::int64_t moved = r.in(0, block / 2);
      const FilePattern in_block = FilePattern(nest.nest.moved(moved)).within({0, block});
      const std::int64_t count = (bytes + step - 1) / step;
      const FilePattern pattern(Nest::repeat(in_block.nest(), count, step).moved(first));
      Drawn drawn{pattern.within({0, bytes}).nest(), {}};
      for (std::int64_t at = first; at < bytes; at += step)
        for (const std::int64_t place : nest.places)
          if (place + moved < block && at + place + moved < bytes)
            drawn.places.push_back(at + place + moved);
      patterns[static_cast<std::size_t>(rank)].push_back(std::move(drawn));
    }
  return patterns;
}

}  // namespace penstock::test
