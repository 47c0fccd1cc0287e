#include "formats/zarr/contents.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/failure.hpp"
#include "file/words.hpp"
#include "formats/zarr/chunk_folder.hpp"
#include "formats/zarr/chunk_remains.hpp"
#include "formats/zarr/chunk_storage.hpp"
#include "formats/zarr/chunked_dataset.hpp"
#include "mpi/launch.hpp"
#include "storage/posix.hpp"
#include "storage/regular_file.hpp"
#include "storage/replacement.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr const char* metadata = "/zarr.json";

/// The metadata of an array or group in this folder; nothing if there is none.
std::optional<std::string> read_metadata(const std::string& folder) {
  return read_metadata_file(folder + metadata);
}

zarr::Array parse_of(const std::string& folder, std::string_view text) {
  try {
    return zarr::parse(text);
  } catch (const Error& error) {
    throw Error(ErrorClass::format, "'" + folder + metadata + "': " + error.what());
  }
}

/// Moves the old chunks aside until the new metadata is there.
class OldChunks {
 public:
  OldChunks(std::string folder, const std::optional<zarr::Array>& old)
      : folder_(std::move(folder)), aside_(folder_ / ".old") {
    if (!old) return;
    std::vector<fs::path> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_))
      if (old->names_chunks(entry.path().filename().string()))
        names.push_back(entry.path().filename());
    if (names.empty()) return;
    fs::remove_all(aside_);  // left by a program that was killed in between
    fs::create_directory(aside_);
    for (const fs::path& name : names) {
      fs::rename(folder_ / name, aside_ / name);
      moved_.push_back(name);
    }
  }
  void bring_back() noexcept {
    std::error_code ignored;
    for (const fs::path& name : moved_) fs::rename(aside_ / name, folder_ / name, ignored);
    fs::remove(aside_, ignored);
  }
  /// What cannot be removed does no harm.
  void remove() noexcept {
    std::error_code ignored;
    fs::remove_all(aside_, ignored);
  }

 private:
  fs::path folder_, aside_;
  std::vector<fs::path> moved_;
};

/// The metadata of an array whose chunks are to be replaced.
std::optional<zarr::Array> old_array(const std::string& folder) {
  const std::optional<std::string> text = read_metadata(folder);
  if (!text) return std::nullopt;
  return parse_of(folder, *text);
}

}  // namespace

std::vector<Common> ZarrContents::common() const {
  std::vector<Common> values = ArrayContents::common();
  const ChunkSpec& chunks = given().chunks;
  std::string fill;
  for (const std::byte byte : chunks.fill_value)
    fill += std::to_string(std::to_integer<int>(byte)) + " ";
  std::string names;
  for (const std::string& name : chunks.dimension_names) names += "'" + name + "' ";
  values.push_back({"chunks", text_of(chunks.chunks)});
  values.push_back({"shards", text_of(chunks.shards)});
  values.push_back({"compressors", "'" + chunks.compressors + "'"});
  values.push_back({"fill_value (bytes)", fill});
  values.push_back({"dimension_names", names});
  values.push_back({"attributes", chunks.attributes});
  return values;
}

void ZarrContents::check(const Communicator& comm) {
  if (mode() != Mode::read) refuse_lone_writer(comm, path());
  if (mode() == Mode::replace)
    throw Error(ErrorClass::argument, "'" + path() +
                                          "' is a Zarr array, a folder of many files, which cannot "
                                          "be replaced in one step: open it with \"w\" under "
                                          "another name, and rename the folder");
  const StorageKind kind = hints().storage;
  if (kind != StorageKind::automatic && kind != StorageKind::posix)
    throw Error(ErrorClass::argument, "storage=" + std::string(hints().text().at("storage")) +
                                          " is for arrays in a file; chunks of a Zarr array are "
                                          "files of their own, which go through the page cache");
  if (!makes_anew(mode())) return;
  take(zarr::make(with_extent(given(), Order::c, 0)));
  text_ = zarr::document_of(*array_);
}

void ZarrContents::take(zarr::Array array) {
  array_ = std::move(array);
  *reach_ = array_->grid.total_bytes();
  describe(array_->spec(), wants_growth(given()));
}

/// On rank 0 the folder is made, or the metadata read.
std::unique_ptr<Storage> ZarrContents::open_storage(OpenFlag flag) {
  if (flag >= OpenFlag::create) {
    groups_.emplace(path());
    groups_->make_folders();
    if (::mkdir(path().c_str(), 0777) != 0 && (errno != EEXIST || flag == OpenFlag::create_new))
      throw_open_error(path(), flag, errno);
    remove_leftovers(path() + metadata);
    is_tidy_ = true;
    look_at_old();
  } else if (!array_) {
    find_array();
  }
  return make_chunk_storage(make_chunk_folder(path(), *array_), *array_, reach_);
}

void ZarrContents::find_array() {
  std::optional<std::string> text = read_metadata(path());
  if (!text) {
    struct stat status {};
    if (::stat(path().c_str(), &status) != 0) throw_errno("cannot open", path(), -errno);
    throw Error(ErrorClass::format, "'" + path() + "' has no zarr.json: it is no Zarr array");
  }
  set_findings(*text);
  check_given();
}

void ZarrContents::set_findings(std::string_view text) {
  text_ = text;
  take(parse_of(path(), text_));
}

/// What the program passed must match zarr.json.
void ZarrContents::check_given() const {
  const ArraySpec found = array_->spec();
  const auto differ = [&](const std::string& what, const std::string& file,
                          const std::string& user) {
    throw Error(ErrorClass::format, "'" + path() + "' has " + what + " " + file + ", not " + user);
  };
  const ArraySpec& asked = given();
  const auto agrees = [](std::int64_t wanted, std::int64_t there) {
    return wanted == there || wanted == unlimited;
  };
  const bool same =
      std::ranges::equal(asked.shape, found.shape, agrees) && asked.is_scalar == found.is_scalar;
  if (!same && !asked.shape.empty())
    differ("shape", found.is_scalar ? "()" : text_of(found.shape),
           asked.is_scalar ? "()" : shape_text(asked.shape));
  if (!asked.dtype.empty() && asked.dtype != found.dtype) differ("dtype", found.dtype, asked.dtype);
  if (asked.order == Order::fortran) differ("order", "C", "F");
  if (!asked.chunks.chunks.empty() && asked.chunks.chunks != found.chunks.chunks)
    differ("chunks", text_of(found.chunks.chunks), text_of(asked.chunks.chunks));
  if (!asked.chunks.shards.empty() && asked.chunks.shards != found.chunks.shards)
    differ("shards", text_of(found.chunks.shards), text_of(asked.chunks.shards));
  with_extent(asked, Order::c, 0);  // throws if another dimension is to grow
}

/// A folder to be recreated must hold an array, or nothing.
void ZarrContents::look_at_old() const {
  if (old_array(path())) return;
  std::error_code error;
  if (!fs::is_empty(path(), error) || error)
    throw Error(ErrorClass::format, "'" + path() +
                                        "' is there and is no Zarr array: nothing of it "
                                        "is replaced; remove it, or choose another name");
}

void ZarrContents::change(Storage& storage) {
  if (makes_anew(mode())) make_anew();
  else remove_remains(path(), *array_, storage);
}

/// The new metadata replaces the old one, and the old chunks are removed, after everything that can
/// fail.
void ZarrContents::make_anew() {
  try {
    OldChunks old(path(), old_array(path()));
    try {
      groups_->publish();
      write_metadata(text_);
    } catch (...) {
      old.bring_back();
      throw;
    }
    old.remove();
  } catch (const fs::filesystem_error& error) {
    throw_errno("replacing the chunks of", path(), -error.code().value());
  }
}

std::unique_ptr<Dataset> ZarrContents::dataset() const {
  return std::make_unique<ChunkedDataset>(array_->grid);
}

Reshaped ZarrContents::reshaped(std::vector<std::int64_t> shape) const {
  ChunkGrid grid = array_->grid;
  grid.shape = shape;
  grid.check();
  return {std::move(shape), grid.units(), std::make_unique<ChunkedDataset>(grid)};
}

void ZarrContents::become(const std::vector<std::int64_t>& shape) {
  ArrayContents::become(shape);
  array_->grid.shape = shape;
}

void ZarrContents::write_metadata(const std::string& text) {
  if (!std::exchange(is_tidy_, true)) remove_leftovers(path() + metadata);
  replace_file(path() + metadata, std::as_bytes(std::span(text)), {.synced = true});
}

void ZarrContents::update_metadata(Storage&) {
  text_ = zarr::document_of(*array_);
  write_metadata(text_);
}

/// The shape written with them does not include steps that are not settled yet.
void ZarrContents::set_attributes(const std::string& json) {
  zarr::Array changed = *array_;
  changed.attributes = json;
  if (!written_shape().empty()) changed.grid.shape = written_shape();
  write_metadata(zarr::document_of(changed));
}

void ZarrContents::mark_attributes(const std::string& json) {
  array_->attributes = json;
  describe_attributes(json);
}

}  // namespace penstock
