// TileBuffers: memory for the tiles of one array, which are read into it and written from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <penstock/array_file.hpp>

namespace penstock {

/// Each step of a loop has the next buffer in turn. Whatever begins or ends something is
/// collective; a rank without a tile passes null.
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
  /// What was in the step's buffer is in the file.
  void make_room(std::int64_t step);
  void begin_write(std::int64_t step, const Section* section);
  /// Nothing is on its way any more.
  void finish();
  /// Alone: this rank's part of what is being written is in the file, whatever others do.
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
