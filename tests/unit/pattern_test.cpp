// Patterns compared with the list of their bytes.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <random>

#include <penstock/error.hpp>

#include "pattern/copy.hpp"
#include "pattern/footprint.hpp"
#include "pattern/stream_copy.hpp"
#include "support/random.hpp"
#include "support/random_patterns.hpp"

using namespace penstock;
using test::Drawn;
using test::Places;
using test::Random;

namespace {

class RandomPatterns : public testing::TestWithParam<int> {
 protected:
  Random r{std::mt19937_64(static_cast<std::uint64_t>(GetParam()))};
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomPatterns, testing::Range(0, 500));

TEST_P(RandomPatterns, AnswerAsTheListOfTheirBytesDoes) {
  const Drawn drawn = test::draw_ascending(r, 4);
  const FilePattern pattern(drawn.nest);
  const auto size = std::ssize(drawn.places);
  ASSERT_EQ(pattern.size(), size);
  ASSERT_EQ(test::places_of(pattern.nest(), 0, size), drawn.places);
  if (size == 0) return;
  EXPECT_EQ(pattern.hull(), (Extent{drawn.places.front(), drawn.places.back() + 1}));
  for (std::int64_t p = 0; p < size; ++p)
    ASSERT_EQ(pattern.offset_at(p), drawn.places[static_cast<std::size_t>(p)]);
  for (std::int64_t x = 0; x < pattern.hull().end + 3; ++x)
    ASSERT_EQ(pattern.below(x),
              std::lower_bound(drawn.places.begin(), drawn.places.end(), x) - drawn.places.begin());
}

TEST_P(RandomPatterns, AreCutAnywhere) {
  const Drawn drawn = test::draw_ascending(r, 4);
  const auto size = std::ssize(drawn.places);
  const std::int64_t begin = r.in(0, size), end = r.in(begin, size);
  const Places wanted(drawn.places.begin() + begin, drawn.places.begin() + end);
  EXPECT_EQ(test::places_of(drawn.nest, begin, end), wanted);
  const Nest cut = drawn.nest.cut(begin, end);
  EXPECT_EQ(test::places_of(cut, 0, cut.size()), wanted);
  const std::int64_t runs = drawn.nest.run_count(begin, end);
  EXPECT_EQ(cut.run_count(0, cut.size()) > 0, runs > 0);
}

TEST_P(RandomPatterns, ArriveAsTheyWereSent) {
  const Drawn drawn = test::draw_ascending(r, 4);
  std::vector<std::int64_t> words;
  FilePattern(drawn.nest).encode(words);
  NestReader reader(words);
  const FilePattern pattern = FilePattern::decode(reader);
  EXPECT_TRUE(reader.done());
  EXPECT_EQ(test::places_of(pattern.nest(), 0, pattern.size()), drawn.places);
  if (words.size() < 3) return;
  NestReader cut_off(std::span<const std::int64_t>(words.data(), words.size() - 1));
  EXPECT_THROW(FilePattern::decode(cut_off), Error);
}

TEST_P(RandomPatterns, TileAsViewsDo) {
  const Drawn drawn = test::draw_ascending(r, 3);
  if (drawn.places.empty()) return;
  const std::int64_t extent = drawn.nest.hull().length() + r.in(0, 5);
  const std::int64_t first = r.in(0, 60), bytes = r.in(0, 60);
  const FilePattern tiles = FilePattern::tiles(FilePattern(drawn.nest), extent, first, bytes);
  Places wanted;
  const auto size = std::ssize(drawn.places);
  for (std::int64_t p = first; p < first + bytes; ++p)
    wanted.push_back(drawn.places[static_cast<std::size_t>(p % size)] + p / size * extent);
  EXPECT_EQ(test::places_of(tiles.nest(), 0, tiles.size()), wanted);
}

TEST_P(RandomPatterns, AreJoinedWithMemoryThroughTheStream) {
  const Drawn file = test::draw_ascending(r, 4);
  const auto size = std::ssize(file.places);
  const Drawn memory = test::draw_memory(r, size);
  ASSERT_EQ(memory.nest.size(), size);
  std::byte* const base = nullptr;
  const std::int64_t begin = r.in(0, size), end = r.in(begin, size);
  std::int64_t packed = begin;
  Places in_file, in_memory;
  zip(FilePattern(file.nest), MemoryMap(base, memory.nest), begin, end, [&](const Batch& b) {
    EXPECT_EQ(b.packed, packed);
    for (std::int64_t i = 0; i < b.count; ++i)
      for (std::int64_t k = 0; k < b.run; ++k) {
        in_file.push_back(b.file + i * b.file_step + k);
        in_memory.push_back(reinterpret_cast<std::intptr_t>(b.memory) + i * b.memory_step + k);
      }
    packed += b.run * b.count;
  });
  EXPECT_EQ(packed, end);
  EXPECT_EQ(in_file, Places(file.places.begin() + begin, file.places.begin() + end));
  EXPECT_EQ(in_memory, Places(memory.places.begin() + begin, memory.places.begin() + end));
}

TEST_P(RandomPatterns, ThatAscendBecomeOneWithTheirMemory) {
  std::vector<FilePattern> parts;
  std::vector<MemoryMap> maps;
  Places in_file, in_memory, got_file, got_memory;
  std::int64_t groups = 0, end = -1;
  for (std::int64_t i = r.in(1, 6); i > 0; --i) {
    const Drawn file = test::draw_ascending(r, 2);
    if (file.places.empty()) continue;
    const Drawn memory = test::draw_memory(r, std::ssize(file.places));
    const std::int64_t at =
        r.in(0, 3) == 0 ? r.in(0, 20) : std::max<std::int64_t>(end, 0) + r.in(0, 2);
    const std::int64_t array = r.in(1, 9) << 20;
    parts.emplace_back(file.nest.moved(at - file.nest.hull().begin));
    maps.emplace_back(reinterpret_cast<std::byte*>(array), memory.nest);
    groups += at < end || end < 0 ? 1 : 0;
    end = parts.back().hull().end;
    for (const std::int64_t p : file.places) in_file.push_back(p + at - file.nest.hull().begin);
    for (const std::int64_t p : memory.places) in_memory.push_back(p + array);
  }
  join_ascending(parts, maps);
  ASSERT_EQ(std::ssize(parts), groups);
  ASSERT_EQ(std::ssize(maps), groups);
  for (std::size_t i = 0; i < parts.size(); ++i)
    zip(parts[i], maps[i], 0, parts[i].size(), [&](const Batch& b) {
      for (std::int64_t k = 0; k < b.count * b.run; ++k) {
        got_file.push_back(b.file + k / b.run * b.file_step + k % b.run);
        got_memory.push_back(reinterpret_cast<std::intptr_t>(b.memory) + k / b.run * b.memory_step +
                             k % b.run);
      }
    });
  EXPECT_EQ(got_file, in_file);
  EXPECT_EQ(got_memory, in_memory);
}

TEST_P(RandomPatterns, AreCopiedBetweenMemoryFileImageAndMessages) {
  std::vector<FilePattern> parts;
  std::vector<MemoryMap> maps;
  std::vector<Places> in_file, in_memory;
  std::vector<std::vector<std::byte>> memory(static_cast<std::size_t>(r.in(1, 3)));
  for (auto& bytes : memory) {
    const Drawn file = test::draw_ascending(r, 3);
    if (file.places.empty()) continue;
    const Drawn places = test::draw_memory(r, std::ssize(file.places));
    bytes.resize(static_cast<std::size_t>(places.nest.hull().end));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(r.in(0, 255));
    parts.emplace_back(file.nest);
    maps.emplace_back(bytes.data(), places.nest);
    in_file.push_back(file.places);
    in_memory.push_back(places.places);
  }
  const Footprint footprint(parts);
  if (footprint.empty()) return;
  const std::int64_t lower = r.in(0, footprint.hull().end);
  const Extent window{lower, r.in(lower, footprint.hull().end)};
  const WindowStream stream(footprint, window);
  std::vector<std::byte> expected, image(static_cast<std::size_t>(window.length()));
  std::vector<std::byte> expected_image = image;
  const auto live = [&](auto&& visit) {
    std::size_t part = 0;
    for (auto& bytes : memory) {
      if (bytes.empty()) continue;
      for (std::size_t i = 0; i < in_file[part].size(); ++i)
        if (window.contains(in_file[part][i]))
          visit(in_file[part][i], bytes[static_cast<std::size_t>(in_memory[part][i])]);
      ++part;
    }
  };
  live([&](std::int64_t offset, std::byte& byte) {
    expected.push_back(byte);
    expected_image[static_cast<std::size_t>(offset - window.begin)] = byte;
  });
  ASSERT_EQ(stream.size(), std::ssize(expected));
  std::vector<std::byte> packed(expected.size());
  copy_stream(stream, maps, 0, stream.size(), Staged::packed(packed.data()), Direction::write);
  EXPECT_EQ(packed, expected);
  const Staged staged = Staged::as_in_file(image.data(), window.begin);
  copy_stream(stream, maps, 0, stream.size(), staged, Direction::write);
  EXPECT_EQ(image, expected_image);
  std::ranges::fill(image, std::byte{});
  copy_staged(stream, 0, stream.size(), staged, packed.data(), Direction::write);
  EXPECT_EQ(image, expected_image);
  live([](std::int64_t, std::byte& byte) { byte = std::byte{}; });
  copy_stream(stream, maps, 0, stream.size(), Staged::packed(expected.data()), Direction::read);
  // Where patterns overlap, the memory of each gets its own byte.
  std::size_t at = 0;
  live([&](std::int64_t, std::byte& byte) { EXPECT_EQ(byte, expected[at++]); });
}

TEST_P(RandomPatterns, AreClippedToWhatAReceiverAsksAbout) {
  std::vector<FilePattern> parts;
  for (std::int64_t i = r.in(1, 3); i > 0; --i) parts.emplace_back(test::draw_ascending(r, 4).nest);
  const Footprint whole(parts);
  const std::int64_t lower = r.in(0, whole.hull().end);
  const Extent domain{lower, r.in(lower, whole.hull().end + 2)};
  const Footprint there = Footprint::decode(whole.encode(domain));
  const std::int64_t begin = r.in(domain.begin, domain.end);
  const Extent window{begin, r.in(begin, domain.end)};
  const auto offsets = [&](const Footprint& footprint) {
    const WindowStream stream(footprint, window);
    Places places;
    stream.for_each(0, stream.size(), [&](const Batch& b) {
      for (std::int64_t i = 0; i < b.count; ++i)
        for (std::int64_t k = 0; k < b.run; ++k) places.push_back(b.file + i * b.file_step + k);
    });
    return places;
  };
  EXPECT_EQ(offsets(there), offsets(whole));
}

TEST(Nest, NeighboursAreOneNode) {
  EXPECT_EQ(Nest::repeat(Nest::run(3, 8), 100, 8).run_count(0, 800), 1);
  EXPECT_EQ(Nest::repeat(Nest::repeat(Nest::run(0, 4), 10, 16), 7, 160).run_count(0, 280), 70);
  EXPECT_EQ(Nest::list(Nest::run(0, 4), {0, 4, 8, 100}).run_count(0, 16), 2);
  EXPECT_EQ(Nest::list(Nest::run(0, 4), {0, 10, 20, 30}).run_count(0, 16), 4);
  std::vector<std::int64_t> words;
  Nest::list(Nest::run(0, 4), {0, 10, 20, 30, 40, 50, 60, 70, 80, 90}).encode(words);
  EXPECT_EQ(words.size(), 6u);  // a regular list is a repetition
  EXPECT_TRUE(Nest::repeat(Nest::run(0, 0), 5, 1).empty());
  EXPECT_TRUE(Nest::sequence({Nest(), Nest::run(0, 0)}).empty());
}

TEST(FilePattern, RefusesWhatDoesNotAscend) {
  const auto refused = [](const Nest& nest) {
    try {
      FilePattern pattern(nest);
    } catch (const Error& error) {
      EXPECT_EQ(error.error_class(), ErrorClass::argument);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refused(Nest::repeat(Nest::run(0, 8), 3, 7)).find("must ascend"), std::string::npos);
  EXPECT_NE(refused(Nest::repeat(Nest::run(100, 8), 3, -8)), "");
  EXPECT_NE(refused(Nest::list(Nest::run(0, 4), {0, 9, 7})).find("byte 7 follows"),
            std::string::npos);
  const std::int64_t lengths[] = {4, 4, 4};
  EXPECT_NE(refused(Nest::table({0, 10, 12}, lengths)).find("byte 12 follows bytes up to 14"),
            std::string::npos);
  EXPECT_NE(refused(Nest::sequence({Nest::repeat(Nest::run(0, 2), 3, 4), Nest::run(8, 1)})), "");
  EXPECT_NE(refused(Nest::run(-1, 4)).find("before the file"), std::string::npos);
  EXPECT_EQ(refused(Nest::repeat(Nest::run(0, 8), 3, 8)), "");
}

TEST(FilePattern, RefusesWhatGoesBeyond63Bits) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(Nest::run(most - 3, 4), Error);
  EXPECT_THROW(Nest::repeat(Nest::run(0, 1), most / 2, 4), Error);
  EXPECT_THROW(Nest::repeat(Nest::run(0, most / 2), 3, most / 2), Error);
  EXPECT_THROW(Nest::list(Nest::run(0, 8), {0, most - 4}), Error);
  EXPECT_THROW(Nest::run(0, 8).moved(most - 7), Error);
  EXPECT_THROW(FilePattern::tiles(FilePattern::run({0, 8}), most / 4, 0, 80), Error);
  EXPECT_THROW(FilePattern::tiles(FilePattern::run({0, 8}), 7, 4, 8), Error);
  EXPECT_EQ(FilePattern::tiles(FilePattern::run({0, 8}), 7, 8, 8).hull(), (Extent{7, 15}));
  EXPECT_NO_THROW(Nest::run(most - 4, 4));
}

TEST(FilePattern, OfABillionRunsAnswersQuickly) {
  const FilePattern cyclic(Nest::repeat(Nest::run(4, 4), 1000000000, 16));
  const auto begin = std::chrono::steady_clock::now();
  std::int64_t sum = 0;
  constexpr int queries = 100000;
  for (std::int64_t i = 0; i < queries; ++i)
    sum += cyclic.below(i * 159999) + cyclic.offset_at(i * 39999);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(sum, 0);
  EXPECT_LT(elapsed.count() / (2 * queries), 1e-6);
}

TEST(Footprint, FindsTheNextAndThePreviousByte) {
  const Footprint footprint({FilePattern::run({2, 3}), FilePattern(), FilePattern::run({6, 8})});
  EXPECT_EQ(footprint.parts().size(), 2u);
  EXPECT_EQ(footprint.next(0), 2);
  EXPECT_EQ(footprint.next(3), 6);
  EXPECT_EQ(footprint.next(7), 7);
  EXPECT_EQ(footprint.next(8), Footprint::nowhere);
  EXPECT_EQ(footprint.previous_end(6), 3);
  EXPECT_EQ(footprint.previous_end(2), -1);
  EXPECT_EQ(footprint.bytes_in({2, 7}), 2);
}

TEST(Footprint, OfManyRunsTravelsInPieces) {
  std::vector<std::int64_t> places, lengths;
  for (std::int64_t i = 0; i < 10000; ++i) {
    places.push_back(i * 100 + i % 7);
    lengths.push_back(10);
  }
  const Footprint footprint({FilePattern(Nest::table(places, lengths))});
  EXPECT_GT(footprint.encode().size(), 20000u);
  EXPECT_LT(footprint.encode({0, 10000}).size(), 300u);
  EXPECT_TRUE(footprint.encode({2000000, 3000000}).empty());
}

}  // namespace
