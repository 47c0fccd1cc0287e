// ChunkCodec: from a chunk's elements to the bytes that are stored, and back. ShardIndex: where the
// chunks of a shard lie in its file. Any number of threads may use these.
#pragma once

#include <memory>
#include <optional>

#include "formats/zarr/array.hpp"
#include "formats/zarr/chunk_store.hpp"

namespace penstock {

class ChunkCodec {
 public:
  explicit ChunkCodec(const zarr::Array& array);

  bool is_plain() const noexcept { return codecs_.empty(); }
  /// No chunk of these elements needs to be stored.
  bool is_all_fill(std::span<const std::byte> elements) const noexcept;
  /// Elements of the fill value; `begin`: which byte of a chunk `into` begins with.
  void fill(std::span<std::byte> into, std::int64_t begin) const noexcept;
  /// What is stored; refers to `elements` where there is nothing to do, else to `memory`.
  std::span<const std::byte> encode(std::span<const std::byte> elements, Bytes& memory) const;
  /// `name`: of the file, for the error of what cannot be decoded. `skipped`: bit i, the codec i
  /// was left out.
  Bytes decode(Bytes stored, const std::string& name, std::uint32_t skipped = 0) const;
  std::int64_t chunk_bytes() const noexcept { return chunk_bytes_; }
  /// The most that codecs make of a chunk: a file, or an entry of a shard, has no more.
  std::int64_t longest_stored() const noexcept { return 2 * chunk_bytes_ + 65536; }
  /// Throws Error(format) where it is more than that.
  void check_stored(std::uint64_t size, const std::string& name) const;

 private:
  std::vector<std::byte> fill_;
  std::int64_t chunk_bytes_;
  std::vector<std::unique_ptr<Codec>> codecs_;
};

class ShardIndex {
 public:
  struct Entry {
    std::uint64_t offset, size;
    bool is_missing() const noexcept { return offset == ~std::uint64_t{0} && size == offset; }
  };

  /// Without entries yet: zarr.json may tell of a thousand million, which take memory.
  explicit ShardIndex(const zarr::Array& array);
  /// Of a shard without chunks.
  void clear();
  /// Throws Error(format) where the file has none, or one that points outside.
  void read(const StoredChunk& file);
  Bytes encoded() const;
  std::int64_t bytes() const noexcept;
  bool is_at_end() const noexcept { return at_end_; }
  std::vector<Entry>& entries() noexcept { return entries_; }
  const std::vector<Entry>& entries() const noexcept { return entries_; }

 private:
  std::size_t count_;
  bool at_end_, little_, has_sum_;
  std::vector<Entry> entries_;
};

}  // namespace penstock
