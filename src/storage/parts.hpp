// Memory of one access in several places: what scatter and gather are made of.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

/// Part after part in memory, contiguous in the file.
using Parts = std::span<const iovec>;

/// Memory of a write is only read from.
inline iovec part_of(std::span<const std::byte> memory) noexcept {
  return {const_cast<std::byte*>(memory.data()), memory.size()};
}
inline std::byte* begin_of(const iovec& part) noexcept {
  return static_cast<std::byte*>(part.iov_base);
}

std::int64_t size_of(Parts parts) noexcept;
/// Appends the bytes from `begin` on of `parts` to `to`: `size` of them, or fewer where they are in
/// more than `most` parts. Returns how many.
std::int64_t append_slice(std::vector<iovec>& to, Parts parts, std::int64_t begin,
                          std::int64_t size, std::size_t most);
/// What is left of parts without their first `bytes`; changes the first one that is left.
std::span<iovec> without_first(std::span<iovec> parts, std::int64_t bytes) noexcept;
void gather(Parts from, std::byte* to) noexcept;
/// The first `bytes` of what `into` has room for.
void scatter(const std::byte* from, std::int64_t bytes, Parts into) noexcept;
/// Whether all begin at multiples of `alignment` and are multiples of `block` long.
bool are_aligned(Parts parts, std::int64_t alignment, std::int64_t block) noexcept;

}  // namespace penstock
