// Chunk files in an array's folder. All functions throw Error(storage) with the file's name.
#pragma once

#include <memory>
#include <string>

#include "base/failure.hpp"
#include "formats/zarr/chunk_store.hpp"

namespace penstock {

/// A file of a chunk or shard, open for reading. While it is open no other file of this host gets
/// its identity.
class ChunkFile final : public StoredChunk {
 public:
  /// Null: it does not exist.
  static std::shared_ptr<ChunkFile> open(const std::string& path);
  ~ChunkFile() override;

  void read(std::span<std::byte> into, std::int64_t offset) const override;

 private:
  ChunkFile(int fd, const std::string& path, std::int64_t size, const Identity& identity);

  int fd_;
};

/// It need not exist.
void remove_chunk_file(const std::string& path);
/// Syncs the file system of this path.
void sync_file_system_of(const std::string& path);

}  // namespace penstock
