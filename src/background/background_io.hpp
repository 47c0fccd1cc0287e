// BackgroundIo: the background work of a process for all its files: the memory that they share
// (ActiveBuffer), and a queue with an I/O thread for each device.
//
// Invariants:
//   1. A file has one queue as long as any handle of it is open, so its units run in order of
//      submission. Files of one device share a queue.
//   2. A queue waits only for its own device: a slow device delays no other queue.
//   3. The queue of a file that is a device of its own ends with the file; those of real devices,
//      which are few, are kept. A queue's thread ends after some idle seconds, so a process has no
//      more I/O threads than recently used queues.
// Open files have further queues for what their calls do in another thread, see queue_of_calls().
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "background/active_buffer.hpp"
#include "background/buffered_file.hpp"
#include "background/io_queue.hpp"

namespace penstock {

/// A file as identified by the operating system.
struct FileId {
  std::uint64_t device = 0, inode = 0;
  friend auto operator<=>(const FileId&, const FileId&) = default;
};

/// Identifies a queue.
struct QueueKey {
  std::uint64_t device = 0;
  std::uint64_t file = 0;   // if the file is a device of its own; 0: all files of the device
  bool page_cache = false;  // bytes go to the page cache: copies, which need a core
  friend auto operator<=>(const QueueKey&, const QueueKey&) = default;
};

class BackgroundIo {
 public:
  /// While one exists, queues that write to the page cache begin no unit, unless a caller waits for
  /// one (Expedite, IoQueue::wait). For writers that copy: units would take their cores.
  class Throttle {
   public:
    explicit Throttle(BackgroundIo& owner) : owner_(owner) { ++owner_.throttling_.throttles; }
    Throttle(const Throttle&) = delete;
    ~Throttle() {
      if (--owner_.throttling_.throttles == 0) owner_.wake_queues();
    }

   private:
    BackgroundIo& owner_;
  };

  /// While one exists, a caller waits for units of any queue: no queue is throttled.
  class Expedite {
   public:
    explicit Expedite(BackgroundIo& owner) : owner_(owner) {
      ++owner_.throttling_.expedites;
      if (owner_.throttling_.throttles > 0) owner_.wake_queues();
    }
    Expedite(const Expedite&) = delete;
    ~Expedite() { --owner_.throttling_.expedites; }

   private:
    BackgroundIo& owner_;
  };

  /// `idle`: how long a thread without units is kept.
  explicit BackgroundIo(IoQueue::Clock::duration idle = std::chrono::seconds(5)) : idle_(idle) {}
  BackgroundIo(const BackgroundIo&) = delete;
  ~BackgroundIo() { finish(); }

  ActiveBuffer& memory() noexcept { return memory_; }

  /// The record of a file, and its queue: the one of `key` if no handle of the file is open yet,
  /// else that of the first handle. `who`: this process, for messages.
  std::shared_ptr<BufferedFile> file(const FileId& id, const QueueKey& key, const std::string& path,
                                     const std::string& who);

  /// A queue for units that are parts of the calls of one open file, which owns it.
  std::shared_ptr<IoQueue> queue_of_calls();

  /// Writes what is queued and ends the threads (a later unit starts its own again). Reports on
  /// stderr failures that no call has reported, and files that were not closed.
  void finish() noexcept;

  std::size_t queues();   // of devices
  std::size_t threads();  // running threads of these

  /// Around a fork: `lock_for_fork` before, the second in the parent, the third in the child, whose
  /// background starts empty.
  void lock_for_fork();
  void unlock_after_fork();
  void forget_after_fork();

 private:
  std::vector<std::shared_ptr<IoQueue>> live_queues();
  void wake_queues();

  ActiveBuffer memory_;
  Throttling throttling_;
  const IoQueue::Clock::duration idle_;
  std::mutex mutex_;  // taken before a queue's lock, which is taken before that of the memory
  std::map<QueueKey, std::weak_ptr<IoQueue>> queues_;
  std::vector<std::shared_ptr<IoQueue>> kept_;  // of real devices: they outlive files
  std::vector<std::weak_ptr<IoQueue>> of_calls_;
  std::map<FileId, std::weak_ptr<BufferedFile>> files_;
  std::vector<std::shared_ptr<IoQueue>> locked_;  // around a fork
};

}  // namespace penstock
