// OutOfCoreArray: an array in a file that is larger than memory, worked on tile by tile.
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

/// A tile in memory, as a loop's body is given it. Its memory is dense, in the file's order, and
/// the body's until it returns.
struct Tile {
  std::int64_t index = 0;         ///< step of the loop
  TileSections place;             ///< which elements these are
  std::byte* data = nullptr;      ///< elements of place.with_halo
  std::byte* out_data = nullptr;  ///< elements of place.section in the array written into

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

/// How a loop goes over the tiles.
struct TileLoop {
  TileUse use = TileUse::read;  ///< what is done with them
  /// Cells around each tile that are read, too, one width for each dimension or one for all; only
  /// where tiles are read alone: others would read what the tile before has changed, or not yet.
  std::vector<std::int64_t> halo;
  int axis = -1;  ///< in which tiles follow each other; -1: the slowest of the file
  std::vector<std::int64_t> tile_shape;  ///< empty: as large as the memory allows
  /// Another array of the same shape and order, into which Tile::out() is written; only where
  /// tiles are read alone.
  OutOfCoreArray* into = nullptr;
  /// Every rank has as many steps as the one with the most, the last ones with tiles of no element,
  /// for bodies that send messages. Along the axis the tiles of all ranks are as thick as each
  /// other.
  bool even = false;
};

/// What an out-of-core array is given beside what ArrayFile takes.
struct OutOfCoreSpec {
  /// Which elements are this rank's tiles. None, on all ranks: tiles are dealt out in turn, so that
  /// all ranks together go through the file from its begin to its end.
  std::optional<Section> share;
  /// Bytes of each process for tiles, what is on its way, and staging; the same on all ranks.
  std::int64_t memory = std::int64_t{64} << 20;
  /// What is done while the program computes; none: each tile is read and written at once. The same
  /// on all ranks.
  Background background = Background::storage;
};

/// An array in a file, of which only tiles are in memory: while the program computes on one, the
/// next is read and the one before is written. Its calls are collective, as those of ArrayFile,
/// and throw Error with the same class on every rank.
class PENSTOCK_EXPORT OutOfCoreArray {
 public:
  /// Collective over `comm`; MPI_COMM_NULL: this process alone. Throws Error(argument) where memory
  /// is too little for any tile, or more than the machine has for all ranks on it; Error(storage)
  /// where the disk has no room for a new array; and as ArrayFile::open. No file is changed then.
  /// The hints buffer_size (where it is 0) and active_buffer_size follow from the memory.
  static OutOfCoreArray open(MPI_Comm comm, const std::filesystem::path& path, Mode mode,
                             const ArraySpec& array = {}, const OutOfCoreSpec& spec = {},
                             Hints hints = {});
  OutOfCoreArray(OutOfCoreArray&&) noexcept;
  OutOfCoreArray& operator=(OutOfCoreArray&&) noexcept;
  /// Abandons the file on this rank; what it has begun to write is written. close() is
  /// collective.
  ~OutOfCoreArray();

  /// Collective: calls `body` for each tile of this rank. What it throws leaves the loop at once,
  /// and the tile is not written; this rank then abandons the file, and the others get an
  /// error. Ranks with fewer tiles take part in what the others read and write.
  void for_each_tile(const TileLoop& loop, const std::function<void(Tile&)>& body);
  /// Collective: when it returns, all that was written is in the file.
  void flush();
  /// Collective: flushes and closes. A second call does nothing.
  void close();

  ArrayFile& file() noexcept;                 ///< for its statistics, hints and attributes
  const TileBudget& budget() const noexcept;  ///< what the memory is used for

  class Impl;

 private:
  explicit OutOfCoreArray(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
