// CRC-32C (Castagnoli's polynomial; RFC 3720, appendix B.4). Without the inversions at its begin
// and end it is linear: the remainder of a message is the XOR of those of its parts, each with
// zeros where the others are. So parts of one message that lie in several processes need not be
// brought together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept;

/// Of a message that goes on with these bytes; 0 of a message of zeros.
std::uint32_t crc32c_remainder(std::uint32_t before, std::span<const std::byte> bytes) noexcept;

/// What so many zero bytes do to a remainder.
class ZeroBytes {
 public:
  explicit ZeroBytes(std::int64_t count) noexcept;
  std::int64_t count() const noexcept { return count_; }
  std::uint32_t after(std::uint32_t before) const noexcept;

 private:
  std::int64_t count_;
  std::uint32_t power_;
};

/// The checksum of a message of so many bytes.
std::uint32_t crc32c_of(std::uint32_t remainder, std::int64_t bytes) noexcept;

}  // namespace penstock
