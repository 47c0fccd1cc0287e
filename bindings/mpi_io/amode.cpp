#include "mpi_io/amode.hpp"

#include <mpi.h>

#include <array>
#include <string_view>
#include <vector>

#include "mpi_io/mpi_error.hpp"

namespace penstock {
namespace {

struct NamedMode {
  int bit;
  std::string_view name;
};

const std::vector<NamedMode>& named_modes() {
  static const std::vector<NamedMode> modes{{MPI_MODE_RDONLY, "MPI_MODE_RDONLY"},
                                            {MPI_MODE_RDWR, "MPI_MODE_RDWR"},
                                            {MPI_MODE_WRONLY, "MPI_MODE_WRONLY"},
                                            {MPI_MODE_CREATE, "MPI_MODE_CREATE"},
                                            {MPI_MODE_EXCL, "MPI_MODE_EXCL"},
                                            {MPI_MODE_DELETE_ON_CLOSE, "MPI_MODE_DELETE_ON_CLOSE"},
                                            {MPI_MODE_UNIQUE_OPEN, "MPI_MODE_UNIQUE_OPEN"},
                                            {MPI_MODE_SEQUENTIAL, "MPI_MODE_SEQUENTIAL"},
                                            {MPI_MODE_APPEND, "MPI_MODE_APPEND"}};
  return modes;
}

[[noreturn]] void refuse(int amode, const std::string& why) {
  throw_mpi(MPI_ERR_AMODE, "amode " + amode_text(amode) + ": " + why);
}

}  // namespace

std::string amode_text(int amode) {
  std::string text;
  for (const NamedMode& mode : named_modes()) {
    if ((amode & mode.bit) == 0) continue;
    text += (text.empty() ? "" : " | ") + std::string(mode.name);
    amode &= ~mode.bit;
  }
  if (amode != 0 || text.empty()) text += (text.empty() ? "" : " | ") + std::to_string(amode);
  return text;
}

void check_amode(int amode) {
  int known = 0, ways = 0;
  for (const NamedMode& mode : named_modes()) known |= mode.bit;
  for (const int way : {MPI_MODE_RDONLY, MPI_MODE_RDWR, MPI_MODE_WRONLY})
    ways += (amode & way) != 0;
  if ((amode & ~known) != 0) refuse(amode, "it has bits that no mode has");
  if (ways != 1)
    refuse(amode, "exactly one of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY is needed");
  if ((amode & MPI_MODE_RDONLY) != 0 && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0)
    refuse(amode, "a file that is only read is not created");
  if ((amode & MPI_MODE_RDWR) != 0 && (amode & MPI_MODE_SEQUENTIAL) != 0)
    refuse(amode, "a sequential file is read or written, and not both");
}

OpenFlag flag_of(int amode) {
  if ((amode & MPI_MODE_RDONLY) != 0) return OpenFlag::read;
  if ((amode & MPI_MODE_CREATE) == 0) return OpenFlag::read_write;
  return (amode & MPI_MODE_EXCL) != 0 ? OpenFlag::create_new : OpenFlag::create;
}

bool may_read(int amode) noexcept {
  return (amode & MPI_MODE_WRONLY) == 0;
}

bool may_write(int amode) noexcept {
  return (amode & MPI_MODE_RDONLY) == 0;
}

std::string path_without_prefix(const std::string& name) {
  static constexpr std::array<std::string_view, 8> prefixes{
      "ufs:", "nfs:", "lustre:", "gpfs:", "xfs:", "pvfs2:", "panfs:", "testfs:"};
  for (const std::string_view prefix : prefixes)
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

}  // namespace penstock
