// The independent methods: each rank moves its own bytes.
//   direct: every file run is one access, as a program without a library would do it.
//   sieved: data sieving (Thakur & Choudhary, PASSION): windows of the request's hull, each moved
//           in one access, unwanted bytes included.
#include <algorithm>
#include <utility>

#include "access/copy.hpp"
#include "engine/domain_table.hpp"
#include "engine/operation.hpp"

namespace penstock {
namespace {

/// One access moves at most this much of a run, so that elements stay whole and `ssize_t` fits.
constexpr std::int64_t longest_access = std::int64_t{1} << 30;
/// File range that one lock of the direct method covers: few locks, short waits for others.
constexpr std::int64_t lock_range = std::int64_t{4} << 20;

/// Pieces that are packed first stay in the cache until they are written.
constexpr std::int64_t cached_piece = std::int64_t{1} << 20;

class DirectMover {
 public:
  DirectMover(Context& context, const Access& access, const Hints& hints)
      : context_(context), access_(access), hints_(hints) {}
  ~DirectMover() { context_.pool.give(BufferPool::Use::window, std::move(temporary_)); }

  void move_piece(std::size_t piece) {
    const Runs& file = access_.file.pieces()[piece];
    memory_ = &access_.both.pieces()[piece];
    base_ = access_.memory[access_.file.section_of(piece)];
    hull_ = file.hull();
    const bool in_place = memory_->run_length() == file.run_length() && memory_->run_length() > 0;
    file.for_each(0, file.size(), [&](const Batch& batch) {
      for (std::int64_t i = 0; i < batch.count; ++i)
        move_run(batch.file + i * batch.file_step, batch.packed + i * batch.run, batch.run,
                 in_place);
    });
    lock_.reset();
    locked_ = {};
  }

 private:
  void move_run(std::int64_t offset, std::int64_t packed, std::int64_t length, bool in_place) {
    const std::int64_t element = context_.layout.element_size;
    const std::int64_t most =
        in_place ? longest_access : std::max(element, std::min(hints_.buffer_size, cached_piece));
    for (std::int64_t at = 0; at < length;) {
      const std::int64_t part = std::min(length - at, most / element * element);
      move_part({offset + at, offset + at + part}, packed + at, in_place);
      at += part;
    }
  }

  void move_part(Extent range, std::int64_t packed, bool in_place) {
    if (access_.writes()) hold_lock(range);
    if (in_place) {
      std::byte* place = nullptr;
      memory_->for_each(packed, packed + range.length(),
                        [&](const Batch& batch) { place = base_ + batch.memory; });
      return access_.writes() ? write(place, range) : read(place, range);
    }
    if (temporary_.size() < range.length()) {
      context_.pool.give(BufferPool::Use::window, std::move(temporary_));
      temporary_ = context_.pool.take(BufferPool::Use::window, range.length(), &context_.gauge);
    }
    if (!access_.writes()) read(temporary_.data(), range);
    copy_temporary(range, packed);
    if (access_.writes()) write(temporary_.data(), range);
  }

  void copy_temporary(Extent range, std::int64_t packed) {
    const Stopwatch watch(context_.counts.time_copy);
    memory_->for_each(packed, packed + range.length(), [&](const Batch& b) {
      std::byte* const in_file = temporary_.data() + (b.packed - packed);
      std::byte* const in_memory = base_ + b.memory;
      if (access_.writes()) copy_runs(in_file, b.run, in_memory, b.memory_step, b.run, b.count);
      else copy_runs(in_memory, b.memory_step, in_file, b.run, b.run, b.count);
    });
  }

  void hold_lock(Extent range) {
    if (range.begin >= locked_.begin && range.end <= locked_.end) return;
    lock_.reset();
    locked_ = {range.begin, std::max(range.end, std::min(hull_.end, range.begin + lock_range))};
    lock_ = lock_for_writing(context_, hints_.locks, locked_, LockKind::shared);
  }

  void read(std::byte* into, Extent range) {
    const Stopwatch watch(context_.counts.time_storage);
    const Permit permit(context_, static_cast<int>(hints_.writers));
    const Transfer got =
        read_fully(context_.storage, {into, static_cast<std::size_t>(range.length())}, range.begin);
    if (got.error != 0) throw_transfer_error(context_, "reading", range, got);
    if (got.bytes < range.length()) throw_truncated(context_, range, got.bytes);
  }

  void write(const std::byte* from, Extent range) {
    const Stopwatch watch(context_.counts.time_storage);
    const Permit permit(context_, static_cast<int>(hints_.writers));
    const Transfer done = write_fully(
        context_.storage, {from, static_cast<std::size_t>(range.length())}, range.begin);
    if (done.error != 0) throw_transfer_error(context_, "writing", range, done);
  }

  Context& context_;
  const Access& access_;
  const Hints& hints_;
  const Runs* memory_ = nullptr;
  std::byte* base_ = nullptr;
  Buffer temporary_;
  std::unique_ptr<RangeLock> lock_;
  Extent locked_, hull_;
};

void copy_window(Context& context, const Access& access, WindowIo& io, Extent window) {
  const Stopwatch watch(context.counts.time_copy);
  const WindowStream mine(access.both, window);
  mine.for_each(0, mine.size(), [&](std::size_t section, const Batch& b) {
    std::byte* const in_memory = access.memory[section] + b.memory;
    if (access.writes())
      copy_runs(io.at(b.file), b.file_step, in_memory, b.memory_step, b.run, b.count);
    else copy_runs(in_memory, b.memory_step, io.at(b.file), b.file_step, b.run, b.count);
  });
}

}  // namespace

void move_direct(Context& context, const Access& access, const Hints& hints) {
  DirectMover mover(context, access, hints);
  for (std::size_t piece = 0; piece < access.file.pieces().size(); ++piece) mover.move_piece(piece);
}

void move_sieved(Context& context, const Access& access, const Hints& hints) {
  const Footprint& wanted = access.file;
  if (wanted.empty()) return;
  std::vector<const Section*> sections;
  for (const Section& section : access.sections) sections.push_back(&section);
  const bool disjoint = all_disjoint(sections);
  // Whole elements per window: another rank that writes the same element does so under a lock.
  const std::int64_t element = context.layout.element_size;
  const std::int64_t most = access.writes() && context.buffering.budget > 0
                                ? std::clamp(context.buffering.budget, shortest_unit, longest_unit)
                                : hints.buffer_size;
  const std::int64_t step =
      std::max(element, std::min(most, hints.buffer_size) / element * element);
  const bool buffered = access.writes() && context.buffering.budget > 0;
  const auto make_window = [&] {
    return std::make_shared<Window>(context, hints, access.direction,
                                    buffered ? StagingMemory::active_buffer : StagingMemory::pool,
                                    /*exclusive=*/true);
  };
  std::shared_ptr<Window> opened = make_window();
  for (std::int64_t at = wanted.hull().begin; at < wanted.hull().end;) {
    const Extent window{at, std::min(at + step, wanted.hull().end)};
    const WindowStream stream(wanted, window);
    if (opened == nullptr) opened = make_window();
    WindowIo& io = opened->io;
    io.open(window, {&stream, 1}, {wanted.next(window.begin), wanted.previous_end(window.end)},
            disjoint);
    const auto at_storage = [&](auto&& work) {
      const Permit permit(context, static_cast<int>(hints.writers));
      work();
    };
    if (!access.writes()) at_storage([&] { io.fill(); });
    copy_window(context, access, io, window);
    if (buffered)
      hand_over(context, std::exchange(opened, nullptr), static_cast<int>(hints.writers),
                context.machine.ranks);
    else if (access.writes()) at_storage([&] { io.flush(); });
    // The next window begins with a wanted element: stretches that nobody wants cost nothing.
    at = wanted.next(window.end);
  }
}

}  // namespace penstock
