// The memory of one access, in several places: lists for scatter and gather.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

/// In this order contiguous in the file.
using Parts = std::span<const iovec>;

/// The memory of a write is only read from.
inline iovec part_of(std::span<const std::byte> memory) noexcept {
  return {const_cast<std::byte*>(memory.data()), memory.size()};
}
inline std::byte* begin_of(const iovec& part) noexcept {
  return static_cast<std::byte*>(part.iov_base);
}

std::int64_t size_of(Parts parts) noexcept;
/// Appends `size` bytes of `parts`, from `begin` on, to `to`, or fewer if they are in more than
/// `most` parts. Returns how many.
std::int64_t append_slice(std::vector<iovec>& to, Parts parts, std::int64_t begin,
                          std::int64_t size, std::size_t most);
/// The parts without their first `bytes`; modifies the first remaining one.
std::span<iovec> without_first(std::span<iovec> parts, std::int64_t bytes) noexcept;
void gather(Parts from, std::byte* to) noexcept;
/// Copies the first `bytes` that fit into `into`.
void scatter(const std::byte* from, std::int64_t bytes, Parts into) noexcept;
/// Whether all begin at multiples of `alignment` and have lengths that are multiples of `block`.
bool are_aligned(Parts parts, std::int64_t alignment, std::int64_t block) noexcept;

}  // namespace penstock
