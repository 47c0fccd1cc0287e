// CRC-32C (Castagnoli's polynomial; RFC 3720, appendix B.4). Without the inversions at both ends it
// is linear: the remainder of a message is the XOR of those of its parts, each with zeros in place
// of the others. So parts of one message in several processes need not be collected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept;

/// The remainder of a message continued by these bytes; 0 for a message of zeros.
std::uint32_t crc32c_remainder(std::uint32_t before, std::span<const std::byte> bytes) noexcept;

/// The effect of a number of zero bytes on a remainder.
class ZeroBytes {
 public:
  explicit ZeroBytes(std::int64_t count) noexcept;
  std::int64_t count() const noexcept { return count_; }
  std::uint32_t after(std::uint32_t before) const noexcept;

 private:
  std::int64_t count_;
  std::uint32_t power_;
};

/// The checksum of a message of this length.
std::uint32_t crc32c_of(std::uint32_t remainder, std::int64_t bytes) noexcept;

}  // namespace penstock
