// TileBudget: what the memory given to an out-of-core array is used for. Room: what a machine has.
#pragma once

#include <cstdint>
#include <filesystem>

#include <penstock/export.hpp>

namespace penstock {

/// What a loop over tiles does with their elements.
enum class TileUse {
  read,    ///< "r": they are read
  update,  ///< "r+": read, and written when the loop goes on
  write,   ///< "w": written when the loop goes on
};

/// Memory of one process for one array, in bytes: a quarter for the staging of aggregators, the
/// rest in equal parts for the tiles in the program's hands and for those on their way.
struct PENSTOCK_EXPORT TileBudget {
  std::int64_t memory = 0;       ///< all of it
  std::int64_t buffer_size = 0;  ///< the hint: an aggregator stages less than twice this

  /// `buffer_size`: one that the program chose; 0: none. Throws Error(argument) where nothing is
  /// left for tiles.
  static TileBudget of(std::int64_t memory, std::int64_t buffer_size = 0);
  /// Of a tile with its halo.
  std::int64_t tile_bytes(TileUse use) const noexcept { return for_tiles() / parts(use); }
  /// Tiles of one loop in the program's hands: worked on, read ahead, written behind.
  static int buffers(TileUse use) noexcept { return use == TileUse::update ? 3 : 2; }
  /// What may be on its way to or from the file: part of the hint active_buffer_size.
  std::int64_t active_buffer() const noexcept { return 2 * for_tiles() / 5; }
  /// Whether so many tiles of so many bytes can be kept from loop to loop.
  bool keeps(std::int64_t tiles, std::int64_t bytes) const noexcept {
    return tiles == 0 || bytes <= (for_tiles() - active_buffer()) / tiles;
  }
  /// Memory with which a tile of so many bytes fits.
  static std::int64_t needed(TileUse use, std::int64_t bytes,
                             std::int64_t buffer_size = 0) noexcept;

 private:
  static int parts(TileUse use) noexcept { return use == TileUse::update ? 5 : 3; }
  std::int64_t for_tiles() const noexcept { return memory - 2 * buffer_size; }
};

/// What is free, in bytes.
struct Room {
  std::int64_t disk = 0;    ///< for the file of this path, its old content counted as free
  std::int64_t memory = 0;  ///< that this machine, or the container around the process, can give
};
/// Where the system does not tell, as much as there can be.
PENSTOCK_EXPORT Room free_room(const std::filesystem::path& path);

}  // namespace penstock
