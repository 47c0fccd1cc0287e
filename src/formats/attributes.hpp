// The record of attributes that lies beside a file, as "field.npy.attrs.json": JSON text, which is
// replaced as a whole.
//
// A file that is replaced changes together with its record, although these are two: before, the new
// record is written under a name that ends in the new file's inode, as "field.npy.attrs.json.1234".
// Such a record counts once the file has that inode, and takes the other's name afterwards. An
// empty one says that there are no attributes.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

/// Empty where there is none. Throws Error(storage).
std::string read_attributes(const std::string& path);
/// Whoever reads it meanwhile, or after a crash, has the old record or the new one. Where it throws
/// Error(storage), the old one stays.
void replace_attributes(const std::string& path, const std::string& text);
/// Where there is one. Throws Error(storage).
void remove_attributes(const std::string& path);

/// What will be the record once the file at `new_path` has taken the place of the one at `path`.
/// Throws Error(storage).
void prepare_attributes(const std::string& path, const std::string& new_path,
                        const std::string& text);
/// What was prepared for the inode that the file has gets the record's name. Throws Error(storage).
void settle_attributes(const std::string& path);
/// What was prepared for a file that did not take that place.
void forget_attributes(const std::string& path, std::uint64_t inode) noexcept;

}  // namespace penstock
