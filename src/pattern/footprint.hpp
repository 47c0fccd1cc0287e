// Footprint: the file side of one rank's request, with all its patterns. WindowStream: its bytes
// within one window of the file, in the order of transfer: pattern after pattern, each in file
// order. Sender and receiver compute the same stream from the same patterns.
#pragma once

#include <limits>

#include "pattern/memory_map.hpp"

namespace penstock {

class Footprint {
 public:
  static constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::max();

  Footprint() = default;
  /// Empty patterns are dropped.
  explicit Footprint(std::vector<FilePattern> parts);

  bool empty() const noexcept { return parts_.empty(); }
  Extent hull() const noexcept { return hull_; }
  std::int64_t bytes() const noexcept { return bytes_; }  // overlaps between patterns count twice
  std::int64_t run_count() const noexcept;
  std::int64_t bytes_in(Extent window) const noexcept;
  /// The first wanted offset at or above `offset`; nowhere if there is none.
  std::int64_t next(std::int64_t offset) const noexcept;
  /// The end of the last wanted byte below `offset`; -1 if there is none.
  std::int64_t previous_end(std::int64_t offset) const noexcept;

  const std::vector<FilePattern>& parts() const noexcept { return parts_; }

  /// Encodes it for sending. `within`: what the receiver needs; the rest of an irregular request is
  /// dropped.
  std::vector<std::int64_t> encode(Extent within) const;
  std::vector<std::int64_t> encode() const;
  /// From words made by encode(). Throws Error(internal) for others.
  static Footprint decode(std::span<const std::int64_t> words);

 private:
  std::vector<FilePattern> parts_;
  Extent hull_;
  std::int64_t bytes_ = 0;
};

/// Joins patterns that begin at or behind the end of the previous one, and their memory: lookups in
/// a request of thousands of parts then cost a logarithm. None may be empty.
void join_ascending(std::vector<FilePattern>& file, std::vector<MemoryMap>& memory);

/// For all patterns of all footprints.
Apart are_apart(std::span<const Footprint* const> footprints);

class WindowStream {
 public:
  WindowStream() = default;
  /// The footprint must outlive it.
  WindowStream(const Footprint& footprint, Extent window);

  std::int64_t size() const noexcept { return size_; }
  std::int64_t run_count() const noexcept;

  /// Calls visit(const Batch&) for stream positions [begin, end). Batch::packed counts from
  /// `begin`.
  template <class Visit>
  void for_each(std::int64_t begin, std::int64_t end, Visit&& visit) const {
    for_each_slice(begin, end,
                   [&](const Slice& s, std::int64_t from, std::int64_t to, std::int64_t ahead) {
                     penstock::for_each(*s.pattern, from, to, [&](Batch b) {
                       b.packed -= ahead;
                       visit(static_cast<const Batch&>(b));
                     });
                   });
  }
  /// The same with memory: one map for each pattern of the footprint.
  template <class Visit>
  void for_each(std::span<const MemoryMap> memory, std::int64_t begin, std::int64_t end,
                Visit&& visit) const {
    for_each_slice(begin, end,
                   [&](const Slice& s, std::int64_t from, std::int64_t to, std::int64_t ahead) {
                     zip(*s.pattern, memory[s.part], from, to, [&](Batch b) {
                       b.packed -= ahead;
                       visit(static_cast<const Batch&>(b));
                     });
                   });
  }
  /// The address of stream positions [begin, end) if they are contiguous in memory; else null.
  std::byte* contiguous(std::span<const MemoryMap> memory, std::int64_t begin,
                        std::int64_t end) const noexcept;

 private:
  struct Slice {
    const FilePattern* pattern;
    std::size_t part;
    std::int64_t begin, end;
  };
  /// visit(slice, from, to, ahead): positions in the slice's pattern, and their distance to
  /// positions counted from `begin`.
  template <class Visit>
  void for_each_slice(std::int64_t begin, std::int64_t end, Visit&& visit) const {
    std::int64_t start = 0;
    for (const Slice& s : slices_) {
      const std::int64_t length = s.end - s.begin;
      const std::int64_t from = std::max(begin, start), to = std::min(end, start + length);
      if (from < to)
        visit(s, s.begin + from - start, s.begin + to - start, s.begin - start + begin);
      start += length;
      if (start >= end) return;
    }
  }

  std::vector<Slice> slices_;
  std::int64_t size_ = 0;
};

}  // namespace penstock
