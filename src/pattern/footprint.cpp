#include "pattern/footprint.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace penstock {

Footprint::Footprint(std::vector<FilePattern> parts) : parts_(std::move(parts)) {
  std::erase_if(parts_, [](const FilePattern& part) { return part.empty(); });
  if (!parts_.empty()) hull_ = parts_.front().hull();
  for (const FilePattern& part : parts_) {
    hull_ = {std::min(hull_.begin, part.hull().begin), std::max(hull_.end, part.hull().end)};
    bytes_ = checked_add(bytes_, part.size(), "size of a request");
  }
}

void join_ascending(std::vector<FilePattern>& file, std::vector<MemoryMap>& memory) {
  std::vector<FilePattern> patterns;
  std::vector<MemoryMap> maps;
  for (std::size_t begin = 0, end = 0; begin < file.size(); begin = end) {
    std::vector<Nest> places, distances;
    std::byte* const base = memory[begin].base();
    do {
      places.push_back(file[end].nest());
      // The distance of possibly unrelated arrays, from their addresses.
      const auto distance = reinterpret_cast<std::intptr_t>(memory[end].base()) -
                            reinterpret_cast<std::intptr_t>(base);
      distances.push_back(memory[end].nest().moved(distance));
      ++end;
    } while (end < file.size() && file[end].hull().begin >= file[end - 1].hull().end);
    patterns.emplace_back(Nest::sequence(std::move(places)));
    maps.emplace_back(base, Nest::sequence(std::move(distances)));
  }
  file = std::move(patterns);
  memory = std::move(maps);
}

std::int64_t Footprint::run_count() const noexcept {
  std::int64_t count = 0;
  for (const FilePattern& part : parts_) count += part.run_count();
  return count;
}

std::int64_t Footprint::bytes_in(Extent window) const noexcept {
  std::int64_t bytes = 0;
  for (const FilePattern& part : parts_) {
    const Extent range = intersect(window, part.hull());
    if (!range.empty()) bytes += part.below(range.end) - part.below(range.begin);
  }
  return bytes;
}

std::int64_t Footprint::next(std::int64_t offset) const noexcept {
  std::int64_t first = nowhere;
  for (const FilePattern& part : parts_) {
    if (offset >= part.hull().end || part.hull().begin >= first) continue;
    first = std::min(first, part.offset_at(part.below(offset)));
  }
  return first;
}

std::int64_t Footprint::previous_end(std::int64_t offset) const noexcept {
  std::int64_t last = -1;
  for (const FilePattern& part : parts_) {
    if (offset <= part.hull().begin) continue;
    last = std::max(last, part.offset_at(part.below(offset) - 1) + 1);
  }
  return last;
}

std::vector<std::int64_t> Footprint::encode() const {
  std::vector<std::int64_t> words;
  for (const FilePattern& part : parts_) part.encode(words);
  return words;
}

std::vector<std::int64_t> Footprint::encode(Extent within) const {
  constexpr std::size_t short_words = 16;  // less than cutting would save
  std::vector<std::int64_t> words;
  for (const FilePattern& part : parts_) {
    if (intersect(part.hull(), within).empty()) continue;
    const std::size_t begin = words.size();
    part.encode(words);
    if (words.size() - begin <= short_words) continue;
    words.resize(begin);
    part.within(within).encode(words);
  }
  return words;
}

Footprint Footprint::decode(std::span<const std::int64_t> words) {
  std::vector<FilePattern> parts;
  try {
    for (NestReader reader(words); !reader.done();) parts.push_back(FilePattern::decode(reader));
    return Footprint(std::move(parts));
  } catch (const Error& error) {
    throw Error(ErrorClass::internal,
                "the description of a request is damaged: " + std::string(error.what()));
  }
}

Apart are_apart(std::span<const Footprint* const> footprints) {
  std::vector<const FilePattern*> parts;
  for (const Footprint* footprint : footprints)
    for (const FilePattern& part : footprint->parts()) parts.push_back(&part);
  return are_apart(parts);
}

WindowStream::WindowStream(const Footprint& footprint, Extent window) {
  for (std::size_t i = 0; i < footprint.parts().size(); ++i) {
    const FilePattern& part = footprint.parts()[i];
    const Extent range = intersect(window, part.hull());
    if (range.empty()) continue;
    const std::int64_t begin = part.below(range.begin), end = part.below(range.end);
    if (begin == end) continue;
    slices_.push_back({&part, i, begin, end});
    size_ += end - begin;
  }
}

std::int64_t WindowStream::run_count() const noexcept {
  std::int64_t count = 0;
  for (const Slice& s : slices_) count += s.pattern->nest().run_count(s.begin, s.end);
  return count;
}

std::byte* WindowStream::contiguous(std::span<const MemoryMap> memory, std::int64_t begin,
                                    std::int64_t end) const noexcept {
  std::byte* address = nullptr;
  std::int64_t slices = 0;
  for_each_slice(begin, end, [&](const Slice& s, std::int64_t from, std::int64_t to, std::int64_t) {
    address = ++slices == 1 ? memory[s.part].contiguous(from, to) : nullptr;
  });
  return address;
}

}  // namespace penstock
