#include "formats/zarr/groups.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "base/failure.hpp"
#include "formats/zarr/array.hpp"
#include "formats/zarr/chunk_files.hpp"
#include "storage/regular_file.hpp"
#include "storage/replacement.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

bool lies_in_zarr(const fs::path& path) {
  return std::ranges::any_of(path,
                             [](const fs::path& part) { return part.extension() == ".zarr"; });
}

/// Metadata of Zarr 3 beside that of Zarr 2 would hide the existing data.
void check_is_no_older(const fs::path& folder) {
  for (const char* name : {".zgroup", ".zarray"})
    if (fs::exists(folder / name))
      throw Error(ErrorClass::format,
                  "'" + folder.string() + "' is of Zarr 2 (it has " + name +
                      "), and Penstock writes Zarr 3; choose another folder, or let zarr-python "
                      "convert it (zarr migrate v3)");
}

void check_is_no_array(const fs::path& folder) {
  const std::string name = (folder / "zarr.json").string();
  const std::optional<std::string> text = read_metadata_file(name);
  if (!text) return check_is_no_older(folder);
  std::string type;
  try {
    type = zarr::node_type_of(*text);
  } catch (const Error& error) {
    throw Error(ErrorClass::format, "'" + name + "': " + error.what());
  }
  if (type != "group")
    throw Error(ErrorClass::format, "'" + folder.string() + "' is a Zarr " + type +
                                        ", in which no array can lie; choose another name");
}

}  // namespace

ZarrGroups::ZarrGroups(const std::string& path) {
  fs::path folder(path);
  if (!folder.has_filename()) folder = folder.parent_path();
  while (folder.has_relative_path() && lies_in_zarr(folder = folder.parent_path()))
    folders_.insert(folders_.begin(), folder);
}

ZarrGroups::~ZarrGroups() {
  std::error_code ignored;
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) fs::remove(*folder, ignored);
}

void ZarrGroups::make_folders() {
  for (const fs::path& folder : folders_) {
    check_is_no_array(folder);
    if (::mkdir(folder.c_str(), 0777) == 0) made_.push_back(folder);
    else if (errno != EEXIST) throw_errno("cannot make the folder", folder.string(), -errno);
  }
}

void ZarrGroups::publish() {
  const std::string text = zarr::group_text();
  for (const fs::path& folder : folders_) {
    const std::string name = (folder / "zarr.json").string();
    if (ChunkFile::open(name) == nullptr)
      replace_file(name, std::as_bytes(std::span(text)), {.synced = true});
  }
  made_.clear();
}

}  // namespace penstock
