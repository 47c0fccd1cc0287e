#include <penstock/tile_budget.hpp>

#include <algorithm>
#include <bit>
#include <string>

#include <penstock/error.hpp>

#include "base/human.hpp"

namespace penstock {
namespace {

constexpr std::int64_t largest_buffer = std::int64_t{16} << 20, least_buffer = 4096;

/// A power of two, so that windows are aligned.
std::int64_t buffer_for(std::int64_t memory) {
  const auto eighth = static_cast<std::uint64_t>(std::max<std::int64_t>(memory / 8, 1));
  return std::clamp(static_cast<std::int64_t>(std::bit_floor(eighth)), least_buffer,
                    largest_buffer);
}

}  // namespace

TileBudget TileBudget::of(std::int64_t memory, std::int64_t buffer_size) {
  const TileBudget budget{memory, buffer_size > 0 ? buffer_size : buffer_for(memory)};
  constexpr std::int64_t least_parts = 5;
  if (budget.for_tiles() < least_parts)
    throw Error(ErrorClass::argument,
                "memory: " + text_of_bytes(memory) + " leave nothing for tiles beside " +
                    text_of_bytes(2 * budget.buffer_size) +
                    " of staging memory (twice buffer_size); give more memory" +
                    (buffer_size > 0 ? " or a smaller buffer_size" : ""));
  return budget;
}

std::int64_t TileBudget::needed(TileUse use, std::int64_t bytes,
                                std::int64_t buffer_size) noexcept {
  const std::int64_t tiles = bytes * parts(use);
  if (buffer_size > 0) return tiles + 2 * buffer_size;
  // Staging takes at most a quarter, and at least twice the least buffer.
  return std::max(tiles + tiles / 3 + 1, tiles + 2 * least_buffer);
}

}  // namespace penstock
