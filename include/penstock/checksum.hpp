// Checksums of arrays that several processes hold.
#pragma once

#include <penstock/array_file.hpp>

namespace penstock {

/// What this rank's part of an array does to the CRC-32C of all of its bytes, as they lie in a file
/// in order C. The XOR of the shares of parts that are the array together, each element once, is
/// what crc32c_of_shares() makes the checksum of. Not collective. The offset does not matter.
/// Throws Error(section, argument) for a part that does not fit the array.
PENSTOCK_EXPORT std::uint32_t crc32c_share(const ArrayPlace& array, const Part<WriteView>& part);
/// The checksum (RFC 3720, appendix B.4) of an array of so many bytes.
PENSTOCK_EXPORT std::uint32_t crc32c_of_shares(std::uint32_t shares, std::int64_t bytes);

}  // namespace penstock
