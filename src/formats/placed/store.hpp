// PlacedStore: chunks at places of one file. New chunks are held in memory until rank 0 assigns
// them a place, which is the next thing that the ranks do with the file (ByteFile::settle), so no
// more is held than one call writes.
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
  /// A place is never released, since HDF5 cannot remove chunks.
  bool remove(std::int64_t chunk) override;
  std::int64_t sync() override { return file_->sync(); }
  bool bypass_cache(bool past) override { return file_->bypass_cache(past); }
  void forget_cached() override { file_->forget_cached(); }
  const std::string& path() const override { return file_->path(); }

  /// Chunks of this rank without places.
  std::vector<ChunkPlace> held() const;
  /// The chunks of all ranks with their assigned places: writes those of this rank. Throws
  /// Error(storage).
  void settle(const std::vector<ChunkPlace>& placed);

 private:
  struct Place {
    std::int64_t offset, size, skipped;
    std::uint64_t version;  // changes with the content
  };

  const std::shared_ptr<Storage> file_;
  mutable std::mutex mutex_;
  std::uint64_t version_ = 0;
  std::unordered_map<std::int64_t, Place> places_;
  std::map<std::int64_t, std::shared_ptr<StoredChunk>> held_;
};

}  // namespace penstock
