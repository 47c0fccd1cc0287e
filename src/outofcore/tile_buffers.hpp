// TileBuffers: memory for the tiles of one array, for reading and writing them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <penstock/array_file.hpp>

namespace penstock {

/// Each step of a loop uses the next buffer in turn. Beginning and ending operations is collective;
/// a rank without a tile passes null.
class TileBuffers {
 public:
  TileBuffers(ArrayFile& file, const Hints& hints, Background background);
  /// Memory for `count` tiles.
  void allocate(int count, std::int64_t bytes);
  TileBuffers(TileBuffers&&) = default;
  TileBuffers& operator=(TileBuffers&&) = delete;
  ~TileBuffers() = default;

  void begin_read(std::int64_t step, const Section* section);
  void finish_read(std::int64_t step);
  /// Waits until what was in the step's buffer is in the file.
  void make_room(std::int64_t step);
  void begin_write(std::int64_t step, const Section* section);
  /// Waits until nothing is in flight.
  void finish();
  /// Not collective: waits until this rank's part of pending writes is in the file.
  void await_own_writes() noexcept;
  /// Handles keep the file open; the memory stays.
  void forget_handles() noexcept;

  std::byte* data(std::int64_t step) { return of(step).memory.data(); }

 private:
  struct TileBuffer {
    std::vector<std::byte> memory;
    std::optional<Handle> reading, writing;
  };
  TileBuffer& of(std::int64_t step) {
    return buffers_[static_cast<std::size_t>(step) % buffers_.size()];
  }
  static void settle(TileBuffer& buffer);

  ArrayFile* file_;
  Hints hints_;
  Background background_;
  std::vector<TileBuffer> buffers_;
};

}  // namespace penstock
