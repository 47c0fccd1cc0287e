#include "formats/placed/store.hpp"

#include <cstring>

#include "base/failure.hpp"

namespace penstock {
namespace {

class PlacedChunk final : public StoredChunk {
 public:
  PlacedChunk(std::shared_ptr<Storage> file, std::int64_t offset, std::int64_t size,
              const Identity& identity, std::uint32_t skipped)
      : StoredChunk(file->path() + "', at byte " + std::to_string(offset) + " of it '", size,
                    identity, skipped),
        file_(std::move(file)),
        offset_(offset) {}

  void read(std::span<std::byte> into, std::int64_t offset) const override {
    const Transfer moved = read_fully(*file_, into, offset_ + offset);
    if (moved.error != 0) throw_errno("reading a chunk of", file_->path(), -moved.error);
    if (moved.bytes < static_cast<std::int64_t>(into.size()))
      throw Error(ErrorClass::format, "chunk '" + name() + "' is beyond the end of the file");
  }

 private:
  std::shared_ptr<Storage> file_;
  std::int64_t offset_;
};

class HeldChunk final : public StoredChunk {
 public:
  HeldChunk(const std::string& path, std::span<const std::byte> content, const Identity& identity)
      : StoredChunk(path, static_cast<std::int64_t>(content.size()), identity),
        content_(content.begin(), content.end()) {}

  void read(std::span<std::byte> into, std::int64_t offset) const override {
    std::memcpy(into.data(), content_.data() + offset, into.size());
  }
  std::span<const std::byte> content() const noexcept { return content_; }

 private:
  const Bytes content_;
};

}  // namespace

PlacedStore::PlacedStore(std::shared_ptr<Storage> file, const std::vector<ChunkPlace>& places)
    : file_(std::move(file)) {
  places_.reserve(places.size());
  for (const ChunkPlace& place : places)
    places_[place.chunk] = {place.offset, place.size, place.skipped, 0};
}

std::shared_ptr<StoredChunk> PlacedStore::open(std::int64_t chunk) {
  const std::lock_guard guard(mutex_);
  if (const auto held = held_.find(chunk); held != held_.end()) return held->second;
  const auto found = places_.find(chunk);
  if (found == places_.end()) return nullptr;
  const Place& place = found->second;
  return std::make_shared<PlacedChunk>(
      file_, place.offset, place.size,
      StoredChunk::Identity{static_cast<std::uint64_t>(chunk), place.version},
      static_cast<std::uint32_t>(place.skipped));
}

void PlacedStore::put(std::int64_t chunk, std::span<const std::byte> content, bool) {
  std::unique_lock lock(mutex_);
  const StoredChunk::Identity identity{static_cast<std::uint64_t>(chunk), ++version_};
  lock.unlock();
  auto held = std::make_shared<HeldChunk>(path(), content, identity);
  lock.lock();
  held_[chunk] = std::move(held);
}

bool PlacedStore::remove(std::int64_t chunk) {
  const std::lock_guard guard(mutex_);
  if (places_.contains(chunk)) return false;
  held_.erase(chunk);
  return true;
}

std::vector<ChunkPlace> PlacedStore::held() const {
  const std::lock_guard guard(mutex_);
  std::vector<ChunkPlace> chunks;
  for (const auto& [chunk, held] : held_) chunks.push_back({.chunk = chunk, .size = held->size()});
  return chunks;
}

void PlacedStore::settle(const std::vector<ChunkPlace>& placed) {
  std::map<std::int64_t, std::shared_ptr<StoredChunk>> held;
  {
    const std::lock_guard guard(mutex_);
    held.swap(held_);
    ++version_;
    for (const ChunkPlace& place : placed)
      places_[place.chunk] = {place.offset, place.size, 0, version_};
  }
  for (const ChunkPlace& place : placed) {
    const auto mine = held.find(place.chunk);
    if (mine == held.end()) continue;
    const auto& chunk = static_cast<const HeldChunk&>(*mine->second);
    const Transfer moved = write_fully(*file_, chunk.content(), place.offset);
    if (moved.error != 0) throw_errno("writing a chunk of", path(), -moved.error);
    held.erase(mine);
  }
}

}  // namespace penstock
