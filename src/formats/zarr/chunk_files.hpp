// The files of chunks in an array's folder. All throw Error(storage) with the file's name.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/failure.hpp"
#include "formats/zarr/codec/codec.hpp"

namespace penstock {

/// A file of a chunk or shard, open for reading. While it is open no other file of this host gets
/// its identity.
class ChunkFile {
 public:
  /// Null: it is not there.
  static std::shared_ptr<ChunkFile> open(const std::string& path);
  ChunkFile(const ChunkFile&) = delete;
  ~ChunkFile();

  const std::string& path() const noexcept { return path_; }
  std::int64_t size() const noexcept { return size_; }
  bool is_same_as(const ChunkFile& other) const noexcept { return identity_ == other.identity_; }
  /// All of `into`; the range lies within the size.
  void read(std::span<std::byte> into, std::int64_t offset) const;
  Bytes read_all() const;

 private:
  ChunkFile(int fd, std::string path);

  int fd_;
  std::string path_;
  std::int64_t size_ = 0;
  std::array<std::uint64_t, 4> identity_{};
};

/// Also where it is not there.
void remove_chunk_file(const std::string& path);
/// All of the file system that has this path.
void sync_file_system_of(const std::string& path);

}  // namespace penstock
