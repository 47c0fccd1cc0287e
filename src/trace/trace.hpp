// Trace: the log of the spans of a process, in a TraceFile. PENSTOCK_TRACE=FOLDER switches it on.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "trace/recorder.hpp"
#include "trace/trace_file.hpp"

namespace penstock::trace {

/// From the environment.
struct Settings {
  std::string folder;                            // PENSTOCK_TRACE; empty: no trace
  std::int64_t limit = std::int64_t{256} << 20;  // PENSTOCK_TRACE_LIMIT: bytes of records
  WhenFull when_full = WhenFull::newest;         // PENSTOCK_TRACE_KEEP=newest|oldest

  /// Throws Error(argument) that names the variable.
  static Settings of_environment();
};

class Trace {
 public:
  /// Creates the folder if needed. Throws Error(storage).
  explicit Trace(const Settings& settings);
  Trace(const Trace&) = delete;
  ~Trace();

  /// The listener for a file. It lives as long as the trace: background units may end after the
  /// file is closed.
  Listener* listener(const std::string& path);
  /// The process's rank in MPI_COMM_WORLD, once it is known.
  void set_rank(int rank, int ranks) noexcept;
  /// The process ends regularly.
  void end() noexcept;
  /// In a forked child, which shares the file with its parent: it records nothing.
  void forget() noexcept { forgotten_ = true; }
  const std::string& path() const noexcept { return file_.path(); }

 private:
  class OfFile;
  struct Thread;

  void take(const Span& span, std::uint32_t file) noexcept;
  Thread& thread() noexcept;
  void begin_thread(Thread& thread);
  void sample(Thread& thread, std::int64_t now) noexcept;

  TraceFile file_;
  const std::uint64_t number_;  // among the traces of this process
  std::atomic<bool> forgotten_ = false;
  std::atomic<std::uint16_t> lanes_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<OfFile>> files_;
};

/// Null: not requested, or it could not be created, which was reported on stderr.
Trace* of_process();

}  // namespace penstock::trace
