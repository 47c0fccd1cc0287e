#include "formats/zarr/chunk_storage.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/extent.hpp"
#include "formats/zarr/chunk_codec.hpp"

namespace penstock {
namespace {

/// The chunk decoded last: parts of a chunk are often read one after the other.
struct Decoded {
  std::shared_ptr<StoredChunk> file;  // its encoded source
  std::int64_t chunk = -1;            // number within the shard
  Bytes elements;
};

/// Reads through the memory of an access from its first byte on.
class PartsCursor {
 public:
  explicit PartsCursor(Parts parts) : parts_(parts) {}

  /// The next `size` bytes: in place, or copied to `memory` if they are not contiguous.
  std::span<const std::byte> take(std::size_t size, Bytes& memory) {
    if (size <= left()) {
      const std::span<const std::byte> here(begin(), size);
      advance(size);
      return here;
    }
    memory.resize(size);
    for_each(size, [at = memory.data()](std::span<std::byte> piece) mutable {
      std::memcpy(at, piece.data(), piece.size());
      at += piece.size();
    });
    return memory;
  }
  template <class Visit>
  void for_each(std::size_t size, Visit&& visit) {
    while (size > 0) {
      const std::size_t piece = std::min(size, left());
      visit(std::span<std::byte>(begin(), piece));
      advance(piece);
      size -= piece;
    }
  }

 private:
  std::byte* begin() const noexcept { return begin_of(parts_.front()) + at_; }
  std::size_t left() const noexcept { return parts_.front().iov_len - at_; }
  void advance(std::size_t size) noexcept {
    at_ += size;
    while (!parts_.empty() && at_ == parts_.front().iov_len) {
      parts_ = parts_.subspan(1);
      at_ = 0;
    }
  }

  Parts parts_;
  std::size_t at_ = 0;
};

/// A shard that is partly replaced.
struct OldShard {
  std::shared_ptr<StoredChunk> file;  // null: does not exist
  ShardIndex index;

  /// Empty for a missing chunk.
  Bytes stored(std::int64_t chunk, const ChunkCodec& codec) const {
    const ShardIndex::Entry& entry = index.entries()[static_cast<std::size_t>(chunk)];
    if (entry.is_missing()) return {};
    codec.check_stored(entry.size, file->name());
    Bytes bytes(entry.size);
    if (!bytes.empty()) file->read(bytes, static_cast<std::int64_t>(entry.offset));
    return bytes;
  }
};

/// Memory reused for one chunk after the other.
struct Scratch {
  Bytes elements, coded;
};

class ChunkStorage : public Storage {
 public:
  ChunkStorage(std::shared_ptr<ChunkStore> store, const zarr::Array& array,
               std::shared_ptr<const std::atomic<std::int64_t>> reach)
      : array_(array), store_(std::move(store)), codec_(array_), reach_(std::move(reach)) {}

  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override;
  bool bypass_cache(bool past) override { return store_->bypass_cache(past); }
  void forget_cached() override { store_->forget_cached(); }
  std::int64_t size() override { return *reach_; }
  /// Chunks that nobody has written need no files.
  std::int64_t resize(std::int64_t bytes) override { return bytes < size() ? -EOPNOTSUPP : 0; }
  std::int64_t sync() override { return store_->sync(); }
  /// A chunk has one writer among the ranks that have the array open; other programs are not
  /// excluded.
  std::unique_ptr<RangeLock> lock(Extent, LockKind, int& error) override {
    error = 0;
    return std::make_unique<RangeLock>();
  }
  const std::string& path() const override { return store_->path(); }

 private:
  void write_piece(std::int64_t shard, Extent piece, PartsCursor& memory);
  void write_chunk(std::int64_t shard, Extent piece, PartsCursor& memory);
  void write_shard(std::int64_t shard, Extent piece, PartsCursor& memory);
  std::span<const std::byte> stored_of(const OldShard& old, std::int64_t chunk, Extent piece,
                                       PartsCursor& memory, Scratch& scratch);
  Bytes changed(const std::shared_ptr<StoredChunk>& file, const ShardIndex* index,
                std::int64_t chunk, Extent piece, PartsCursor& memory);
  void read_piece(std::int64_t shard, Extent piece, PartsCursor& memory);
  void read_chunk(const std::shared_ptr<StoredChunk>& file, const ShardIndex* index,
                  std::int64_t chunk, Extent piece, PartsCursor& memory);
  std::shared_ptr<const Decoded> decoded(const std::shared_ptr<StoredChunk>& file,
                                         const ShardIndex* index, std::int64_t chunk);

  const zarr::Array array_;
  const std::shared_ptr<ChunkStore> store_;
  const ChunkCodec codec_;
  const std::shared_ptr<const std::atomic<std::int64_t>> reach_;
  std::mutex mutex_;
  std::shared_ptr<const Decoded> last_;
};

std::int64_t ChunkStorage::move_some(Direction direction, Parts memory, std::int64_t offset) {
  const Extent range = intersect({offset, offset + size_of(memory)}, {0, size()});
  if (range.empty()) return 0;
  const std::int64_t bytes = array_.grid.shard_bytes();
  PartsCursor cursor(memory);
  for (std::int64_t at = range.begin; at < range.end;) {
    const std::int64_t shard = at / bytes;
    const Extent piece{at % bytes, std::min(range.end - shard * bytes, bytes)};
    if (direction == Direction::read) read_piece(shard, piece, cursor);
    else write_piece(shard, piece, cursor);
    at += piece.length();
  }
  return range.length();
}

void ChunkStorage::write_piece(std::int64_t shard, Extent piece, PartsCursor& memory) {
  array_.sharded ? write_shard(shard, piece, memory) : write_chunk(shard, piece, memory);
}

/// A chunk with a part replaced.
Bytes ChunkStorage::changed(const std::shared_ptr<StoredChunk>& file, const ShardIndex* index,
                            std::int64_t chunk, Extent piece, PartsCursor& memory) {
  Bytes elements(static_cast<std::size_t>(codec_.chunk_bytes()));
  const auto entry = static_cast<std::size_t>(chunk);
  if (file == nullptr || (index != nullptr && index->entries()[entry].is_missing()))
    codec_.fill(elements, 0);
  else elements = decoded(file, index, chunk)->elements;
  memory.for_each(static_cast<std::size_t>(piece.length()),
                  [at = elements.data() + piece.begin](std::span<std::byte> part) mutable {
                    std::memcpy(at, part.data(), part.size());
                    at += part.size();
                  });
  return elements;
}

void ChunkStorage::write_chunk(std::int64_t shard, Extent piece, PartsCursor& memory) {
  Bytes own, coded;
  std::span<const std::byte> elements;
  std::shared_ptr<StoredChunk> old;
  if (piece.length() == codec_.chunk_bytes()) {
    elements = memory.take(static_cast<std::size_t>(piece.length()), own);
  } else {
    old = store_->open(shard);
    own = changed(old, nullptr, 0, piece, memory);
    elements = own;
  }
  if (codec_.is_all_fill(elements) && store_->remove(shard)) return;
  store_->put(shard, codec_.encode(elements, coded), old != nullptr);
}

/// The encoded form of a chunk some of whose bytes are replaced: empty if it is all fill value.
std::span<const std::byte> ChunkStorage::stored_of(const OldShard& old, std::int64_t chunk,
                                                   Extent piece, PartsCursor& memory,
                                                   Scratch& scratch) {
  std::span<const std::byte> elements;
  if (piece.length() == codec_.chunk_bytes()) {
    elements = memory.take(static_cast<std::size_t>(piece.length()), scratch.elements);
  } else {
    scratch.elements = changed(old.file, &old.index, chunk, piece, memory);
    elements = scratch.elements;
  }
  if (codec_.is_all_fill(elements)) return {};
  return codec_.encode(elements, scratch.coded);
}

/// Untouched chunks keep their encoded form.
void ChunkStorage::write_shard(std::int64_t shard, Extent piece, PartsCursor& memory) {
  const std::int64_t bytes = codec_.chunk_bytes();
  OldShard old{nullptr, ShardIndex(array_)};
  if (piece.length() < array_.grid.shard_bytes()) old.file = store_->open(shard);
  if (old.file != nullptr) old.index.read(*old.file);
  else old.index.clear();
  ShardIndex index(array_);
  index.clear();
  Bytes content(static_cast<std::size_t>(index.is_at_end() ? 0 : index.bytes()));
  Scratch scratch;
  bool any = false;
  for (std::int64_t chunk = 0; chunk < array_.grid.chunks_in_shard(); ++chunk) {
    const Extent touched = intersect(piece, {chunk * bytes, (chunk + 1) * bytes});
    std::span<const std::byte> stored;
    if (touched.empty()) {
      scratch.coded = old.stored(chunk, codec_);
      stored = scratch.coded;
    } else {
      const Extent within{touched.begin - chunk * bytes, touched.end - chunk * bytes};
      stored = stored_of(old, chunk, within, memory, scratch);
    }
    if (stored.empty()) continue;
    index.entries()[static_cast<std::size_t>(chunk)] = {content.size(), stored.size()};
    content.insert(content.end(), stored.begin(), stored.end());
    any = true;
  }
  if (!any && store_->remove(shard)) return;
  const Bytes table = index.encoded();
  if (index.is_at_end()) content.insert(content.end(), table.begin(), table.end());
  else std::ranges::copy(table, content.begin());
  store_->put(shard, content, old.file != nullptr);
}

void ChunkStorage::read_piece(std::int64_t shard, Extent piece, PartsCursor& memory) {
  const std::shared_ptr<StoredChunk> file = store_->open(shard);
  if (!array_.sharded || file == nullptr) return read_chunk(file, nullptr, 0, piece, memory);
  ShardIndex index(array_);
  index.read(*file);
  const std::int64_t bytes = codec_.chunk_bytes();
  for (std::int64_t chunk = piece.begin / bytes; chunk * bytes < piece.end; ++chunk) {
    const Extent touched = intersect(piece, {chunk * bytes, (chunk + 1) * bytes});
    read_chunk(file, &index, chunk, {touched.begin - chunk * bytes, touched.end - chunk * bytes},
               memory);
  }
}

void ChunkStorage::read_chunk(const std::shared_ptr<StoredChunk>& file, const ShardIndex* index,
                              std::int64_t chunk, Extent piece, PartsCursor& memory) {
  const auto size = static_cast<std::size_t>(piece.length());
  std::int64_t at = piece.begin;
  if (file == nullptr ||
      (index != nullptr && index->entries()[static_cast<std::size_t>(chunk)].is_missing())) {
    memory.for_each(size, [&](std::span<std::byte> part) {
      codec_.fill(part, at);
      at += static_cast<std::int64_t>(part.size());
    });
  } else if (index == nullptr && codec_.is_plain() && file->size() == codec_.chunk_bytes()) {
    memory.for_each(size, [&](std::span<std::byte> part) {
      file->read(part, at);
      at += static_cast<std::int64_t>(part.size());
    });
  } else {
    const std::shared_ptr<const Decoded> chunk_read = decoded(file, index, chunk);
    memory.for_each(size, [&](std::span<std::byte> part) {
      std::memcpy(part.data(), chunk_read->elements.data() + at, part.size());
      at += static_cast<std::int64_t>(part.size());
    });
  }
}

std::shared_ptr<const Decoded> ChunkStorage::decoded(const std::shared_ptr<StoredChunk>& file,
                                                     const ShardIndex* index, std::int64_t chunk) {
  {
    const std::lock_guard guard(mutex_);
    if (last_ != nullptr && last_->chunk == chunk && last_->file->is_same_as(*file)) return last_;
    last_.reset();  // its memory is reused for the next one
  }
  auto fresh = std::make_shared<Decoded>();
  fresh->file = file;
  fresh->chunk = chunk;
  Bytes stored;
  std::string name = file->name();
  if (index == nullptr) {
    codec_.check_stored(static_cast<std::uint64_t>(file->size()), name);
    stored = file->read_all();
  } else {
    const ShardIndex::Entry& entry = index->entries()[static_cast<std::size_t>(chunk)];
    name += "', number " + std::to_string(chunk) + " of it '";
    codec_.check_stored(entry.size, name);
    stored.resize(entry.size);
    file->read(stored, static_cast<std::int64_t>(entry.offset));
  }
  fresh->elements = codec_.decode(std::move(stored), name, index == nullptr ? file->skipped() : 0);
  const std::lock_guard guard(mutex_);
  last_ = fresh;
  return fresh;
}

}  // namespace

std::unique_ptr<Storage> make_chunk_storage(
    std::shared_ptr<ChunkStore> store, const zarr::Array& array,
    std::shared_ptr<const std::atomic<std::int64_t>> reach) {
  return std::make_unique<ChunkStorage>(std::move(store), array, std::move(reach));
}

}  // namespace penstock
