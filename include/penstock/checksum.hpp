// Checksums of distributed arrays.
#pragma once

#include <penstock/array_file.hpp>

namespace penstock {

/// The contribution of this rank's part to the CRC-32C of an array's bytes, as they lie in a file
/// in order C. Combine the shares of parts that form the array, each element once, by XOR, and pass
/// the result to crc32c_of_shares(). Not collective. The offset does not matter. Throws
/// Error(section, argument) for a part that does not fit the array.
PENSTOCK_EXPORT std::uint32_t crc32c_share(const ArrayPlace& array, const Part<WriteView>& part);
/// The checksum (RFC 3720, appendix B.4) of an array of this size.
PENSTOCK_EXPORT std::uint32_t crc32c_of_shares(std::uint32_t shares, std::int64_t bytes);

}  // namespace penstock
