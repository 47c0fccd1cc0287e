// ActiveBuffer: what a process has promised to write, and its one I/O thread (Ma, Winslett, Lee &
// Yu, *Improving MPI-IO Output Performance with Active Buffering Plus Threads*). Writers copy into
// units of at most a few MiB and go on; the thread writes unit after unit.
//
// Invariants:
//   1. Units run one after the other, in the order in which they came: of one file, of all files.
//   2. Memory in use stays within the budget of who takes it, plus one unit (where nothing is
//      queued there would be nothing to wait for). A budget is no state of its own: each take
//      brings it, so it may change from call to call.
//   3. After a unit of a file has failed, later writes of that file are dropped and counted until
//      somebody has taken the failure: nothing gets into the file out of order.
//   4. The thread never calls MPI.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <penstock/error.hpp>

#include "background/arena.hpp"
#include "background/placement.hpp"
#include "base/extent.hpp"

namespace penstock {

/// The record of one file of the operating system, however often it is open. Its members belong to
/// ActiveBuffer.
class BufferedFile {
 public:
  explicit BufferedFile(std::string path, std::string who)
      : path(std::move(path)), who(std::move(who)) {}

 private:
  friend class ActiveBuffer;
  struct Write {
    std::uint64_t ticket;
    Extent extent;
  };
  const std::string path, who;
  std::deque<Write> pending;                    // oldest first
  std::uint64_t last_write = 0, last_read = 0;  // tickets of its newest units
  std::optional<Error> failure;                 // the first that nobody has taken
  std::int64_t failed_operation = 0, dropped = 0, dropped_bytes = 0;
  bool unsettled = false;  // something was buffered since the last settle()
  struct Lost {
    Error failure;  // which it was, or came after
    std::int64_t failed_operation;
  };
  std::map<std::pair<const void*, std::int64_t>, Lost> lost;  // writes, by owner and operation
};

class ActiveBuffer {
 public:
  using Ticket = std::uint64_t;  // 0: nothing

  /// A piece of the arena. Gives itself back.
  class Memory {
   public:
    Memory() = default;
    Memory(Memory&& other) noexcept { *this = std::move(other); }
    Memory& operator=(Memory&& other) noexcept {
      std::swap(owner_, other.owner_);
      std::swap(offset_, other.offset_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Memory() { release(); }
    void release() noexcept;
    std::byte* data() const noexcept;
    std::int64_t offset() const noexcept { return offset_; }  // in the arena
    std::int64_t size() const noexcept { return bytes_; }
    explicit operator bool() const noexcept { return owner_ != nullptr; }

   private:
    friend class ActiveBuffer;
    ActiveBuffer* owner_ = nullptr;
    std::int64_t offset_ = 0, bytes_ = 0;
  };

  /// While one lives the I/O thread begins no unit, unless somebody waits for one. For writers that
  /// are busy copying, where storage needs a core as well (the page cache does).
  class Hold {
   public:
    explicit Hold(ActiveBuffer& owner) : owner_(owner) { owner_.hold(1); }
    Hold(const Hold&) = delete;
    ~Hold() { owner_.hold(-1); }

   private:
    ActiveBuffer& owner_;
  };

  /// While one lives somebody waits for units: nothing holds up the I/O thread.
  class Urge {
   public:
    explicit Urge(ActiveBuffer& owner) : owner_(owner) { owner_.urge(1); }
    Urge(const Urge&) = delete;
    ~Urge() { owner_.urge(-1); }

   private:
    ActiveBuffer& owner_;
  };
  bool is_urged();

  struct Unit {
    std::shared_ptr<BufferedFile> file;
    Extent extent;               // of the file that it writes within; of a read: empty
    std::int64_t operation = 0;  // which write of its owner it belongs to
    Placement placement;
    std::function<void()> work;   // may throw; holds the unit's memory, and lets go of it
    const void* owner = nullptr;  // what counts the writes: an open file
  };

  ActiveBuffer() : arena_(std::make_unique<Arena>()) {}
  ActiveBuffer(const ActiveBuffer&) = delete;
  ~ActiveBuffer() { finish(); }

  /// The one of this process. Lives until the process ends: exit() and finish() see to its data.
  static ActiveBuffer& instance();

  /// The record of a file by its identity. `who`: this process, for messages.
  std::shared_ptr<BufferedFile> file(std::uint64_t device, std::uint64_t inode,
                                     const std::string& path, const std::string& who);

  /// The memory of this process, for other processes of the node. False where there is none.
  bool open_arena();
  std::byte* arena_base() const noexcept { return arena_->view().base; }
  int arena_descriptor() const noexcept { return arena_->descriptor(); }

  bool has_room(std::int64_t bytes, std::int64_t budget);
  /// Waits for room, and for no more than that. Throws std::bad_alloc where the system has no
  /// memory although nothing is queued.
  Memory take(std::int64_t bytes, std::int64_t budget);
  /// The same without waiting; false memory where there is no room.
  Memory try_take(std::int64_t bytes, std::int64_t budget);
  /// Memory that is not in use beyond `budget` goes back to the system.
  void trim(std::int64_t budget);

  /// The thread starts with the first unit.
  Ticket submit(Unit unit);
  bool is_idle();
  bool is_done(Ticket ticket);
  void wait(Ticket ticket);
  enum class Which { writes, reads, all };
  /// Until nothing of the file is queued.
  void drain(BufferedFile& file, Which which = Which::all);

  /// Where writes of the file are pending: from the first to the last such byte.
  Extent pending_hull(const BufferedFile& file);
  std::vector<Extent> pending(const BufferedFile& file);
  /// As if a unit of write `operation` had failed.
  void fail(BufferedFile& file, const Error& error, const void* owner, std::int64_t operation);
  /// Why a write is not in the file, whoever has taken the failure; nothing: no unit of it was
  /// lost.
  std::optional<Error> lost(BufferedFile& file, const void* owner, std::int64_t operation);
  /// What has gone wrong since the last time, in words for the reader, and no longer here.
  /// Later writes of the file are dropped first.
  std::optional<Error> take_failure(BufferedFile& file);
  bool has_failure(const BufferedFile& file);
  /// On stderr what nobody can be thrown: a failure, or that the file was not closed.
  void tell(BufferedFile& file) noexcept;
  /// The data is where the program wants it: nobody needs to be told at the end.
  void settle(BufferedFile& file);

  /// Calls `wake` from the I/O thread after each unit, until cancelled.
  int call_after_units(std::function<void()> wake);
  void cancel_call(int id);

  /// Writes what is queued and ends the thread (a later unit starts it again). Tells on stderr what
  /// the program has not asked for: failures, and files that were not closed.
  void finish() noexcept;

  std::int64_t in_use();
  std::int64_t peak();  // bytes in use at most, since the process started or restart_peak()
  void restart_peak();

 private:
  class Awaiting;
  static void survive_forks();
  void forget();
  void hold(int more);
  void urge(int more);
  void start();
  void run();
  void run_one(Unit& unit, std::unique_lock<std::mutex>& guard);
  void finished(const Unit& unit, bool dropped, std::optional<Error> error);
  bool fits(std::int64_t bytes, std::int64_t budget) const noexcept;
  bool nothing_queued() const noexcept { return finished_ == submitted_; }
  Memory carve(std::int64_t bytes, std::int64_t budget);
  void give(std::int64_t offset, std::int64_t bytes) noexcept;

  std::mutex mutex_;
  std::condition_variable has_work_, done_;  // done_: a unit is finished, or memory is free
  std::unique_ptr<Arena> arena_;
  std::int64_t in_use_ = 0, peak_ = 0;
  std::deque<Unit> queue_;
  int held_ = 0, awaited_ = 0;  // by writers that copy; by those who wait for units or room
  Ticket submitted_ = 0, finished_ = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::weak_ptr<BufferedFile>> files_;
  std::map<int, std::function<void()>> wakers_;
  int next_waker_ = 0;
  std::thread thread_;
  bool stop_ = false;
};

}  // namespace penstock
