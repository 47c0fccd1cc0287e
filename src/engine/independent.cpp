// The independent methods: each rank moves its own bytes.
//   direct: one access per file run. A read of many short runs that are in the page cache copies
//   out of the mapped file.
//   sieved: data sieving (Thakur & Choudhary, PASSION): windows of the request's hull, each moved
//   in one access, unwanted bytes included.
#include <algorithm>
#include <utility>

#include "engine/operation.hpp"
#include "engine/window_queue.hpp"
#include "pattern/copy.hpp"
#include "pattern/stream_copy.hpp"

namespace penstock {
namespace {

/// Longest part of a run per access: keeps grains whole and fits `ssize_t`.
constexpr std::int64_t longest_access = std::int64_t{1} << 30;
/// File range covered by one lock of the direct method: few locks, short waits for others.
constexpr std::int64_t lock_range = std::int64_t{4} << 20;

/// Packed pieces of this size stay in the CPU cache until they are written.
constexpr std::int64_t cached_piece = std::int64_t{1} << 20;
/// Parts of memory of at least this length are not packed: an entry in a list costs about as much
/// as copying this many bytes.
constexpr std::int64_t long_part = std::int64_t{4} << 10;
/// Parts submitted together; bounds the memory of their list.
constexpr std::size_t most_parts = 1024;

/// Bounds the page tables, which take about 1/500 of what is mapped.
constexpr std::int64_t most_mapped = std::int64_t{256} << 20;

class DirectMover {
 public:
  DirectMover(Context& context, const Access& access, const Hints& hints)
      : context_(context), access_(access), hints_(hints), accesses_(context.storage) {}
  ~DirectMover() { context_.pool.give(BufferPool::Use::window, std::move(temporary_)); }

  void move(const FilePattern& file, const MemoryMap& memory) {
    file_ = &file;
    memory_ = &memory;
    for_each(file, 0, file.size(), [&](const Batch& batch) {
      for (std::int64_t i = 0; i < batch.count; ++i)
        move_run(batch.file + i * batch.file_step, batch.packed + i * batch.run, batch.run);
    });
    carry_out();
    lock_.reset();
    locked_ = {};
  }

 private:
  void move_run(std::int64_t offset, std::int64_t packed, std::int64_t length) {
    const std::int64_t grain = context_.units.grain;
    const std::int64_t parts = memory_->nest().run_count(packed, packed + length);
    // Devices (O_DIRECT) need aligned memory, which packing provides.
    const bool in_place =
        parts == 1 || (context_.machine.page_cache && parts <= length / long_part);
    const std::int64_t most =
        in_place ? longest_access
                 : std::max(grain, std::min(hints_.buffer_size.value(), cached_piece));
    for (std::int64_t at = 0; at < length;) {
      const std::int64_t part = std::min(length - at, most / grain * grain);
      move_part({offset + at, offset + at + part}, packed + at, in_place);
      at += part;
    }
  }

  void move_part(Extent range, std::int64_t packed, bool in_place) {
    if (access_.writes()) hold_lock(range);
    in_place ? move_in_place(range, packed) : move_packed(range, packed);
  }

  /// Directly from or into user memory.
  void move_in_place(Extent range, std::int64_t packed) {
    zip(*file_, *memory_, packed, packed + range.length(), [&](const Batch& batch) {
      for (std::int64_t i = 0; i < batch.count; ++i) {
        if (accesses_.parts() == most_parts) carry_out();
        accesses_.add(access_.direction,
                      {batch.memory + i * batch.memory_step, static_cast<std::size_t>(batch.run)},
                      batch.file + i * batch.file_step);
      }
    });
  }

  void move_packed(Extent range, std::int64_t packed) {
    carry_out();
    if (temporary_.size() < range.length()) {
      context_.pool.give(BufferPool::Use::window, std::move(temporary_));
      temporary_ = context_.pool.take(BufferPool::Use::window, range.length(), &context_.gauge);
    }
    if (access_.writes()) copy_temporary(range, packed);
    accesses_.add(access_.direction, temporary_.first(range.length()), range.begin);
    carry_out();
    if (!access_.writes()) copy_temporary(range, packed);
  }

  void copy_temporary(Extent range, std::int64_t packed) {
    const Timed watch(context_.record, Phase::copy, range.length(), range.begin);
    copy_packed(*file_, *memory_, packed, packed + range.length(), temporary_.data(),
                access_.direction);
  }

  void hold_lock(Extent range) {
    if (range.begin >= locked_.begin && range.end <= locked_.end) return;
    carry_out();
    lock_.reset();
    locked_ = {range.begin,
               std::max(range.end, std::min(file_->hull().end, range.begin + lock_range))};
    lock_ = lock_for_writing(context_.io, hints_.locks, locked_, LockKind::shared);
  }

  void carry_out() {
    if (accesses_.size() == 0) return;
    const Timed watch(context_.record, Phase::storage);
    const Permit permit(context_.io, static_cast<int>(hints_.writers));
    accesses_.run();
    check_accesses(context_.io, accesses_);
    accesses_.clear();
  }

  Context& context_;
  const Access& access_;
  const Hints& hints_;
  const FilePattern* file_ = nullptr;
  const MemoryMap* memory_ = nullptr;
  Buffer temporary_;
  std::unique_ptr<RangeLock> lock_;
  Extent locked_;
  Submission accesses_;
};

void copy_window(Context& context, const Access& access, WindowIo& io, Extent window) {
  const WindowStream mine(access.file, window);
  const Timed watch(context.record, Phase::copy, mine.size(), window.begin);
  copy_stream(mine, access.memory, 0, mine.size(), io.staged(), access.direction);
}

}  // namespace

void move_direct(Context& context, const Access& access, const Hints& hints) {
  DirectMover mover(context, access, hints);
  for (std::size_t i = 0; i < access.file.parts().size(); ++i)
    mover.move(access.file.parts()[i], access.memory[i]);
}

bool move_mapped(Context& context, const Access& access) {
  const Footprint& wanted = access.file;
  const bool past_cache = wanted.bytes() >= larger_than_caches;
  for (std::int64_t at = wanted.hull().begin; at < wanted.hull().end;) {
    const Extent range{at, wanted.previous_end(std::min(at + most_mapped, wanted.hull().end))};
    const WindowStream mine(wanted, range);
    const Timed watch(context.record, Phase::storage, mine.size(), range.begin);
    const auto copy = [&](const std::byte* bytes) {
      // Only read from.
      const Staged file = Staged::as_in_file(const_cast<std::byte*>(bytes), range.begin);
      copy_stream(mine, access.memory, 0, mine.size(), file, Direction::read, past_cache);
    };
    if (!context.storage.read_mapped(range, mine.size(), copy)) return false;
    at = wanted.next(range.end);
  }
  return true;
}

void move_sieved(Context& context, const Access& access, const Hints& hints) {
  const Footprint& wanted = access.file;
  if (wanted.empty()) return;
  const Footprint* const mine[] = {&wanted};
  const bool disjoint = are_apart(mine) == Apart::yes;
  // Whole grains per window: another rank that writes the same grain does so under a lock.
  const std::int64_t grain = context.units.grain;
  const std::int64_t most = access.writes() && context.buffering.budget > 0
                                ? std::clamp(context.buffering.budget, shortest_unit, longest_unit)
                                : hints.buffer_size.value();
  const std::int64_t step =
      std::max(grain, std::min(most, hints.buffer_size.value()) / grain * grain);
  const bool buffered = access.writes() && context.buffering.budget > 0;
  const auto make_window = [&] {
    return std::make_unique<WindowIo>(
        context, hints, access.direction, /*exclusive=*/true,
        buffered ? StagingMemory::active_buffer : StagingMemory::pool);
  };
  std::unique_ptr<WindowIo> io;
  for (std::int64_t at = wanted.hull().begin; at < wanted.hull().end;) {
    const Extent window{at, std::min(at + step, wanted.hull().end)};
    const WindowStream stream(wanted, window);
    if (io == nullptr) io = make_window();
    io->open(context, window, {&stream, 1},
             {wanted.next(window.begin), wanted.previous_end(window.end)}, disjoint);
    const auto at_storage = [&](auto&& work) {
      const Permit permit(context.io, static_cast<int>(hints.writers));
      work();
      context.record.counts += io->take_counts();
    };
    if (!access.writes()) at_storage([&] { io->fill(); });
    copy_window(context, access, *io, window);
    if (buffered)
      hand_over(context, std::exchange(io, nullptr), static_cast<int>(hints.writers),
                context.machine.ranks);
    else if (access.writes()) at_storage([&] { io->flush(); });
    // Start the next window at a wanted element: unwanted stretches cost nothing.
    at = wanted.next(window.end);
  }
}

}  // namespace penstock
