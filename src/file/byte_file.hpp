// ByteFile: an open file of bytes, shared by the ranks of a communicator. Arrays (formats/) and
// other interfaces are built on it. opening.cpp opens one, byte_file.cpp has the calls on it,
// closing.cpp closes it.
//
// All calls are collective unless stated otherwise. They throw Error, the same class and message on
// every rank. Any thread may make them: while one is in a call of the file the others wait
// (CallGate); is_copied without waiting, is_ready, has_ended and is_closing_done return false
// instead.
#pragma once

#include <atomic>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <penstock/file_system.hpp>
#include <penstock/first_rank.hpp>

#include "base/failure.hpp"
#include "file/announcement.hpp"
#include "file/call_gate.hpp"
#include "file/contents.hpp"
#include "file/device.hpp"
#include "file/in_flight.hpp"
#include "storage/replacement.hpp"

namespace penstock {

/// Throws if the size could not be set.
void resize(Storage& storage, const std::string& path, std::int64_t bytes);

/// For messages: what happened to a file that was to be replaced.
std::string left_as_it_was(const std::string& path);

class ByteFile {
 public:
  using Begun = InFlight::Begun;

  /// `background`: the process's. `contents` is needed until the file is open, and must outlive
  /// this object if the file replaces another (OpenFlag::replace).
  ByteFile(BackgroundIo& background, Communicator comm, const std::filesystem::path& path,
           OpenFlag flag, Contents& contents, const Hints& hints);
  ByteFile(const ByteFile&) = delete;
  /// Not collective: it also runs during one rank's exception, without the other ranks.
  ~ByteFile() { abandon(std::uncaught_exceptions() > 0); }

  /// While one exists, no other thread calls the file: for calls that belong together.
  CallGate::Pass admit() const { return gate_.enter(path_, !comm_.alone()); }
  /// The same for calls that do not use MPI.
  CallGate::Pass look() const { return gate_.enter(path_, /*calls_mpi=*/false); }

  /// A read or a write. Collective, unless the request needs no other rank.
  std::shared_ptr<Begun> transfer(ByteRequest request);
  std::shared_ptr<Begun> begin(ByteRequest request, Background background);
  /// The same without waiting for other ranks, see InFlight. All ranks begin their calls in the
  /// same order, but not necessarily at the same time.
  std::shared_ptr<Begun> post(ByteRequest request);
  /// Takes part, with an error, in whatever the other ranks begin.
  [[noreturn]] void refuse_begin(const Error& error);
  void end(Begun& begun);
  /// Not collective.
  bool is_copied(Begun& begun, bool wait);
  bool is_ready(Begun& begun);
  bool has_ended(Begun& begun);

  void sync();
  std::int64_t size();
  /// `found`: an error that the caller has found in the size.
  void truncate(std::int64_t bytes, const std::optional<Error>& found);

  /// Makes the file end where `step` does, and fills `step` with zeros, without waiting for what is
  /// buffered, which must lie before it. Also the agreement of a call that then writes there.
  /// `shared`: others have bytes in between and behind, so that the file becomes long enough and is
  /// not cut. `found`: an error found by the caller.
  void extend(Extent step, bool shared, const std::optional<Error>& found);
  /// Not collective, after extend(), if the call that was to write there has failed on all ranks:
  /// cuts the file at byte `end` again, as far as that succeeds.
  void take_back(std::int64_t end) noexcept;
  /// Not collective, but the same on every rank: the layout of the file from the next call on.
  void set_units(FileUnits units);
  /// Collective, before a call of that kind: on return the file holds what ranks have kept back.
  void settle(CallKind kind);
  /// Not collective, but the same on every rank. `metadata` is updated by each sync and close, and
  /// must outlive this object.
  void maintain(Metadata& metadata) noexcept { metadata_ = &metadata; }

  /// Makes the file at least this long, with all of it allocated.
  void allocate(std::int64_t bytes, const std::optional<Error>& found);
  /// The ranks meet, and compare what all must pass alike, for a call that does not access the
  /// file.
  void agree(CallKind kind, const std::vector<Common>& common, const std::optional<Error>& found);

  /// The ranks meet, and rank 0 runs a task for all; returns its result. `found`: an error in this
  /// rank's arguments.
  std::string on_first_rank(const FirstRankTask& task, const Error* found);

  /// Not collective, apart from what is in flight: on return this rank's buffered bytes are in the
  /// file, unless writing them failed.
  void drain();
  /// Not collective: includes all that this rank, and the others of its node, have written.
  std::int64_t size_now();
  /// Not collective. One contiguous run of memory, moved by the calling thread without a plan, if
  /// the page cache takes or has it and nothing buffered or in flight interferes. Otherwise does
  /// nothing and returns nullopt. Fewer bytes: the file ends there.
  std::optional<std::int64_t> move_now(Direction direction, std::span<std::byte> memory,
                                       std::int64_t offset);
  /// Reports a transfer to the listener, for callers that read the clock anyway.
  void report_transfer(Direction direction, Extent range, Span::Clock::time_point begin,
                       Span::Clock::time_point end) const noexcept {
    if (listener_ == nullptr) return;
    const bool writes = direction == Direction::write;
    listener_->take({0, writes ? Phase::simple_write : Phase::simple_read, range.length(),
                     range.begin, begin, end});
  }

  /// Begins to close: from here on the file counts as closed. One that replaces another is synced
  /// meanwhile.
  void begin_close();
  bool is_closing_done();
  void finish_close();
  void close();
  /// Closes the file on this rank alone, if the others cannot be expected to take part. Errors
  /// cannot be thrown here. `on_purpose`: do not report that the file was never closed. Does
  /// nothing in a forked child, since the file is its parent's.
  void abandon(bool on_purpose = false) noexcept;
  /// Not collective. Waits for work in this file's threads, unless another thread is in a call of
  /// it.
  void await_threads() noexcept;

  bool is_open() const noexcept { return open_; }
  void require_open() const {
    if (!is_open()) throw Error(ErrorClass::state, "'" + path_ + "' is closed");
  }
  const std::string& path() const noexcept { return path_; }
  const Communicator& comm() const noexcept { return comm_; }
  bool writable() const noexcept { return flag_ != OpenFlag::read; }
  /// Effective values.
  const Hints& hints() const noexcept { return hints_; }
  const FileSystemFacts& file_system() const noexcept { return facts_; }
  std::string device() const { return describe_device(hints_, facts_); }
  Machine machine() const;
  /// Of this rank, since the file was opened.
  Statistics statistics() const;
  /// Of its last read or write, without the work of I/O threads.
  /// Throws the first error that kept bytes of this rank out of the file.
  void check_whole() const;
  Statistics last_call() const;

 private:
  CallGate::Pass admit_open() const;
  std::optional<CallGate::Pass> try_admit() const { return gate_.try_enter(path_, !comm_.alone()); }
  void check(Contents& contents);
  void agree_to_open(Contents& contents);
  void open_storage(Contents& contents, OpenFlag flag);
  Announcement open_on_first(const Channel& channel, Contents& contents);
  bool open_on_others(const Channel& channel, Contents& contents, const Announcement& announced);
  void open_as_announced(Contents& contents, const Announcement& announced);
  bool has_page_cache(const std::string& page_cache) const;
  void go_past_caches(const Channel& channel, const Contents& contents);
  void forget_older();
  void find_buffered(const Contents& contents);
  void change(const Channel& channel, Contents& contents);
  void complete(const Contents& contents);

  bool replaces() const noexcept { return flag_ == OpenFlag::replace; }
  void make_replacement();
  void sync_in_background();
  std::optional<Error> ready_to_replace();
  void replace(const Channel& channel);
  void put_in_place(const Channel& channel);
  void agree_on_change(const Channel& channel, const std::optional<Error>& error);

  Statistics sum_of_counts() const;
  Call call_of(const ByteRequest& request, std::optional<Background> background) const;
  InCall::Awaited awaited_by(const ByteRequest& request) const;
  void meet(const Channel& channel, const std::vector<Common>& common = {},
            const std::optional<Error>& error = std::nullopt);
  void count_as_closed();
  void finish_closing();
  void sync_own();
  void sync_name();
  bool metadata_is_stale() const;
  void bring_up_to_date(const Channel& channel);
  void let_go() noexcept;
  void resize_on_first(CallKind kind, std::int64_t bytes, const std::optional<Error>& found,
                       std::int64_t (Storage::*change)(std::int64_t));
  bool is_simple(Extent range);

  mutable CallGate gate_;
  BackgroundIo& background_;
  Communicator comm_;
  std::string path_;       // as given, up to a 0 byte
  bool whole_path_;        // it has no 0 byte
  std::string open_path_;  // of the open file: another one if it replaces `path_`
  OpenFlag flag_;
  bool name_synced_ = false;
  Contents& contents_;
  Listener* listener_ = nullptr;  // observes calls; null: nobody does
  Hints hints_;
  Device device_;
  std::shared_ptr<PaceClock> clock_;
  std::shared_ptr<BufferedFile> buffered_;
  std::shared_ptr<CacheSpeed> cache_speed_;
  Metadata* metadata_ = nullptr;
  std::atomic<bool> open_ = false;            // and not being closed
  std::unique_ptr<Replacement> replacement_;  // on rank 0
  std::optional<Error> sync_failure_;         // of sync_in_background(), once it is drained
  StorageCounts counts_;  // of storage calls outside operations; outlives storage_
  std::unique_ptr<Storage> storage_;
  FileSystemFacts facts_;
  Costs costs_;
  std::optional<OpenFile> file_;
  std::optional<InFlight> in_flight_;
  Statistics total_, last_;
};

/// The ranks of `comm` meet before a file is open, and rank 0 runs a task for all.
std::string ask_first_rank(Communicator comm, const std::string& path, const FirstRankTask& task,
                           const Error* found);

}  // namespace penstock
