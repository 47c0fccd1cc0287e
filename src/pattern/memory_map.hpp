// MemoryMap: where the bytes of a data stream are in memory, in any order, with gaps. zip() joins
// it with a file pattern of the same size: byte p of the one belongs to byte p of the other.
#pragma once

#include <cstddef>

#include "pattern/file_pattern.hpp"

namespace penstock {

class MemoryMap {
 public:
  MemoryMap() = default;
  /// Places of the nest are relative to `base`. For a write, memory is only read.
  MemoryMap(std::byte* base, Nest nest) : base_(base), nest_(std::move(nest)) {}

  const Nest& nest() const noexcept { return nest_; }
  std::int64_t size() const noexcept { return nest_.size(); }
  std::byte* base() const noexcept { return base_; }
  std::byte* at(std::int64_t place) const noexcept { return base_ + place; }
  /// The address of positions [begin, end) if they are one run; else null.
  std::byte* contiguous(std::int64_t begin, std::int64_t end) const noexcept {
    return nest_.run_count(begin, end) == 1 ? at(nest_.place_of(begin)) : nullptr;
  }

 private:
  std::byte* base_ = nullptr;
  Nest nest_;
};

/// `count` runs of `run` bytes at constant steps, in the file and in memory.
struct Batch {
  std::int64_t file;    // offset of the first run
  std::byte* memory;    // null without a memory map
  std::int64_t packed;  // its position in the stream
  std::int64_t run, count;
  std::int64_t file_step, memory_step;
};

/// Calls visit(const Batch&) for positions [begin, end), ascending; file side only.
template <class Visit>
void for_each(const FilePattern& file, std::int64_t begin, std::int64_t end, Visit&& visit) {
  NestCursor cursor(file.nest(), begin, end);
  std::int64_t packed = begin;
  for (Strided s; cursor.next(s); packed += s.run * s.count)
    visit(Batch{s.place, nullptr, packed, s.run, s.count, s.step, 0});
}

/// The remaining runs of one side of zip().
class ZipSide {
 public:
  ZipSide(const Nest& nest, std::int64_t begin, std::int64_t end) : cursor_(nest, begin, end) {}
  /// False: nothing is left.
  bool refill() {
    if (head_ > 0) return true;
    if (!cursor_.next(runs_)) return false;
    head_ = runs_.run;
    return true;
  }
  std::int64_t place() const noexcept { return runs_.place; }
  std::int64_t head() const noexcept { return head_; }  // bytes of the current run
  std::int64_t step() const noexcept { return runs_.step; }
  /// Number of runs as long as the current one.
  std::int64_t count() const noexcept { return head_ == runs_.run ? runs_.count : 1; }
  void drop_runs(std::int64_t count) noexcept {
    if (head_ < runs_.run) runs_.place -= runs_.run - head_;  // back to the beginning of the run
    runs_.place += count * runs_.step;
    runs_.count -= count;
    head_ = runs_.count > 0 ? runs_.run : 0;
  }
  void drop_bytes(std::int64_t bytes) noexcept {
    if (bytes == head_) return drop_runs(1);
    runs_.place += bytes;
    head_ -= bytes;
  }

 private:
  NestCursor cursor_;
  Strided runs_;
  std::int64_t head_ = 0;
};

/// The same, joined with memory: a batch extends as far as both sides are regular.
template <class Visit>
void zip(const FilePattern& file, const MemoryMap& memory, std::int64_t begin, std::int64_t end,
         Visit&& visit) {
  ZipSide a(file.nest(), begin, end), b(memory.nest(), begin, end);
  std::int64_t packed = begin;
  while (a.refill() && b.refill()) {
    const std::int64_t run = std::min(a.head(), b.head());
    const std::int64_t in_a = a.head() == run ? a.count() : a.head() / run;
    const std::int64_t in_b = b.head() == run ? b.count() : b.head() / run;
    const std::int64_t count = std::min(in_a, in_b);
    visit(Batch{a.place(), memory.at(b.place()), packed, run, count,
                a.head() == run ? a.step() : run, b.head() == run ? b.step() : run});
    packed += run * count;
    if (a.head() == run) a.drop_runs(count);
    else a.drop_bytes(run * count);
    if (b.head() == run) b.drop_runs(count);
    else b.drop_bytes(run * count);
  }
}

}  // namespace penstock
