// The encoding of a request's pattern: 64-bit words, each from one byte (small numbers) or from
// eight after a byte 0x80.
#include <vector>

#include "fuzz.hpp"
#include "pattern/footprint.hpp"

namespace ps = penstock;

namespace {

constexpr std::string_view words[] = {std::string_view("\0\1\x08", 3),
                                      std::string_view("\0\2\3\x10\1\4", 6),
                                      "\3\2",
                                      "\4\2",
                                      "\5\2",
                                      "\x80\xff\xff\xff\xff\xff\xff\xff\x7f",
                                      "\2",
                                      "\1\1",
                                      "\xff",
                                      "\x80"};

std::vector<std::int64_t> words_of(std::span<const std::uint8_t> data) {
  std::vector<std::int64_t> found;
  for (std::size_t at = 0; at < data.size(); ++at) {
    std::int64_t word = static_cast<std::int8_t>(data[at]);
    if (data[at] == 0x80 && data.size() - at > sizeof word) {
      std::memcpy(&word, data.data() + at + 1, sizeof word);
      at += sizeof word;
    }
    found.push_back(word);
  }
  return found;
}

/// The queries of aggregators; some of the first runs and the last ones.
void ask(const ps::FilePattern& pattern) {
  const std::int64_t size = pattern.size();
  const ps::Extent hull = pattern.hull();
  ps::fuzz::require(size > 0 && hull.length() >= size && pattern.run_count() > 0, "an empty part");
  ps::fuzz::require(pattern.below(hull.begin) == 0 && pattern.below(hull.end) == size,
                    "bytes below the ends of the hull");
  for (const std::int64_t position : {std::int64_t{0}, size / 3, size / 2, size - 1}) {
    const std::int64_t offset = pattern.offset_at(position);
    ps::fuzz::require(offset >= hull.begin && offset < hull.end, "an offset outside of the hull");
    ps::fuzz::require(pattern.below(offset) == position, "positions and offsets differ");
  }
  const ps::Extent middle{hull.begin + hull.length() / 4, hull.begin + hull.length() / 2};
  const ps::FilePattern part = pattern.within(middle);
  ps::fuzz::require(part.size() == pattern.below(middle.end) - pattern.below(middle.begin),
                    "a part has another size");
  ps::NestCursor cursor(pattern.nest(), size / 3, size);
  ps::Strided run;
  for (int left = 100; left > 0 && cursor.next(run); --left)
    ps::fuzz::require(run.run > 0 && run.count > 0, "a run of nothing");
}

}  // namespace

std::span<const std::string_view> fuzz_words() {
  return words;
}

void fuzz_one(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::int64_t> wire = words_of({data, size});
  ps::Footprint footprint;
  const auto decode = [&] { footprint = ps::Footprint::decode(wire); };
  if (!ps::fuzz::accepted(decode, {ps::ErrorClass::internal})) return;
  for (const ps::FilePattern& part : footprint.parts()) ask(part);
  const std::vector<std::int64_t> again = footprint.encode();
  ps::fuzz::require(ps::Footprint::decode(again).encode() == again, "it does not come back");
}
