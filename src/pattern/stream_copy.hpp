// The loop that copies between user memory, a window's image of the file, and packed messages.
#pragma once

#include "base/direction.hpp"
#include "pattern/footprint.hpp"

namespace penstock {

/// Where the staged bytes of a stream are: laid out as in the file, or packed.
struct Staged {
  std::byte* base;
  std::int64_t origin;  // file offset or position at `base`
  bool image;

  /// The byte at file offset `origin` is at `base`.
  static Staged as_in_file(std::byte* base, std::int64_t origin) noexcept {
    return {base, origin, true};
  }
  /// The first copied stream position is at `begin`.
  static Staged packed(std::byte* begin) noexcept { return {begin, 0, false}; }
  std::byte* at(const Batch& b) const noexcept {
    return base + ((image ? b.file : b.packed) - origin);
  }
  std::int64_t step(const Batch& b) const noexcept { return image ? b.file_step : b.run; }
};

/// Copies stream positions [begin, end): from memory for a write, into it for a read. `past_cache`:
/// the destination is larger than the caches (copy.hpp).
void copy_stream(const WindowStream& stream, std::span<const MemoryMap> memory, std::int64_t begin,
                 std::int64_t end, Staged staged, Direction direction, bool past_cache = false);

/// The same for one pattern, packed.
void copy_packed(const FilePattern& file, const MemoryMap& memory, std::int64_t begin,
                 std::int64_t end, std::byte* packed, Direction direction, bool past_cache = false);

/// Between a window's image and packed bytes: a write copies into the image.
void copy_staged(const WindowStream& stream, std::int64_t begin, std::int64_t end, Staged image,
                 std::byte* packed, Direction direction);

}  // namespace penstock
