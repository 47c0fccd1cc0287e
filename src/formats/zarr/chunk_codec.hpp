// ChunkCodec: encodes a chunk's elements to stored bytes and decodes them. ShardIndex: where the
// chunks of a shard are in its file. Thread-safe.
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
  /// Whether a chunk of these elements need not be stored.
  bool is_all_fill(std::span<const std::byte> elements) const noexcept;
  /// Fills with elements of the fill value; `begin`: offset of `into` within a chunk.
  void fill(std::span<std::byte> into, std::int64_t begin) const noexcept;
  /// The encoded bytes; refers to `elements` if there is nothing to do, else to `memory`.
  std::span<const std::byte> encode(std::span<const std::byte> elements, Bytes& memory) const;
  /// `name`: the file, for error messages. `skipped`: bit i: codec i was not applied.
  Bytes decode(Bytes stored, const std::string& name, std::uint32_t skipped = 0) const;
  std::int64_t chunk_bytes() const noexcept { return chunk_bytes_; }
  /// The largest encoded chunk: a file, or an entry of a shard, must not be longer.
  std::int64_t longest_stored() const noexcept { return 2 * chunk_bytes_ + 65536; }
  /// Throws Error(format) if it is longer than that.
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

  /// Without entries: zarr.json may announce a billion of them, which need memory.
  explicit ShardIndex(const zarr::Array& array);
  /// For a shard without chunks.
  void clear();
  /// Throws Error(format) if the file has none, or one that points outside.
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
