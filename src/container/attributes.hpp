// The record of attributes that lies beside a file, as "field.npy.attrs.json": JSON text, which is
// replaced as a whole.
#pragma once

#include <string>

namespace penstock {

/// Empty where there is none. Throws Error(storage).
std::string read_attributes(const std::string& path);
/// Whoever reads it meanwhile, or after a crash, has the old record or the new one. Where it throws
/// Error(storage), the old one stays.
void replace_attributes(const std::string& path, const std::string& text);
/// Where there is one. Throws Error(storage).
void remove_attributes(const std::string& path);

}  // namespace penstock
