// ChunkStore: where what is stored of an array's chunks is kept: in files of a folder
// (zarr_folder), or at places of one file that another library keeps the metadata of
// (formats/placed). Several I/O threads may use one at a time, of different shards.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "formats/zarr/codec/codec.hpp"

namespace penstock {

/// What is stored of a shard, open for reading: a chunk, or several of them.
class StoredChunk {
 public:
  using Identity = std::array<std::uint64_t, 4>;

  StoredChunk(const StoredChunk&) = delete;
  virtual ~StoredChunk() = default;

  /// All of `into`; the range lies within the size.
  virtual void read(std::span<std::byte> into, std::int64_t offset) const = 0;
  Bytes read_all() const {
    Bytes bytes(static_cast<std::size_t>(size_));
    read(bytes, 0);
    return bytes;
  }
  const std::string& name() const noexcept { return name_; }  ///< for messages
  std::int64_t size() const noexcept { return size_; }
  /// Bit i: the codec i was left out for this one.
  std::uint32_t skipped() const noexcept { return skipped_; }
  bool is_same_as(const StoredChunk& other) const noexcept { return identity_ == other.identity_; }

 protected:
  /// `identity`: no other content has the same one while this exists.
  StoredChunk(std::string name, std::int64_t size, const Identity& identity,
              std::uint32_t skipped = 0)
      : name_(std::move(name)), size_(size), identity_(identity), skipped_(skipped) {}

 private:
  std::string name_;
  std::int64_t size_;
  Identity identity_;
  std::uint32_t skipped_;
};

class ChunkStore {
 public:
  virtual ~ChunkStore() = default;

  /// Null: nothing is stored, which means the fill value.
  virtual std::shared_ptr<StoredChunk> open(std::int64_t shard) = 0;
  /// `keeps_old`: it has elements that were there before.
  virtual void put(std::int64_t shard, std::span<const std::byte> content, bool keeps_old) = 0;
  /// Nothing is stored of it from now on. False: it cannot be taken away, and has to be put.
  virtual bool remove(std::int64_t shard) = 0;
  /// What was put is on the device: 0, or -errno.
  virtual std::int64_t sync() = 0;
  /// As of a Storage.
  virtual bool bypass_cache(bool past) = 0;
  virtual void forget_cached() = 0;
  virtual const std::string& path() const = 0;  ///< for messages
};

}  // namespace penstock
