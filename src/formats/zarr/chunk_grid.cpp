#include "formats/zarr/chunk_grid.hpp"

#include <algorithm>

#include "array/layout.hpp"
#include "base/checked.hpp"
#include "file/words.hpp"

namespace penstock {
namespace {

/// Staging memory of an aggregator holds whole shards, and codec libraries take at most 2 GiB.
constexpr std::int64_t largest_shard = std::int64_t{1} << 30;

std::int64_t product(const Shape& extents) noexcept {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  return count;
}

std::int64_t divided_up(std::int64_t a, std::int64_t b) noexcept {
  return a / b + (a % b != 0 ? 1 : 0);
}

void check_extents(const Shape& extents, const Shape& shape, const std::string& what) {
  if (extents.size() != shape.size())
    throw Error(ErrorClass::argument, what + " " + text_of(extents) +
                                          " must have an extent for each " +
                                          "dimension of the shape " + text_of(shape));
  for (const std::int64_t extent : extents)
    if (extent < 1)
      throw Error(ErrorClass::argument,
                  what + " " + text_of(extents) + ": extents must be at least 1");
}

std::int64_t checked_bytes(const Shape& extents, std::int64_t element_size) {
  std::int64_t bytes = element_size;
  for (const std::int64_t extent : extents)
    bytes = checked_multiply(bytes, extent, "bytes of chunks");
  return bytes;
}

}  // namespace

void ChunkGrid::check() const {
  ArrayLayout{shape, element_size, Order::c, 0}.check();
  check_extents(chunk, shape, "chunks");
  check_extents(shard, shape, "shards");
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shard[d] % chunk[d] != 0)
      throw Error(ErrorClass::argument, "shards " + text_of(shard) +
                                            " must be multiples of chunks " + text_of(chunk) +
                                            " in each dimension");
  const std::int64_t bytes = checked_bytes(shard, element_size);
  if (bytes > largest_shard)
    throw Error(ErrorClass::argument, (shard == chunk ? "chunks " : "shards ") + text_of(shard) +
                                          " have " + std::to_string(bytes) +
                                          " bytes, and Penstock holds whole ones in memory: " +
                                          "they may have 1 GiB at most, some MiB are best");
  checked_multiply(checked_bytes(shards(), 1), bytes, "bytes of all chunks");
}

std::int64_t ChunkGrid::chunk_bytes() const noexcept {
  return product(chunk) * element_size;
}

std::int64_t ChunkGrid::shard_bytes() const noexcept {
  return product(shard) * element_size;
}

Shape ChunkGrid::shards() const {
  Shape counts(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) counts[d] = divided_up(shape[d], shard[d]);
  return counts;
}

std::int64_t ChunkGrid::shard_count() const {
  return product(shards());
}

std::int64_t ChunkGrid::offset_of(const Shape& chunk_at) const noexcept {
  std::int64_t shard_number = 0, within = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t per_shard = shard[d] / chunk[d];
    shard_number = shard_number * divided_up(shape[d], shard[d]) + chunk_at[d] / per_shard;
    within = within * per_shard + chunk_at[d] % per_shard;
  }
  return shard_number * shard_bytes() + within * chunk_bytes();
}

Shape ChunkGrid::coordinates(std::int64_t shard_number) const {
  const Shape counts = shards();
  Shape at(counts.size());
  for (std::size_t d = counts.size(); d-- > 1;) {
    at[d] = shard_number % counts[d];
    shard_number /= counts[d];
  }
  at[0] = shard_number;
  return at;
}

FileUnits ChunkGrid::units() const {
  FileUnits units;
  units.grain = element_size;
  units.indivisible = shard_bytes();
  units.all = {0, total_bytes()};
  return units;
}

Shape choose_chunk(const Shape& shape, std::int64_t element_size) {
  constexpr std::int64_t most = std::int64_t{4} << 20;
  Shape chunk = shape;
  for (std::int64_t& extent : chunk) extent = std::max<std::int64_t>(1, extent);
  for (std::int64_t& extent : chunk)
    while (extent > 1 && product(chunk) * element_size > most) extent = divided_up(extent, 2);
  return chunk;
}

}  // namespace penstock
