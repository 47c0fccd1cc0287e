// Calls on an open file, except closing.
#include "file/byte_file.hpp"

#include <algorithm>
#include <filesystem>

#include "mpi/agree.hpp"
#include "mpi/drive.hpp"
#include "storage/posix.hpp"

namespace penstock {

void resize(Storage& storage, const std::string& path, std::int64_t bytes) {
  const std::int64_t code = storage.resize(bytes);
  if (code < 0)
    throw_errno("setting the size to " + std::to_string(bytes) + " bytes of", path, code);
}

namespace {

/// For the call that begins a read or write.
class WatchedBegin {
 public:
  WatchedBegin(Listener* listener, const ByteRequest& request, std::int64_t call)
      : watched_(listener,
                 request.access.writes() ? Phase::begin_write_call : Phase::begin_read_call, call) {
    const Footprint& file = request.access.file;
    watched_.moves(file.bytes(), file.empty() ? -1 : file.hull().begin);
  }

 private:
  Watched watched_;
};

}  // namespace

Call ByteFile::call_of(const ByteRequest& request, std::optional<Background> background) const {
  const CallKind kind = Operation::kind(request.access.direction, background);
  return {kind, request.company == Company::collective ? file_->calls + 1 : 0};
}

InCall::Awaited ByteFile::awaited_by(const ByteRequest& request) const {
  if (request.company == Company::collective || request.access.file.empty()) return {};
  return in_flight_->awaited_for(request.access.file.hull());
}

std::shared_ptr<InFlight::Begun> ByteFile::transfer(ByteRequest request) {
  const CallGate::Pass pass = admit_open();
  const InCall in(comm_, path_, call_of(request, std::nullopt), awaited_by(request));
  const auto done = in_flight_->run(std::move(request), hints_);
  last_ = std::exchange(done->counts, {});
  if (done->thrown) throw Error(*done->thrown);
  return done;
}

std::shared_ptr<InFlight::Begun> ByteFile::begin(ByteRequest request, Background background) {
  const CallGate::Pass pass = admit_open();
  const InCall in(comm_, path_, call_of(request, background), awaited_by(request));
  const WatchedBegin watched(listener_, request, in.call().number);
  const auto begun = in_flight_->begin(std::move(request), hints_, background);
  if (background == Background::all) return begun;
  last_ = std::exchange(begun->counts, {});
  if (begun->has_failed_to_begin()) throw Error(*begun->thrown);
  return begun;
}

std::shared_ptr<InFlight::Begun> ByteFile::post(ByteRequest request) {
  const CallGate::Pass pass = admit_open();
  const InCall in(comm_, path_, call_of(request, Background::storage));
  const WatchedBegin watched(listener_, request, in.call().number);
  return in_flight_->post(std::move(request), hints_);
}

void ByteFile::refuse_begin(const Error& error) {
  const CallGate::Pass pass = admit_open();  // NOLINT(clang-analyzer-deadcode.DeadStores): held
  const InCall in(comm_, path_, {CallKind::unknown});
  in_flight_->end_everything();
  meet(file_->next_channel(CallKind::unknown), {}, error);
  throw Error(error);
}

CallGate::Pass ByteFile::admit_open() const {
  CallGate::Pass pass = admit();
  require_open();
  return pass;
}

bool ByteFile::is_copied(Begun& begun, bool wait) {
  const Watched watched(wait ? listener_ : nullptr, Phase::wait_call, begun.call());
  const auto pass = wait ? std::optional(admit()) : try_admit();
  return pass && (!storage_ || in_flight_->is_copied(begun, wait));
}

bool ByteFile::is_ready(Begun& begun) {
  const auto pass = try_admit();
  return pass && (!storage_ || in_flight_->is_ready(begun));
}

bool ByteFile::has_ended(Begun& begun) {
  const auto pass = try_admit();
  return pass && (!storage_ || in_flight_->has_ended(begun));
}

void ByteFile::end(Begun& begun) {
  const CallGate::Pass pass = admit();
  if (!storage_) {  // closing has waited for it
    if (begun.thrown) throw Error(*std::exchange(begun.thrown, std::nullopt));
    return;
  }
  const Watched watched(listener_, Phase::wait_call, begun.call());
  const std::optional<Error> error = attempt([&] { in_flight_->end(begun); });
  last_ = std::exchange(begun.counts, {});
  if (error) throw Error(*error);
}

void ByteFile::drain() {
  const CallGate::Pass pass = admit();
  in_flight_->end_everything();
  buffered_->drain();
}

/// The agreement on entry of a call that is no read or write. Throws on every rank if the ranks are
/// in different calls, if one of them passes an error, or if the background has failed.
void ByteFile::meet(const Channel& channel, const std::vector<Common>& common,
                    const std::optional<Error>& error) {
  const Entry entry{common, {}, error ? error : file_->unreported_failure()};
  drive(comm_, enter(*file_, channel, entry));
}

/// The agreement on exit of a call that changes the file.
void ByteFile::agree_on_change(const Channel& channel, const std::optional<Error>& error) {
  if (error) file_->note_damage(*error);
  drive(comm_, agree_on_exit(channel, error));
}

void ByteFile::settle(CallKind kind) {
  if (metadata_ == nullptr || metadata_->is_settled()) return;
  const CallGate::Pass pass = admit();
  drain();
  const Channel channel = file_->next_channel(kind);
  const InCall in(comm_, path_, channel.call);
  meet(channel);
  const Watched watched(listener_, Phase::metadata);
  metadata_->settle(channel);
}

void ByteFile::sync() {
  const CallGate::Pass pass = admit_open();
  const WatchedCall watched(listener_, Phase::sync_call);
  settle(CallKind::sync);
  drain();
  const Channel channel = file_->next_channel(CallKind::sync);
  const InCall in(comm_, path_, channel.call);
  meet(channel);
  const std::optional<Error> error = attempt([&] { sync_own(); });
  agree_on_change(channel, error);
  bring_up_to_date(channel);
  buffered_->mark_synced();
  // Other programs may have the file open.
  if (!facts_.caches_agree && !facts_.several_caches) storage_->forget_cached();
}

/// Syncs what this rank has written.
void ByteFile::sync_own() {
  if (!writable()) return;
  ++counts_.other_calls;
  const Watched access(listener_, Phase::file_sync);
  const Showing showing(file_->io.shown_access(), -1);
  const std::int64_t code = storage_->sync();
  if (code < 0) throw_errno("syncing", path_, code);
  sync_name();
}

/// Syncs, once, the folder entry of a newly made file.
void ByteFile::sync_name() {
  const bool made = flag_ == OpenFlag::create || flag_ == OpenFlag::create_new;
  if (comm_.rank() != 0 || !made || name_synced_) return;
  std::filesystem::path name = path_;
  if (!name.has_filename()) name = name.parent_path();  // "folder/"
  sync_path(name.has_parent_path() ? name.parent_path().string() : ".");
  name_synced_ = true;
}

bool ByteFile::metadata_is_stale() const {
  return metadata_ != nullptr && !metadata_->metadata_is_current();
}

/// The file's header is written only when the data it describes is on the device: after a power cut
/// the file must not claim more than it has.
void ByteFile::bring_up_to_date(const Channel& channel) {
  if (!metadata_is_stale()) return;
  const Watched watched(listener_, Phase::metadata);
  const std::optional<Error> error = attempt([&] {
    if (comm_.rank() != 0) return;
    metadata_->update_metadata(*storage_);
    ++counts_.other_calls;
    const std::int64_t code = storage_->sync();
    if (code < 0) throw_errno("syncing", path_, code);
  });
  agree_on_change(channel, error);
  metadata_->mark_metadata_current();
}

std::int64_t ByteFile::size() {
  const CallGate::Pass pass = admit_open();
  const WatchedCall watched(listener_, Phase::size_call);
  drain();
  const Channel channel = file_->next_channel(CallKind::file_size);
  const InCall in(comm_, path_, channel.call);
  meet(channel);
  std::int64_t size = 0;
  const std::optional<Error> error = attempt([&] {
    ++counts_.other_calls;
    size = checked_size(*storage_);
  });
  drive(comm_, agree_on_exit(channel, error));
  return size;
}

/// Rank 0 sets it.
void ByteFile::resize_on_first(CallKind kind, std::int64_t bytes, const std::optional<Error>& found,
                               std::int64_t (Storage::*change)(std::int64_t)) {
  const CallGate::Pass pass = admit_open();
  const WatchedCall watched(listener_, Phase::size_call);
  drain();
  const Channel channel = file_->next_channel(kind);
  const InCall in(comm_, path_, channel.call);
  meet(channel, {{"the size to set", std::to_string(bytes)}}, attempt([&] {
         if (found) throw Error(*found);
         if (bytes < 0)
           throw Error(ErrorClass::argument,
                       "a file cannot have " + std::to_string(bytes) + " bytes");
         if (!writable())
           throw Error(ErrorClass::state, "'" + path_ + "' was opened for reading only");
       }));
  const std::optional<Error> error = attempt([&] {
    if (comm_.rank() != 0) return;
    ++counts_.other_calls;
    const std::int64_t code = (*storage_.*change)(bytes);
    if (code < 0)
      throw_errno("setting the size to " + std::to_string(bytes) + " bytes of", path_, code);
  });
  agree_on_change(channel, error);
}

void ByteFile::truncate(std::int64_t bytes, const std::optional<Error>& found) {
  resize_on_first(CallKind::truncate, bytes, found, &Storage::resize);
  file_->shortened = bytes < file_->units.all.end;
}

void ByteFile::extend(Extent step, bool shared, const std::optional<Error>& found) {
  const CallGate::Pass pass = admit_open();
  const WatchedCall watched(listener_, Phase::size_call);
  in_flight_->end_everything();
  const Channel channel = file_->next_channel(CallKind::append);
  const InCall in(comm_, path_, channel.call);
  meet(channel, {{"the size that the file grows to", std::to_string(step.end)}}, found);
  const std::optional<Error> error = attempt([&] {
    if (comm_.rank() != 0) return;
    ++counts_.other_calls;
    const std::int64_t size = checked_size(*storage_);
    if (shared && size >= step.end) return;
    if (size > step.begin && !shared) resize(*storage_, path_, step.begin);  // left by a crash
    resize(*storage_, path_, step.end);
  });
  agree_on_change(channel, error);
}

void ByteFile::take_back(std::int64_t end) noexcept {
  if (comm_.rank() != 0) return;
  ++counts_.other_calls;
  static_cast<void>(storage_->resize(end));
}

void ByteFile::set_units(FileUnits units) {
  in_flight_->await_threads();
  file_->units = std::move(units);
}

void ByteFile::allocate(std::int64_t bytes, const std::optional<Error>& found) {
  resize_on_first(CallKind::allocate, bytes, found, &Storage::allocate);
}

void ByteFile::agree(CallKind kind, const std::vector<Common>& common,
                     const std::optional<Error>& found) {
  const CallGate::Pass pass = admit_open();
  const WatchedCall watched(listener_, Phase::other_call);
  const Channel channel = file_->next_channel(kind);
  const InCall in(comm_, path_, channel.call);
  const Entry entry{common, {}, found ? found : file_->unreported_failure()};
  in_flight_->complete(enter(*file_, channel, entry));
}

/// Pending writes count as part of the file, even if only some of them are written.
std::int64_t ByteFile::size_now() {
  const CallGate::Pass pass = admit_open();
  ++counts_.other_calls;
  std::int64_t size = std::max<std::int64_t>(buffered_->pending_hull().end, 0);
  Team* const team = comm_.team();
  for (int local_rank = 0; team != nullptr && local_rank < team->size(); ++local_rank)
    size = std::max(size, team->mailbox(local_rank).pending.get().end);
  return std::max(size, checked_size(*storage_));
}

bool ByteFile::is_simple(Extent range) {
  if (!is_open() || !costs_.page_cache || device_.pace || in_flight_->oldest() != 0) return false;
  if (buffered_->has_failure() || buffered_->pending_hull().end >= 0) return false;
  return !buffered_->is_pending_elsewhere(range);
}

std::optional<std::int64_t> ByteFile::move_now(Direction direction, std::span<std::byte> memory,
                                               std::int64_t offset) {
  const CallGate::Pass pass = admit();
  const bool writes = direction == Direction::write;
  const Extent range{offset, offset + static_cast<std::int64_t>(memory.size())};
  if (range.empty() || !is_simple(range)) return std::nullopt;
  int error = 0;
  std::unique_ptr<RangeLock> lock;
  if (writes && hints_.locks != Locks::never) {
    lock = storage_->lock(range, LockKind::shared, error);
    if (lock == nullptr) return std::nullopt;
  }
  CountedStorage counted(*storage_, counts_, counts_);
  const Transfer moved =
      writes ? write_fully(counted, memory, offset) : read_fully(counted, memory, offset);
  if (moved.error != 0) return std::nullopt;  // through a plan it fails again, with a message
  return moved.bytes;
}

void ByteFile::check_whole() const {
  const CallGate::Pass pass = admit();
  if (file_ && file_->damage) throw Error(*file_->damage);
}

Statistics ByteFile::last_call() const {
  const CallGate::Pass pass = look();
  return last_;
}

Statistics ByteFile::statistics() const {
  const CallGate::Pass pass = look();
  return sum_of_counts();
}

Statistics ByteFile::sum_of_counts() const {
  Statistics sum = total_;
  if (!file_) return sum;
  sum += file_->io.counts.sum();
  file_->io.storage_counts.add_to(sum);
  counts_.add_to(sum);
  return sum;
}

}  // namespace penstock
