// ChunkStore: where an array's encoded chunks are kept: in files of a folder (zarr_folder), or at
// places of one file whose metadata another library maintains (formats/placed). Several I/O threads
// may use it at the same time, for different shards.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "formats/zarr/codec/codec.hpp"

namespace penstock {

/// A stored shard, open for reading: one chunk, or several.
class StoredChunk {
 public:
  using Identity = std::array<std::uint64_t, 4>;

  StoredChunk(const StoredChunk&) = delete;
  virtual ~StoredChunk() = default;

  /// Fills `into`; the range must lie within the size.
  virtual void read(std::span<std::byte> into, std::int64_t offset) const = 0;
  Bytes read_all() const {
    Bytes bytes(static_cast<std::size_t>(size_));
    read(bytes, 0);
    return bytes;
  }
  const std::string& name() const noexcept { return name_; }  ///< for messages
  std::int64_t size() const noexcept { return size_; }
  /// Bit i: codec i was not applied to this one.
  std::uint32_t skipped() const noexcept { return skipped_; }
  bool is_same_as(const StoredChunk& other) const noexcept { return identity_ == other.identity_; }

 protected:
  /// `identity`: no other content has the same one while this object exists.
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
  /// `keeps_old`: it includes elements that were there before.
  virtual void put(std::int64_t shard, std::span<const std::byte> content, bool keeps_old) = 0;
  /// Removes what is stored. False: it cannot be removed, and has to be overwritten by put().
  virtual bool remove(std::int64_t shard) = 0;
  /// Syncs what was put: 0, or -errno.
  virtual std::int64_t sync() = 0;
  /// As for a Storage.
  virtual bool bypass_cache(bool past) = 0;
  virtual void forget_cached() = 0;
  virtual const std::string& path() const = 0;  ///< for messages
};

}  // namespace penstock
