// Access modes (MPI 4.1, section 14.2.1).
#pragma once

#include <string>

#include "storage/storage.hpp"

namespace penstock {

/// Throws an Error of class MPI_ERR_AMODE for combinations that the standard does not allow.
void check_amode(int amode);
OpenFlag flag_of(int amode);
/// For messages: "MPI_MODE_RDWR | MPI_MODE_CREATE".
std::string amode_text(int amode);

bool may_read(int amode) noexcept;
bool may_write(int amode) noexcept;

/// Removes "ufs:" or another file system's name, which ROMIO accepts before a path.
std::string path_without_prefix(const std::string& name);

}  // namespace penstock
