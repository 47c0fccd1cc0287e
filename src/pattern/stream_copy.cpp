#include "pattern/stream_copy.hpp"

#include "pattern/copy.hpp"

namespace penstock {

namespace {

/// Copies a batch between its memory and `staged`.
class Copier {
 public:
  Copier(Staged staged, Direction direction, bool past_cache)
      : copy_(past_cache ? copy_runs_past_cache : copy_runs),
        staged_(staged),
        writes_(direction == Direction::write) {}
  void operator()(const Batch& b) const {
    std::byte* const there = staged_.at(b);
    const std::int64_t step = staged_.step(b);
    if (writes_) copy_(there, step, b.memory, b.memory_step, b.run, b.count);
    else copy_(b.memory, b.memory_step, there, step, b.run, b.count);
  }

 private:
  void (*copy_)(std::byte*, std::int64_t, const std::byte*, std::int64_t, std::int64_t,
                std::int64_t);
  Staged staged_;
  bool writes_;
};

}  // namespace

void copy_stream(const WindowStream& stream, std::span<const MemoryMap> memory, std::int64_t begin,
                 std::int64_t end, Staged staged, Direction direction, bool past_cache) {
  stream.for_each(memory, begin, end, Copier(staged, direction, past_cache));
}

void copy_packed(const FilePattern& file, const MemoryMap& memory, std::int64_t begin,
                 std::int64_t end, std::byte* packed, Direction direction, bool past_cache) {
  // Batches have their positions in the stream.
  zip(file, memory, begin, end, Copier({packed, begin, false}, direction, past_cache));
}

void copy_staged(const WindowStream& stream, std::int64_t begin, std::int64_t end, Staged image,
                 std::byte* packed, Direction direction) {
  stream.for_each(begin, end, [&](const Batch& b) {
    std::byte* const in_file = image.at(b);
    std::byte* const in_order = packed + b.packed;
    if (direction == Direction::write)
      copy_runs(in_file, b.file_step, in_order, b.run, b.run, b.count);
    else copy_runs(in_order, b.run, in_file, b.file_step, b.run, b.count);
  });
}

}  // namespace penstock
