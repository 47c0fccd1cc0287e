#include "formats/zarr/chunk_folder.hpp"

#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>

#include "formats/zarr/chunk_files.hpp"
#include "storage/client_caches.hpp"
#include "storage/posix.hpp"
#include "storage/replacement.hpp"

namespace penstock {
namespace {

class ChunkFolder final : public ChunkStore {
 public:
  ChunkFolder(std::string folder, const zarr::Array& array)
      : array_(array), folder_(std::move(folder)) {}

  std::shared_ptr<StoredChunk> open(std::int64_t shard) override {
    return ChunkFile::open(path_of(shard));
  }
  void put(std::int64_t shard, std::span<const std::byte> content, bool keeps_old) override;
  bool remove(std::int64_t shard) override {
    remove_chunk_file(path_of(shard));
    note_written(shard);
    return true;
  }
  std::int64_t sync() override;
  /// Chunk files are never changed, but replaced: other hosts may not see at once that there is a
  /// new one.
  bool bypass_cache(bool past) override {
    anew_ = past;
    return true;
  }
  void forget_cached() override { anew_ = true; }
  const std::string& path() const override { return folder_; }

 private:
  std::string path_of(std::int64_t shard) const {
    std::string path = folder_ + "/" + array_.key_of(shard);
    if (anew_) look_anew(path);
    return path;
  }
  void note_written(std::int64_t shard) {
    const std::lock_guard guard(mutex_);
    unsynced_.insert(shard);
  }

  const zarr::Array array_;
  const std::string folder_;
  std::atomic<bool> anew_ = false;  // the kernel may have old files cached
  std::mutex mutex_;
  std::set<std::int64_t> unsynced_;  // shards
  std::set<std::string> tidy_;       // folders without leftovers of killed processes
};

/// A power cut must not lose elements that were there before, and not all file systems write a
/// file's data to the device before its new name.
void ChunkFolder::put(std::int64_t shard, std::span<const std::byte> content, bool keeps_old) {
  const std::string path = path_of(shard);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::unique_lock lock(mutex_);
  const bool first = tidy_.insert(folder).second;
  lock.unlock();
  if (first) remove_leftovers_in(folder);
  replace_file(path, content, {.makes_folders = true, .synced = keeps_old});
  note_written(shard);
}

/// Syncs the chunks that this rank has written, and their folders.
std::int64_t ChunkFolder::sync() {
  constexpr std::size_t few = 65536;
  std::set<std::int64_t> shards;
  {
    const std::lock_guard guard(mutex_);
    shards.swap(unsynced_);
  }
  try {
    sync_path(folder_ + "/zarr.json");
    if (shards.size() > few) {
      sync_file_system_of(folder_);
      return 0;
    }
    std::set<std::string> folders{folder_};
    for (const std::int64_t shard : shards) {
      std::filesystem::path path = path_of(shard);
      sync_path(path.string());
      while ((path = path.parent_path()).string().size() > folder_.size())
        folders.insert(path.string());
    }
    for (const std::string& folder : folders) sync_path(folder);
  } catch (...) {
    const std::lock_guard guard(mutex_);
    unsynced_.merge(shards);
    throw;
  }
  return 0;
}

}  // namespace

std::shared_ptr<ChunkStore> make_chunk_folder(std::string folder, const zarr::Array& array) {
  return std::make_shared<ChunkFolder>(std::move(folder), array);
}

}  // namespace penstock
