// The attributes of a file, in a file beside it, as "field.npy.attrs.json": JSON text, which is
// replaced as a whole.
//
// When a file is replaced, its attributes change at the same moment, although they are in another
// file: the new record is first written under a name that ends in the new file's inode, as
// "field.npy.attrs.json.1234". Such a record is valid once the file has that inode, and gets the
// normal name afterwards. An empty one means no attributes.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

/// Empty if there are none. Throws Error(storage).
std::string read_attributes(const std::string& path);
/// Concurrent readers, and readers after a crash, get the old record or the new one. If it throws
/// Error(storage), the old one stays.
void replace_attributes(const std::string& path, const std::string& text);
/// If there is one. Throws Error(storage).
void remove_attributes(const std::string& path);

/// Prepares the record for when the file at `new_path` has replaced the one at `path`. Throws
/// Error(storage).
void prepare_attributes(const std::string& path, const std::string& new_path,
                        const std::string& text);
/// Gives the record prepared for the file's inode its normal name. Throws Error(storage).
void settle_attributes(const std::string& path);
/// Removes what was prepared for a replacement that did not happen.
void forget_attributes(const std::string& path, std::uint64_t inode) noexcept;

}  // namespace penstock
