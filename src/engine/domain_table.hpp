// DomainTable: the file domain access table (FDAT) of one aggregator: who wants what of its domain.
// Window: one round of it, from the search for its sources until its bytes are in storage.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/window_io.hpp"

namespace penstock {

struct Window {
  Window(Context& context, const Hints& hints, Direction direction,
         StagingMemory memory = StagingMemory::pool, bool exclusive = false,
         Buffer* sieve = nullptr)
      : io(context, hints, direction, exclusive, memory, sieve) {}

  WindowIo io;
  std::int64_t round = -1;
  Extent extent;
  std::vector<WindowStream> streams;  // per source; empty: nothing in this round
  IoTicket ticket = 0;                // of its storage call, if a thread does it; which one:
  bool in_io_thread = false;          // that of the device, else that of the file's calls
  bool under_way = false;             // begun by this thread, which ends it, too
  std::optional<Error> error;         // of that call
};

class DomainTable {
 public:
  struct Source {
    int rank;
    Footprint footprint;
    std::int64_t round;  // the next one with bytes of it
  };

  DomainTable(const Plan& plan, std::int64_t aggregator, Overlap overlap = Overlap::highest_rank);
  /// In rank order. A request without a byte of the domain is left out.
  void add(int rank, Footprint footprint);
  /// After the last add(): finds out whether requests overlap, and the first round.
  void finalize();
  /// Of a write: where the patterns do not tell whether requests overlap, their bytes are counted,
  /// window by window.
  void count_overlaps(Context& context);

  std::int64_t aggregator() const noexcept { return aggregator_; }
  const std::vector<Source>& sources() const noexcept { return sources_; }
  /// No byte is wanted twice, as far as is known.
  bool disjoint() const noexcept { return apart_ == Apart::yes; }
  /// Ranks may copy into a window in any order.
  bool any_order() const noexcept { return disjoint() || overlap_ == Overlap::unspecified; }
  /// No round is left.
  bool finished() const noexcept { return round_ >= rounds_; }
  /// The next round with wanted bytes.
  std::int64_t round() const noexcept { return round_; }
  /// From the first to the last wanted byte of each round that is left.
  std::vector<Extent> extents_left() const;
  /// The streams of that round, one per source, and the extent from its first to its last wanted
  /// byte; goes on to the next.
  Extent take(std::vector<WindowStream>& streams);
  /// The same, opened as `window`, see WindowIo::open. `address`: a window and lead_room() of
  /// memory at a page boundary.
  void open(Window& window, std::byte* address = nullptr);

 private:
  void find_round();

  const Plan& plan_;
  std::int64_t aggregator_, rounds_;
  Overlap overlap_;
  std::vector<Source> sources_;
  Apart apart_ = Apart::yes;
  std::int64_t round_ = 0;
};

/// Writes windows to storage or reads them, in the background if the plan says so. Windows of a
/// buffered write are in the active buffer and belong to its I/O thread once they are filled.
class WindowQueue {
 public:
  /// `background`: storage calls may run beside the thread that exchanges, and wait for a permit
  /// there; else the caller sees to that.
  WindowQueue(Context& context, const Plan& plan, const Hints& hints, Direction direction,
              bool background);
  ~WindowQueue();

  /// Windows that open() gets no address for lie in the first slots of `owner`, as many as the plan
  /// is deep, and not in buffers of their own.
  void lie_in(NodeStaging& staging, int owner) noexcept;
  /// The window of the table's next round, once there is memory for it; its read is under way when
  /// this returns. `address`: see DomainTable::open; not used for windows in the active buffer.
  Window& open(DomainTable& table, std::byte* address = nullptr);
  /// Whether open() would wait for room in the active buffer.
  bool must_wait();
  /// Starts reading ahead into the active buffer, as far as there is room within `budget`.
  void read_ahead(DomainTable& table, std::int64_t budget);
  /// What read_ahead() started is in memory.
  bool has_read_ahead();
  bool finished(const DomainTable& table) const noexcept {
    return table.finished() && ahead_.empty();
  }
  bool buffered() const noexcept { return buffered_; }
  /// start_flush() and open() may return before the storage is done with a window.
  bool completes_later() const noexcept { return buffered_ || background_ || reads_together_; }
  /// Whether what was started of a window is done.
  bool is_done(Window& window);
  /// Whether open() would not wait for what an earlier window has at the storage.
  bool next_is_free() { return windows_.empty() || is_done(*windows_[turn_]); }
  void start_flush(Window& window);
  /// Waits for what was started. After a failed fill the staging buffer is all zeros: others must
  /// get something, but not what memory held before.
  void finish(Window& window);
  void finish_all();
  bool deep() const noexcept { return windows_.size() > 1; }
  /// The first error. Nothing touches the file after it, but the exchange goes on, so that no
  /// other rank waits for ever.
  const std::optional<Error>& error() const noexcept { return error_; }

 private:
  Window& next();
  std::shared_ptr<Window> loose(StagingMemory memory);
  void start(Window& window, bool fill);
  void start_fill(Window& window) { start(window, true); }
  void start_fill_in_io_thread(Window& window);
  void stagger();

  Context& context_;
  const Hints& hints_;
  std::int64_t aggregator_, aggregators_, unit_bytes_;
  int writers_;
  bool reads_, background_, buffered_;
  bool reads_together_;             // storage completes later: reads need no thread
  NodeStaging* staging_ = nullptr;  // that windows lie in
  int owner_ = 0;                   // of their slots there
  Buffer sieve_;                    // of all windows
  std::vector<std::unique_ptr<Window>> windows_;
  // In the active buffer: opened, and read ahead but not opened yet.
  std::vector<std::shared_ptr<Window>> open_;
  std::deque<std::shared_ptr<Window>> ahead_;
  std::size_t turn_ = 0;
  bool staggered_ = false;
  std::atomic<bool> failed_ = false;  // for jobs that were started before error_ was known
  std::optional<Error> error_;
};

/// Gives a filled window to the I/O thread. `writers`: see Permit; `owners`: ranks that have
/// windows of the call; `delay`: before it is written.
void hand_over(Context& context, std::shared_ptr<Window> window, int writers, std::int64_t owners,
               std::chrono::microseconds delay = {});

}  // namespace penstock
