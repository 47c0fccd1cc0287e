// zarr.json, up to a 0 byte, and then the file of a chunk or shard of this array.
#include <sys/mman.h>
#include <unistd.h>

#include "formats/zarr/array.hpp"
#include "formats/zarr/chunk_codec.hpp"
#include "formats/zarr/chunk_files.hpp"
#include "fuzz.hpp"

namespace ps = penstock;

namespace {

constexpr auto format = ps::ErrorClass::format, argument = ps::ErrorClass::argument;
// Bytes of a chunk: larger ones take time, and test no other code.
constexpr std::int64_t most_bytes = 1 << 18;

constexpr std::string_view words[] = {"\"shape\":[",
                                      "\"chunk_shape\":[",
                                      "\"codecs\":[",
                                      "{\"name\":\"zstd\"}",
                                      "{\"name\":\"gzip\"}",
                                      "{\"name\":\"blosc\"}",
                                      "{\"name\":\"crc32c\"}",
                                      "{\"name\":\"bytes\"}",
                                      "\"configuration\":{",
                                      "\"level\":",
                                      "\"sharding_indexed\"",
                                      "\"index_codecs\":",
                                      "\"fill_value\":",
                                      "\"NaN\"",
                                      "\"0x",
                                      "\"uint8\"",
                                      "\"complex128\"",
                                      "null",
                                      "true",
                                      "[",
                                      "]",
                                      "{",
                                      "}",
                                      ",",
                                      "-1",
                                      "1e400",
                                      "\"must_understand\":false",
                                      "\"dimension_names\":",
                                      "\"attributes\":{",
                                      "\"separator\":\".\"",
                                      "\"index_location\":\"start\"",
                                      "\"cname\":\"lz4\"",
                                      std::string_view("\0", 1)};

/// A file in memory that is opened by name, like chunk files.
class File {
 public:
  explicit File(std::span<const std::byte> content) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    const ssize_t written = ::pwrite(fd_, content.data(), content.size(), 0);
    ps::fuzz::require(written == std::ssize(content), "no memory for a file");
  }
  File(const File&) = delete;
  ~File() { ::close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

void decode(const ps::ChunkCodec& codec, std::span<const std::byte> stored) {
  codec.check_stored(stored.size(), "chunk");
  const ps::Bytes elements = codec.decode({stored.begin(), stored.end()}, "chunk");
  ps::fuzz::require(std::ssize(elements) == codec.chunk_bytes(), "a chunk of another length");
  ps::Bytes memory;
  const auto coded = codec.encode(elements, memory);
  codec.check_stored(coded.size(), "what was encoded");
  ps::fuzz::require(codec.decode({coded.begin(), coded.end()}, "again") == elements,
                    "a chunk comes back changed");
}

void decode_shard(const ps::zarr::Array& array, const ps::ChunkCodec& codec,
                  std::span<const std::byte> stored) {
  const File file(stored);
  ps::ShardIndex index(array);
  index.read(*ps::ChunkFile::open(file.path()));
  for (const ps::ShardIndex::Entry& entry : index.entries()) {
    if (entry.is_missing()) continue;
    const auto chunk = stored.subspan(entry.offset, entry.size);
    ps::fuzz::accepted([&] { decode(codec, chunk); }, {format});
  }
}

}  // namespace

std::span<const std::string_view> fuzz_words() {
  return words;
}

void fuzz_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view all = ps::fuzz::text_of(data, size);
  const std::string_view text = all.substr(0, all.find('\0'));
  const auto stored = std::as_bytes(std::span(data, size)).subspan(std::min(text.size() + 1, size));
  ps::fuzz::accepted([&] { ps::zarr::node_type_of(text); }, {format});
  ps::zarr::Array array;
  if (!ps::fuzz::accepted([&] { array = ps::zarr::parse(text); }, {format})) return;
  const std::string document = ps::zarr::document_of(array);
  ps::fuzz::require(ps::zarr::document_of(ps::zarr::parse(document)) == document,
                    "zarr.json that is written differs from what is read");
  if (array.grid.chunk_bytes() > most_bytes) return;
  const ps::ChunkCodec codec(array);
  const auto work = [&] {
    if (array.sharded) decode_shard(array, codec, stored);
    else decode(codec, stored);
  };
  ps::fuzz::accepted(work, {format});
}
