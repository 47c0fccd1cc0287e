// Closing a file: by all ranks together, or by one rank alone, which abandons it.
#include <cstdio>

#include "file/byte_file.hpp"
#include "file/process.hpp"
#include "mpi/agree.hpp"
#include "mpi/ballot.hpp"

namespace penstock {

void ByteFile::begin_close() {
  const CallGate::Pass pass = admit();
  if (!open_) return;
  count_as_closed();
  if (replaces()) sync_in_background();
}

void ByteFile::count_as_closed() {
  in_flight_->end_reads();
  open_ = false;
}

bool ByteFile::is_closing_done() {
  const auto pass = try_admit();
  if (!pass || !storage_) return pass.has_value();
  return replaces() ? buffered_->is_drained() : buffered_->pending().empty();
}

void ByteFile::close() {
  const CallGate::Pass pass = admit();
  if (!storage_) return;
  const InCall in(comm_, path_, {CallKind::close});
  const WatchedCall watched(listener_, Phase::close_call);
  const bool begins = open_;
  if (begins) count_as_closed();
  const std::optional<Error> error = attempt([&] { finish_closing(); });
  // If the ranks are in different calls nothing is done, and the file stays open.
  if (storage_ && begins) open_ = true;
  if (error) throw Error(*error);
}

void ByteFile::finish_close() {
  const CallGate::Pass pass = admit();
  if (!storage_) return;
  const InCall in(comm_, path_, {CallKind::close});
  const WatchedCall watched(listener_, Phase::close_call);
  finish_closing();
}

void ByteFile::finish_closing() {
  in_flight_->end_everything();
  buffered_->drain();
  // Ranks wait for each other, so that the next one to open the file sees all of it.
  const std::optional<Error> agreed = attempt([&] {
    settle(CallKind::close);
    const Channel channel = file_->next_channel(CallKind::close);
    if (replaces()) {
      replace(channel);
    } else {
      const std::optional<Error> error = attempt([&] {
        if (metadata_is_stale()) sync_own();
      });
      meet(channel, {}, error);
      bring_up_to_date(channel);
    }
  });
  if (agreed && agreed->error_class() == ErrorClass::disagreement) throw Error(*agreed);
  buffered_->mark_synced();
  comm_.set_calls(file_->calls_before + file_->calls);
  const bool all_know = !agreed || agreed->rank() >= 0;
  if (Team* const team = comm_.team(); team != nullptr && all_know) file_->staging.leave_to(*team);
  let_go();
  if (all_know) comm_.release();
  if (agreed) throw Error(*agreed);
}

void ByteFile::await_threads() noexcept {
  static_cast<void>(attempt([&] {
    const auto pass = gate_.try_enter(path_, /*calls_mpi=*/false);
    if (pass && in_flight_) in_flight_->await_threads();
  }));
}

void ByteFile::abandon(bool on_purpose) noexcept {
  if (gate_.is_in_child()) return;
  const CallGate::Pass pass = gate_.enter_last(path_, !comm_.alone());
  if (!storage_) return;
  if (in_flight_) in_flight_->await_threads();
  if (replacement_)
    std::fprintf(stderr,
                 "penstock: %s: the file that was to replace it was abandoned before all "
                 "ranks had closed it\n",
                 left_as_it_was(path_).c_str());
  // If the file is not open, the ranks would only have met to open it.
  const std::int64_t next = file_ ? file_->calls + 1 : 1;
  const std::int64_t oldest = in_flight_ && in_flight_->oldest() > 0 ? in_flight_->oldest() : next;
  leave_for_good({comm_, path_, {}, comm_.calls() + next}, next - oldest);
  if (buffered_) {
    buffered_->drain();
    if (in_flight_) in_flight_->abandon();
    if (file_ && file_->unreported)  // the ranks have met in no call since
      std::fprintf(stderr, "penstock: LOST DATA: %s\n", file_->unreported->what());
    const bool loses = metadata_ != nullptr && metadata_->is_needed();
    if (loses)
      std::fprintf(stderr,
                   "penstock: LOST DATA: '%s' was abandoned before all ranks had closed it: it is "
                   "as it was at the last sync\n",
                   path_.c_str());
    if (on_purpose || !open_ || replaces() || loses) buffered_->mark_synced();
    buffered_->report();
  }
  let_go();
}

/// Releases what only an open file needs. After its last unit.
void ByteFile::let_go() noexcept {
  open_ = false;
  note_closed(*this);
  total_ = sum_of_counts();
  if (Team* const team = buffered_ ? comm_.team() : nullptr) {
    buffered_->unpublish(team->own_mailbox().pending);
    for (int local_rank = 0; local_rank < team->size(); ++local_rank)
      if (local_rank != team->rank()) buffered_->unwatch(team->mailbox(local_rank).pending);
  }
  in_flight_.reset();
  file_.reset();
  storage_.reset();
  buffered_.reset();
  replacement_.reset();
}

}  // namespace penstock
