#include "formats/zarr/chunked_dataset.hpp"

#include <algorithm>
#include <map>

#include "array/lower.hpp"
#include "base/checked.hpp"

namespace penstock {
namespace {

/// The part of a section in one chunk, in one dimension: ascending indices relative to the chunk,
/// and their numbers in the section.
struct ChunkPart {
  std::int64_t chunk = 0;
  std::vector<std::int64_t> indices, numbers;  // of a list; otherwise empty, and:
  std::int64_t first = 0, count = 0, step = 1, number = 0;
};

std::vector<ChunkPart> pieces_of(std::vector<std::pair<std::int64_t, std::int64_t>> indices,
                                 std::int64_t extent) {
  std::ranges::sort(indices);
  std::vector<ChunkPart> pieces;
  for (const auto& [index, number] : indices) {
    if (pieces.empty() || pieces.back().chunk != index / extent)
      pieces.push_back({.chunk = index / extent});
    pieces.back().indices.push_back(index % extent);
    pieces.back().numbers.push_back(number);
  }
  return pieces;
}

std::vector<ChunkPart> pieces_of(const IndexList& list, std::int64_t extent) {
  std::vector<std::pair<std::int64_t, std::int64_t>> indices;
  for (std::size_t i = 0; i < list.size(); ++i)
    indices.emplace_back(list[i], static_cast<std::int64_t>(i));
  return pieces_of(std::move(indices), extent);
}

/// For a range of indices with one step.
std::vector<ChunkPart> pieces_of(std::int64_t lower, std::int64_t count, std::int64_t step,
                                 std::int64_t extent) {
  std::vector<ChunkPart> pieces;
  for (std::int64_t number = 0; number < count;) {
    const std::int64_t index = lower + number * step;
    const std::int64_t chunk = index / extent, within = index % extent;
    const std::int64_t here = std::min(count - number, (extent - within - 1) / step + 1);
    pieces.push_back(
        {.chunk = chunk, .first = within, .count = here, .step = step, .number = number});
    number += here;
  }
  return pieces;
}

std::vector<ChunkPart> pieces_of(const Range& range, std::int64_t extent) {
  const std::int64_t count = range.count();
  if (count <= range.block || range.block == range.stride)
    return pieces_of(range.lower, count, 1, extent);
  if (range.block == 1) return pieces_of(range.lower, count, range.stride, extent);
  std::vector<std::pair<std::int64_t, std::int64_t>> indices;
  for (std::int64_t i = 0; i < count; ++i)
    indices.emplace_back(range.lower + i / range.block * range.stride + i % range.block, i);
  return pieces_of(std::move(indices), extent);
}

Sides add_dimension(const ChunkPart& piece, const Sides& inner, std::int64_t pitch,
                    std::int64_t stride) {
  const auto in_memory = [&](std::int64_t number) {
    return checked_multiply(number, stride, "strides of the memory");
  };
  if (piece.indices.empty())
    return {Nest::repeat(inner.file, piece.count, piece.step * pitch).moved(piece.first * pitch),
            Nest::repeat(inner.memory, piece.count, stride).moved(in_memory(piece.number))};
  std::vector<std::int64_t> file, memory;
  for (std::size_t i = 0; i < piece.indices.size(); ++i) {
    file.push_back(piece.indices[i] * pitch);
    memory.push_back(in_memory(piece.numbers[i]));
  }
  return {Nest::list(inner.file, std::move(file)), Nest::list(inner.memory, std::move(memory))};
}

/// The parts of a request, by the offsets of their chunks.
using OfChunks = std::map<std::int64_t, Sides>;

void add_all(OfChunks& chunks, std::vector<FilePattern>& file, std::vector<MemoryMap>& memory,
             std::byte* base) {
  std::vector<Nest> file_nests, memory_nests;
  for (auto& [offset, sides] : chunks) {
    file_nests.push_back(sides.file.moved(offset));
    memory_nests.push_back(std::move(sides.memory));
  }
  file.emplace_back(Nest::sequence(std::move(file_nests)));
  memory.emplace_back(base, Nest::sequence(std::move(memory_nests)));
}

/// The chunks in the product of the pieces of all dimensions, in C order.
OfChunks lower_dimensions(const ChunkGrid& grid, const Section& section,
                          const std::vector<std::int64_t>& strides) {
  const std::size_t dimensions = grid.shape.size();
  const Shape pitches = dense_strides(grid.chunk, grid.element_size, Order::c);
  std::vector<std::vector<ChunkPart>> pieces(dimensions);
  for (std::size_t d = 0; d < dimensions; ++d)
    pieces[d] = std::visit([&](const auto& indices) { return pieces_of(indices, grid.chunk[d]); },
                           section.dimensions()[d]);
  OfChunks chunks;
  std::vector<std::size_t> turn(dimensions, 0);
  Shape at(dimensions);
  for (bool left = true; left;) {
    Sides sides{Nest::run(0, grid.element_size), Nest::run(0, grid.element_size)};
    for (std::size_t d = dimensions; d-- > 0;) {
      const ChunkPart& piece = pieces[d][turn[d]];
      at[d] = piece.chunk;
      sides = add_dimension(piece, sides, pitches[d], strides[d]);
    }
    chunks.emplace(grid.offset_of(at), std::move(sides));
    left = false;
    for (std::size_t d = dimensions; d-- > 0 && !left;) {
      left = ++turn[d] < pieces[d].size();
      if (!left) turn[d] = 0;
    }
  }
  return chunks;
}

/// Runs of elements of the array in C order, split at the ends of rows of chunks.
class ExtentsLowering {
 public:
  ExtentsLowering(const ChunkGrid& grid, std::int64_t stride)
      : grid_(grid),
        stride_(stride),
        pitches_(dense_strides(grid.chunk, grid.element_size, Order::c)) {}

  void add(ElementExtent run) {
    for (std::int64_t at = run.begin; at < run.end;) at += add_first(at, run.end);
  }

  OfChunks taken() const {
    OfChunks chunks;
    for (const auto& [offset, cuts] : cuts_) {
      std::vector<Nest> file, memory;
      for (const Cut& cut : cuts) {
        file.push_back(Nest::run(cut.place, cut.count * grid_.element_size));
        memory.push_back(
            Nest::repeat(Nest::run(0, grid_.element_size), cut.count, stride_)
                .moved(checked_multiply(cut.number, stride_, "strides of the memory")));
      }
      chunks.emplace(offset,
                     Sides{Nest::sequence(std::move(file)), Nest::sequence(std::move(memory))});
    }
    return chunks;
  }

 private:
  struct Cut {
    std::int64_t place, count, number;
  };

  /// Adds the elements from `at` on that lie in one row of a chunk; returns how many.
  std::int64_t add_first(std::int64_t at, std::int64_t end) {
    Shape chunk_at(grid_.shape.size());
    std::int64_t rest = at, place = 0, count = 0;
    for (std::size_t d = grid_.shape.size(); d-- > 0;) {
      const std::int64_t index = rest % grid_.shape[d];
      rest /= grid_.shape[d];
      chunk_at[d] = index / grid_.chunk[d];
      place += index % grid_.chunk[d] * pitches_[d];
      if (d + 1 < grid_.shape.size()) continue;
      const std::int64_t row_end = std::min(grid_.shape[d], (chunk_at[d] + 1) * grid_.chunk[d]);
      count = std::min(row_end - index, end - at);
    }
    cuts_[grid_.offset_of(chunk_at)].push_back({place, count, number_});
    number_ += count;
    return count;
  }

  const ChunkGrid& grid_;
  std::int64_t stride_;
  Shape pitches_;
  std::int64_t number_ = 0;
  std::map<std::int64_t, std::vector<Cut>> cuts_;
};

}  // namespace

void ChunkedDataset::lower(const Section& section, std::byte* base,
                           const std::vector<std::int64_t>& strides, std::vector<FilePattern>& file,
                           std::vector<MemoryMap>& memory) const {
  OfChunks chunks;
  if (section.is_extents()) {
    ExtentsLowering lowering(grid_, strides.at(0));
    for (const ElementExtent& run : section.runs()) lowering.add(run);
    chunks = lowering.taken();
  } else {
    chunks = lower_dimensions(grid_, section, strides);
  }
  add_all(chunks, file, memory, base);
}

}  // namespace penstock
