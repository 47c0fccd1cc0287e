#include "formats/zarr/chunk_codec.hpp"

#include <algorithm>
#include <cstring>

#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::size_t sum_size = 4, number_size = 8;

void put_number(std::byte* at, std::uint64_t number, bool little) noexcept {
  for (std::size_t i = 0; i < number_size; ++i)
    at[i] = static_cast<std::byte>(number >> (8 * (little ? i : number_size - 1 - i)));
}

std::uint64_t number_at(const std::byte* at, bool little) noexcept {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < number_size; ++i)
    number |= std::to_integer<std::uint64_t>(at[i]) << (8 * (little ? i : number_size - 1 - i));
  return number;
}

[[noreturn]] void throw_bad_index(const std::string& path, const std::string& why) {
  throw Error(ErrorClass::format,
              "shard '" + path + "': its index " + why + "; the file is damaged or cut short");
}

}  // namespace

ChunkCodec::ChunkCodec(const zarr::Array& array)
    : fill_(array.fill), chunk_bytes_(array.grid.chunk_bytes()) {
  for (const CodecSettings& settings : array.codecs) codecs_.push_back(make_filter(settings));
}

/// The first element is the fill value, and each other one equals the previous one.
bool ChunkCodec::is_all_fill(std::span<const std::byte> elements) const noexcept {
  const std::size_t size = fill_.size();
  return std::memcmp(elements.data(), fill_.data(), size) == 0 &&
         std::memcmp(elements.data(), elements.data() + size, elements.size() - size) == 0;
}

void ChunkCodec::fill(std::span<std::byte> into, std::int64_t begin) const noexcept {
  if (std::ranges::all_of(fill_, [](std::byte b) { return b == std::byte{0}; })) {
    std::memset(into.data(), 0, into.size());
    return;
  }
  std::size_t phase = static_cast<std::size_t>(begin) % fill_.size();
  for (std::byte& byte : into) {
    byte = fill_[phase];
    phase = phase + 1 == fill_.size() ? 0 : phase + 1;
  }
}

std::span<const std::byte> ChunkCodec::encode(std::span<const std::byte> elements,
                                              Bytes& memory) const {
  std::span<const std::byte> coded = elements;
  for (const auto& codec : codecs_) {
    memory = codec->encode(coded);
    coded = memory;
  }
  return coded;
}

void ChunkCodec::check_stored(std::uint64_t size, const std::string& name) const {
  if (size > static_cast<std::uint64_t>(longest_stored()))
    throw Error(ErrorClass::format, "chunk '" + name + "' has " + std::to_string(size) +
                                        " bytes, and no chunk of " + std::to_string(chunk_bytes_) +
                                        " has more than " + std::to_string(longest_stored()) +
                                        "; it is damaged, or the metadata are another array's");
}

/// Intermediate results of codecs may be slightly longer than the chunk; only the innermost one has
/// a known length.
Bytes ChunkCodec::decode(Bytes stored, const std::string& name, std::uint32_t skipped) const {
  try {
    for (std::size_t i = codecs_.size(); i-- > 0;)
      if (i >= 32 || (skipped >> i & 1) == 0)
        stored = codecs_[i]->decode(stored, i == 0 ? chunk_bytes_ : longest_stored());
  } catch (const Error& error) {
    throw Error(error.error_class(), "chunk '" + name + "': " + error.what() +
                                         "; it is damaged, or the metadata are another array's");
  }
  if (static_cast<std::int64_t>(stored.size()) != chunk_bytes_)
    throw Error(ErrorClass::format, "chunk '" + name + "' has " + std::to_string(stored.size()) +
                                        " bytes where " + std::to_string(chunk_bytes_) +
                                        " were expected; it is cut short, or the metadata are "
                                        "another array's");
  return stored;
}

ShardIndex::ShardIndex(const zarr::Array& array)
    : count_(static_cast<std::size_t>(array.grid.chunks_in_shard())),
      at_end_(array.index_at_end),
      little_(array.index_little),
      has_sum_(array.index_has_sum) {}

void ShardIndex::clear() {
  entries_.assign(count_, Entry{~std::uint64_t{0}, ~std::uint64_t{0}});
}

std::int64_t ShardIndex::bytes() const noexcept {
  return static_cast<std::int64_t>(count_ * 2 * number_size + (has_sum_ ? sum_size : 0));
}

Bytes ShardIndex::encoded() const {
  Bytes bytes(entries_.size() * 2 * number_size);
  std::byte* at = bytes.data();
  for (const Entry& entry : entries_) {
    put_number(at, entry.offset, little_);
    put_number(at + number_size, entry.size, little_);
    at += 2 * number_size;
  }
  return has_sum_ ? make_codec({.name = "crc32c"})->encode(bytes) : bytes;
}

void ShardIndex::read(const StoredChunk& file) {
  if (file.size() < bytes())
    throw_bad_index(file.name(), "needs " + std::to_string(bytes()) + " bytes, the file has " +
                                     std::to_string(file.size()));
  Bytes stored(static_cast<std::size_t>(bytes()));
  file.read(stored, at_end_ ? file.size() - bytes() : 0);
  try {
    if (has_sum_) stored = make_codec({.name = "crc32c"})->decode(stored, bytes());
  } catch (const Error&) {
    throw_bad_index(file.name(), "has another checksum");
  }
  clear();
  const auto end = static_cast<std::uint64_t>(file.size());
  const std::byte* at = stored.data();
  for (Entry& entry : entries_) {
    entry = {number_at(at, little_), number_at(at + number_size, little_)};
    at += 2 * number_size;
    if (!entry.is_missing() && (entry.offset > end || entry.size > end - entry.offset))
      throw_bad_index(file.name(), "points outside the file");
  }
}

}  // namespace penstock
