// PlacedStore: chunks at places of one file. What is put is held in memory until it has got a place
// there, since only rank 0 can give it one. That is the next thing that the ranks do about the file
// (ByteFile::settle), so that no more is held than one call writes.
#pragma once

#include <map>
#include <mutex>
#include <unordered_map>

#include <penstock/placed_chunks.hpp>

#include "formats/zarr/chunk_store.hpp"
#include "storage/storage.hpp"

namespace penstock {

class PlacedStore final : public ChunkStore {
 public:
  PlacedStore(std::shared_ptr<Storage> file, const std::vector<ChunkPlace>& places);

  std::shared_ptr<StoredChunk> open(std::int64_t chunk) override;
  void put(std::int64_t chunk, std::span<const std::byte> content, bool keeps_old) override;
  /// What has a place keeps it: HDF5 forgets no chunk.
  bool remove(std::int64_t chunk) override;
  std::int64_t sync() override { return file_->sync(); }
  bool bypass_cache(bool past) override { return file_->bypass_cache(past); }
  void forget_cached() override { file_->forget_cached(); }
  const std::string& path() const override { return file_->path(); }

  /// What this rank holds, without places.
  std::vector<ChunkPlace> held() const;
  /// These chunks of all ranks have got their places: writes those that this rank holds. Throws
  /// Error(storage).
  void settle(const std::vector<ChunkPlace>& placed);

 private:
  struct Place {
    std::int64_t offset, size, skipped;
    std::uint64_t version;  // another one with each content
  };

  const std::shared_ptr<Storage> file_;
  mutable std::mutex mutex_;
  std::uint64_t version_ = 0;
  std::unordered_map<std::int64_t, Place> places_;
  std::map<std::int64_t, std::shared_ptr<StoredChunk>> held_;
};

}  // namespace penstock
