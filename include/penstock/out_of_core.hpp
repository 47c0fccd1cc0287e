// OutOfCoreArray: an array in a file that is larger than memory, processed tile by tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <penstock/array_file.hpp>
#include <penstock/tile_budget.hpp>
#include <penstock/tiling.hpp>

namespace penstock {

/// A tile in memory, as passed to a loop's body. Its memory is dense, in the file's order, and the
/// body's until it returns.
struct Tile {
  std::int64_t index = 0;         ///< step of the loop
  TileSections place;             ///< its elements
  std::byte* data = nullptr;      ///< elements of place.with_halo
  std::byte* out_data = nullptr;  ///< elements of place.section in the array written to

  /// Elements of place.with_halo; T has the size of an element.
  template <class T>
  std::span<T> values() const {
    return {reinterpret_cast<T*>(data), static_cast<std::size_t>(place.with_halo.element_count())};
  }
  /// Elements of place.section in TileLoop::into; without it, values().
  template <class T>
  std::span<T> out() const {
    return {reinterpret_cast<T*>(out_data),
            static_cast<std::size_t>(place.section.element_count())};
  }
};

class OutOfCoreArray;

/// A loop over tiles.
struct TileLoop {
  TileUse use = TileUse::read;  ///< what is done with them
  /// Cells around each tile that are read, too: one width per dimension or one for all. Only if
  /// tiles are just read: otherwise it would be undefined whether they include changes to the
  /// previous tile.
  std::vector<std::int64_t> halo;
  int axis = -1;  ///< in which tiles follow each other; -1: the slowest in the file
  std::vector<std::int64_t> tile_shape;  ///< empty: as large as the memory allows
  /// Another array of the same shape and order, into which Tile::out() is written; only if tiles
  /// are just read.
  OutOfCoreArray* into = nullptr;
  /// Gives every rank as many steps as the one with the most, with empty tiles at the end, for
  /// bodies that send messages. Along the axis the tiles of all ranks have the same thickness.
  bool even = false;
};

/// Settings of an out-of-core array, besides those of ArrayFile.
struct OutOfCoreSpec {
  /// The elements in this rank's tiles. None, on all ranks: tiles are distributed in turn, so that
  /// all ranks together go through the file from beginning to end.
  std::optional<Section> share;
  /// Bytes of each process for tiles, data in flight, and staging; the same on all ranks.
  std::int64_t memory = std::int64_t{64} << 20;
  /// What is done while the program computes; none: each tile is read and written at once. The same
  /// on all ranks.
  Background background = Background::storage;
};

/// An array in a file, of which only tiles are in memory: while the program computes on one, the
/// next is read and the previous one is written. Its calls are collective, like those of ArrayFile,
/// and throw Error with the same class on every rank.
class PENSTOCK_EXPORT OutOfCoreArray {
 public:
  /// Collective over `comm`; MPI_COMM_NULL: this process alone. Throws Error(argument) if the
  /// memory is too little for any tile, or more than the machine has for all its ranks;
  /// Error(storage) if the disk has no room for a new array; and like ArrayFile::open. On error no
  /// file is changed. The hints buffer_size (if it is 0) and active_buffer_size are derived from
  /// the memory.
  static OutOfCoreArray open(MPI_Comm comm, const std::filesystem::path& path, Mode mode,
                             const ArraySpec& array = {}, const OutOfCoreSpec& spec = {},
                             Hints hints = {});
  OutOfCoreArray(OutOfCoreArray&&) noexcept;
  OutOfCoreArray& operator=(OutOfCoreArray&&) noexcept;
  /// Abandons the file on this rank; pending writes are completed. close() is collective.
  ~OutOfCoreArray();

  /// Collective: calls `body` for each tile of this rank. An exception of the body ends the loop at
  /// once, and the tile is not written; this rank then abandons the file, and the others get an
  /// error. Ranks with fewer tiles take part in the reads and writes of others.
  void for_each_tile(const TileLoop& loop, const std::function<void(Tile&)>& body);
  /// Collective: on return, all that was written is in the file.
  void flush();
  /// Collective: flushes and closes. A second call does nothing.
  void close();

  ArrayFile& file() noexcept;                 ///< for its statistics, hints and attributes
  const TileBudget& budget() const noexcept;  ///< how the memory is used

  class Impl;

 private:
  explicit OutOfCoreArray(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
