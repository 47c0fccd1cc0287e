// WindowIo: one staging buffer, and its accesses to the file.
//
// The staging buffer is either WindowIo's own or memory of the caller (shared memory of a node).
// Either way its address equals the file offset modulo a page, as O_DIRECT requires.
//
// A window is opened for the streams of all sources that want bytes of it, and trimmed to the first
// and last wanted byte. Then, for a read: fill(), and the caller copies out of at(). For a write:
// the caller copies into at(), then flush().
//
// Invariants of a write:
//   1. Only wanted bytes change. Holes are either not written, or read, kept and written back under
//      an exclusive lock of the trimmed window (read-modify-write).
//   2. Locks are taken after the exchange and never held while waiting for another rank: two groups
//      of processes writing one file cannot deadlock.
//   3. Every write takes at least a shared lock, so that it cannot fall between the read and the
//      write of another group's read-modify-write.
//   4. Windows are whole chunks if the file has chunks that storage writes as a whole: holes are
//      read and written back there, whatever the lock and the hint are.
//   5. The holder of an exclusive lock holds no other and waits only for its own storage: processes
//      cannot wait for each other's locks. So a flush that needs one is never in flight beside
//      another (goes_beside_others).
#pragma once

#include <span>
#include <string>

#include "engine/buffering.hpp"
#include "engine/context.hpp"
#include "pattern/stream_copy.hpp"
#include "plan/coverage.hpp"
#include "plan/memory.hpp"
#include "storage/submission.hpp"

namespace penstock {

/// Offset within page-aligned memory of the byte at file offset `offset`.
constexpr std::int64_t lead(std::int64_t offset, std::int64_t window_bytes) noexcept {
  return lead_room(window_bytes) == 0 ? 0 : offset % Buffer::page;
}

enum class StagingMemory { pool, active_buffer };

class WindowIo {
 public:
  /// `exclusive`: writes of other ranks of the same call may overlap this one's (sieved). `memory`:
  /// for staging buffers; those in the active buffer are filled or flushed by its I/O thread, at
  /// any time until they are destroyed. `sieve`: the buffer for reading holes, shared by objects of
  /// which one is flushed at a time and released by its owner; null: a buffer of this object.
  WindowIo(Context& context, const Hints& hints, Direction direction, bool exclusive,
           StagingMemory memory = StagingMemory::pool, Buffer* sieve = nullptr);
  WindowIo(const WindowIo&) = delete;
  ~WindowIo();

  /// `streams`: the wanted bytes of `window`, per source; `disjoint`: no byte is wanted twice.
  /// `address`: where in the caller's memory the window begins; null: in a buffer of this object.
  void open(Context& context, Extent window, std::span<const WindowStream> streams, Extent trimmed,
            bool disjoint, std::byte* address = nullptr);
  std::byte* at(std::int64_t offset) noexcept { return base_ + (offset - origin_); }
  Staged staged() noexcept { return Staged::as_in_file(base_, origin_); }
  Extent trimmed() const noexcept { return trimmed_; }
  std::int64_t wanted() const noexcept { return wanted_; }  // bytes
  /// Functions that access the file. Another thread may run them; they use only the `io` of the
  /// call. If storage completes later, a window's accesses are in flight from begin_...() to
  /// finish(), which throws their errors.
  void begin_fill();
  void begin_flush();
  bool is_done() { return accesses_.poll(); }
  void finish();
  void fill() {
    begin_fill();
    finish();
  }
  void flush() {
    begin_flush();
    finish();
  }
  /// Whether its accesses may be in flight together with those of other windows.
  bool goes_beside_others() const noexcept {
    return call_.storage.completes_later() && !needs_exclusive_lock();
  }
  /// After a failed fill: other ranks get zeros, not old memory.
  void clear();
  bool in_active_buffer() const noexcept { return memory_ == StagingMemory::active_buffer; }
  /// Address in the arena of the active buffer at which file offset 0 would be.
  std::int64_t image() const noexcept { return unit_.offset() + (base_ - unit_.data()) - origin_; }
  /// Counts of filling and flushing since the last query.
  const Statistics& counts() const noexcept { return record_.counts; }
  Statistics take_counts() noexcept { return std::exchange(record_.counts, {}); }

 private:
  bool holes() const noexcept { return wanted_ < trimmed_.length(); }
  void choose_memory(Context& context, std::byte* address, Extent window);
  void take_unit(Context& context, std::int64_t bytes);
  bool modifies() const noexcept;
  bool moves_whole() const noexcept;
  bool pays(const Coverage::Cluster& part) const noexcept;
  void find_sieved();
  template <class Visit>
  void for_each_part(Visit&& visit) const;
  bool needs_exclusive_lock() const noexcept {
    return direction_ == Direction::write && (exclusive_ || modifies());
  }
  void cover(Context& context, std::span<const WindowStream> streams);
  void prepare_sieve();
  void add(Extent range);
  void add_after_others(Extent range);
  void add_parts(bool sieve);
  void read_holes();
  void read_gathered(Extent span, int holes, std::vector<Extent>& spans);
  void take_from_sieve(std::vector<Extent>& spans);
  std::unique_ptr<RangeLock> lock(LockKind kind);

  IoCall& call_;
  BufferPool* const pool_;    // of the calling thread; null: memory is in the active buffer
  MemoryGauge* const gauge_;  // null as above
  const Locks locks_;
  const SieveWrites sieve_writes_;
  // Of the operation that the window was made for: the file may be in the next one when an I/O
  // thread writes it.
  const Sieving sieving_;
  const bool indivisible_;
  const std::int64_t sieve_bytes_;
  Direction direction_;
  bool exclusive_;
  StagingMemory memory_;
  Recorder record_;  // of the thread that fills or flushes
  Buffer staging_, own_sieve_;
  Buffer& sieve_;
  ActiveBuffer::Memory unit_;
  std::byte* base_ = nullptr;  // memory of origin_
  std::int64_t origin_ = 0;
  Coverage coverage_;
  bool covered_ = false;  // coverage_ describes this window
  bool sieved_ = false;   // some part of it is moved including its holes
  Extent trimmed_;
  std::int64_t wanted_ = 0, runs_ = 0;
  std::unique_ptr<RangeLock> lock_;  // of accesses in flight
  Submission accesses_;              // destroyed first: waits for them
};

/// One of the storage accesses that a node's ranks may make at a time (0: any number).
class Permit {
 public:
  Permit(const IoCall& call, int writers) : team_(writers > 0 ? call.file.team : nullptr) {
    if (team_ != nullptr) team_->take_permit(writers);
  }
  Permit(const Permit&) = delete;
  ~Permit() {
    if (team_ != nullptr) team_->return_permit();
  }

 private:
  Team* team_;
};

/// A shared lock that moves along with the writes of the direct method. `work(range)` writes
/// without a lock if the file system has none.
std::unique_ptr<RangeLock> lock_for_writing(IoCall& call, Locks locks, Extent range, LockKind kind);
/// Throws the error of a storage call, worded for the reader.
[[noreturn]] void throw_transfer_error(const IoCall& call, const char* what, Extent range,
                                       const Transfer& transfer);
/// The same for completed accesses: throws if one failed, or if a read met the end of the file.
void check_accesses(const IoCall& call, const Submission& accesses);

}  // namespace penstock
