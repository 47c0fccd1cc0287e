// TileBudget: how the memory given to an out-of-core array is used. Room: what a machine has.
#pragma once

#include <cstdint>
#include <filesystem>

#include <penstock/export.hpp>

namespace penstock {

/// What a loop over tiles does with their elements.
enum class TileUse {
  read,    ///< "r": they are read
  update,  ///< "r+": read, and written when the loop moves on
  write,   ///< "w": written when the loop moves on
};

/// Memory of one process for one array, in bytes: a quarter for the staging of aggregators, the
/// rest in equal parts for tiles in use by the program and tiles in flight.
struct PENSTOCK_EXPORT TileBudget {
  std::int64_t memory = 0;       ///< all of it
  std::int64_t buffer_size = 0;  ///< the hint: an aggregator stages less than twice this

  /// `buffer_size`: chosen by the program; 0: not given. Throws Error(argument) if nothing is left
  /// for tiles.
  static TileBudget of(std::int64_t memory, std::int64_t buffer_size = 0);
  /// For a tile with its halo.
  std::int64_t tile_bytes(TileUse use) const noexcept { return for_tiles() / parts(use); }
  /// Tiles of a loop held in memory: in use, read ahead, written behind.
  static int buffers(TileUse use) noexcept { return use == TileUse::update ? 3 : 2; }
  /// Bytes that may be in flight to or from the file: part of the hint active_buffer_size.
  std::int64_t active_buffer() const noexcept { return 2 * for_tiles() / 5; }
  /// Whether this many tiles of this size can be kept from loop to loop.
  bool keeps(std::int64_t tiles, std::int64_t bytes) const noexcept {
    return tiles == 0 || bytes <= (for_tiles() - active_buffer()) / tiles;
  }
  /// Memory with which a tile of this size fits.
  static std::int64_t needed(TileUse use, std::int64_t bytes,
                             std::int64_t buffer_size = 0) noexcept;

 private:
  static int parts(TileUse use) noexcept { return use == TileUse::update ? 5 : 3; }
  std::int64_t for_tiles() const noexcept { return memory - 2 * buffer_size; }
};

/// Free room, in bytes.
struct Room {
  std::int64_t disk = 0;    ///< for the file of this path, with its old content counted as free
  std::int64_t memory = 0;  ///< that this machine, or the process's container, can provide
};
/// The maximal value where the system does not report one.
PENSTOCK_EXPORT Room free_room(const std::filesystem::path& path);

}  // namespace penstock
