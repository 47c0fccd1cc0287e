#include "access/wire.hpp"

#include <penstock/error.hpp>

namespace penstock {
namespace {

enum Tag : std::int64_t { tag_dimensions = 1, tag_extents = 2, tag_range = 3, tag_list = 4 };

class Reader {
 public:
  explicit Reader(std::span<const std::int64_t> words) : words_(words) {}
  bool done() const noexcept { return at_ == words_.size(); }
  std::int64_t next() {
    if (at_ >= words_.size())
      throw Error(ErrorClass::internal, "a section description was cut off");
    return words_[at_++];
  }

 private:
  std::span<const std::int64_t> words_;
  std::size_t at_ = 0;
};

Indices read_indices(Reader& reader) {
  if (reader.next() == tag_range) {
    Range r;
    r.lower = reader.next();
    r.upper = reader.next();
    r.stride = reader.next();
    r.block = reader.next();
    return r;
  }
  IndexList list(static_cast<std::size_t>(reader.next()));
  for (std::int64_t& index : list) index = reader.next();
  return list;
}

}  // namespace

std::vector<std::int64_t> to_words(std::span<const Section> sections) {
  std::vector<std::int64_t> words;
  for (const Section& section : sections) {
    if (section.is_extents()) {
      words.insert(words.end(), {tag_extents, static_cast<std::int64_t>(section.runs().size())});
      for (const ElementExtent& run : section.runs())
        words.insert(words.end(), {run.begin, run.end});
      continue;
    }
    words.insert(words.end(),
                 {tag_dimensions, static_cast<std::int64_t>(section.dimensions().size())});
    for (const Indices& indices : section.dimensions()) {
      if (const auto* r = std::get_if<Range>(&indices)) {
        words.insert(words.end(), {tag_range, r->lower, r->upper, r->stride, r->block});
        continue;
      }
      const auto& list = std::get<IndexList>(indices);
      words.insert(words.end(), {tag_list, static_cast<std::int64_t>(list.size())});
      words.insert(words.end(), list.begin(), list.end());
    }
  }
  return words;
}

std::vector<Section> from_words(std::span<const std::int64_t> words) {
  std::vector<Section> sections;
  for (Reader reader(words); !reader.done();) {
    const std::int64_t tag = reader.next();
    const auto count = static_cast<std::size_t>(reader.next());
    if (tag == tag_extents) {
      std::vector<ElementExtent> runs(count);
      for (ElementExtent& run : runs) {
        run.begin = reader.next();
        run.end = reader.next();
      }
      sections.push_back(Section::extents(std::move(runs)));
      continue;
    }
    std::vector<Indices> dimensions;
    for (std::size_t d = 0; d < count; ++d) dimensions.push_back(read_indices(reader));
    sections.emplace_back(std::move(dimensions));
  }
  return sections;
}

}  // namespace penstock
