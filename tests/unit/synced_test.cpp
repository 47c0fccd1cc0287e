// Syncing what formats keep beside an array's bytes: attributes, chunk files and their folders. And
// the content of chunks that nobody has written.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "formats/attributes.hpp"
#include "formats/placed/store.hpp"
#include "formats/zarr/chunk_codec.hpp"
#include "formats/zarr/chunk_folder.hpp"
#include "formats/zarr/chunk_storage.hpp"
#include "storage_temp_folder.hpp"
#include "support/sync_log.hpp"

namespace penstock {
namespace {

using test::take_synced;
using test::TempFolder;

TEST(Synced, ARecordOfAttributesBeforeItTakesThePlaceOfTheOldOne) {
  const TempFolder folder;
  const std::string path = folder.file("f.npy");
  std::ofstream(path) << "array";
  replace_attributes(path, "{\"a\": 1}");
  take_synced();
  replace_attributes(path, "{\"a\": 2}");
  const auto synced = take_synced();
  ASSERT_EQ(synced.size(), 2u);  // then the folder, for its name
  EXPECT_EQ(synced[0].content, "{\"a\": 2}");
  EXPECT_EQ(read_attributes(path), "{\"a\": 2}");
}

/// A file without attributes that takes the place of one with some has none.
TEST(Attributes, GoWithTheFileThatIsReplaced) {
  const TempFolder folder;
  const std::string path = folder.file("f.npy"), next = folder.file("next");
  std::ofstream(path) << "old";
  replace_attributes(path, "{\"a\": 1}");
  std::ofstream(next) << "new";
  prepare_attributes(path, next, "");
  EXPECT_EQ(read_attributes(path), "{\"a\": 1}");
  std::filesystem::rename(next, path);
  EXPECT_EQ(read_attributes(path), "");
  settle_attributes(path);
  EXPECT_EQ(read_attributes(path), "");
  EXPECT_FALSE(std::filesystem::exists(path + ".attrs.json"));
}

/// Of 4-byte elements.
zarr::Array array_of(const Shape& shape, const Shape& chunk) {
  zarr::Array array;
  array.grid.shape = shape;
  array.grid.chunk = array.grid.shard = chunk;
  array.grid.element_size = 4;
  array.dtype = "<i4";
  array.fill = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  return array;
}

TEST(Synced, ChunksAndTheFoldersThatNameThem) {
  const TempFolder folder;
  const zarr::Array array = array_of({4, 8}, {2, 4});
  const auto reach = std::make_shared<std::atomic<std::int64_t>>(array.grid.total_bytes());
  const auto storage = make_chunk_storage(make_chunk_folder(folder.path(), array), array, reach);
  const auto bytes = test::pattern(static_cast<std::size_t>(array.grid.chunk_bytes()));
  const std::int64_t last = array.grid.total_bytes() - array.grid.chunk_bytes();
  ASSERT_EQ(write_fully(*storage, bytes, last).bytes, array.grid.chunk_bytes());
  take_synced();
  EXPECT_EQ(storage->sync(), 0);
  const auto synced = take_synced();
  for (const char* name : {"c/1/1", "c/1", "c", "."})
    EXPECT_TRUE(test::has_path(synced, folder.file(name))) << name;
  EXPECT_EQ(storage->sync(), 0);
  EXPECT_FALSE(test::has_path(take_synced(), folder.file("c/1/1"))) << "once is enough";
}

/// The new chunk takes the place of the elements that stay: it is on the device before.
TEST(Synced, AChunkThatIsChangedInPart) {
  const TempFolder folder;
  const zarr::Array array = array_of({4, 8}, {2, 4});
  const auto reach = std::make_shared<std::atomic<std::int64_t>>(array.grid.total_bytes());
  const auto storage = make_chunk_storage(make_chunk_folder(folder.path(), array), array, reach);
  const auto bytes = test::pattern(static_cast<std::size_t>(array.grid.chunk_bytes()));
  ASSERT_EQ(write_fully(*storage, bytes, 0).error, 0);
  take_synced();
  ASSERT_EQ(write_fully(*storage, std::span(bytes).first(4), 4).error, 0);
  std::vector<std::byte> changed = bytes;
  std::copy_n(bytes.begin(), 4, changed.begin() + 4);
  const std::string content(reinterpret_cast<const char*>(changed.data()), changed.size());
  EXPECT_EQ(std::ranges::count(take_synced(), content, &test::Synced::content), 1);
}

/// What could not be synced is not forgotten: the next sync brings it to the device.
TEST(Synced, ChunksAgainAfterASyncThatFailed) {
  const TempFolder folder;
  const zarr::Array array = array_of({4, 8}, {2, 4});
  const auto reach = std::make_shared<std::atomic<std::int64_t>>(array.grid.total_bytes());
  const auto storage = make_chunk_storage(make_chunk_folder(folder.path(), array), array, reach);
  const auto bytes = test::pattern(static_cast<std::size_t>(array.grid.chunk_bytes()));
  ASSERT_EQ(write_fully(*storage, bytes, 0).error, 0);
  const std::string metadata = folder.file("zarr.json");
  std::filesystem::create_symlink(metadata, metadata);  // a link to itself
  EXPECT_THROW(storage->sync(), Error);
  ASSERT_EQ(write_fully(*storage, bytes, array.grid.chunk_bytes()).error, 0);
  EXPECT_THROW(storage->sync(), Error);
  std::filesystem::remove(metadata);
  take_synced();
  EXPECT_EQ(storage->sync(), 0);
  const auto synced = take_synced();
  for (const char* name : {"c/0/0", "c/0/1"})
    EXPECT_TRUE(test::has_path(synced, folder.file(name))) << name;
}

TEST(Chunks, AreFilledFromAnyByteOn) {
  const ChunkCodec codec(array_of({4, 8}, {2, 4}));
  for (std::int64_t begin = 0; begin < 9; ++begin) {
    std::vector<std::byte> into(7);
    codec.fill(into, begin);
    for (std::int64_t i = 0; i < 7; ++i)
      EXPECT_EQ(static_cast<int>(into[static_cast<std::size_t>(i)]), (begin + i) % 4 + 1)
          << "from byte " << begin << " on";
  }
}

/// The chunk decoded last is cached for the next read, unless another program has written it.
TEST(Chunks, AreReadAnewWhereTheirFileHasChanged) {
  const TempFolder folder;
  zarr::Array array = array_of({8}, {8});
  array.codecs.push_back({.name = "crc32c"});
  const auto reach = std::make_shared<std::atomic<std::int64_t>>(array.grid.total_bytes());
  const auto storage = make_chunk_storage(make_chunk_folder(folder.path(), array), array, reach);
  const std::string path = folder.file("c/0");
  std::filesystem::create_directory(folder.file("c"));
  unsigned seed = 0;
  for (const bool in_place : {true, true, false, true}) {
    const auto elements = test::pattern(32, ++seed);
    const Bytes coded = make_codec({.name = "crc32c"})->encode(elements);
    const std::string written = in_place ? path : folder.file("other");
    std::ofstream(written, std::ios::binary)
        .write(reinterpret_cast<const char*>(coded.data()), std::ssize(coded));
    const auto now = std::filesystem::last_write_time(written);
    std::filesystem::last_write_time(written, now + std::chrono::seconds(seed));
    if (!in_place) std::filesystem::rename(written, path);
    for (int twice = 0; twice < 2; ++twice) {
      std::vector<std::byte> there(32);
      EXPECT_EQ(read_fully(*storage, there, 0).bytes, 32);
      EXPECT_EQ(there, elements) << "write " << seed;
    }
  }
}

/// A chunk that has a place keeps it: what was there before must not come back.
TEST(Chunks, OfTheFillValueReplaceOthers) {
  const zarr::Array array = array_of({8}, {8});
  const auto store = std::make_shared<PlacedStore>(
      std::shared_ptr<Storage>(make_memory_storage("f", 0)), std::vector<ChunkPlace>());
  const auto reach = std::make_shared<std::atomic<std::int64_t>>(array.grid.total_bytes());
  const auto storage = make_chunk_storage(store, array, reach);
  ASSERT_EQ(write_fully(*storage, test::pattern(32), 0).error, 0);
  store->settle({{.chunk = 0, .offset = 100, .size = 32}});
  std::vector<std::byte> fill(32), there(32);
  ChunkCodec(array).fill(fill, 0);
  ASSERT_EQ(write_fully(*storage, fill, 0).error, 0);
  EXPECT_EQ(store->held().size(), 1u);
  EXPECT_EQ(read_fully(*storage, there, 0).bytes, 32);
  EXPECT_EQ(there, fill);
}

TEST(Chunks, WithAnyOtherElementAreKept) {
  const ChunkCodec codec(array_of({100000}, {100000}));
  std::vector<std::byte> elements(static_cast<std::size_t>(codec.chunk_bytes()));
  codec.fill(elements, 0);
  EXPECT_TRUE(codec.is_all_fill(elements));
  for (const std::size_t at : {std::size_t{0}, std::size_t{4}, elements.size() - 1}) {
    elements[at] ^= std::byte{1};
    EXPECT_FALSE(codec.is_all_fill(elements)) << "byte " << at;
    elements[at] ^= std::byte{1};
  }
}

}  // namespace
}  // namespace penstock
