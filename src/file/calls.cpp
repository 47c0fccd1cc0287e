// What can be done with an open file.
#include <cstdio>
#include <cstring>

#include "file/anew.hpp"
#include "file/impl.hpp"
#include "file/words.hpp"
#include "mpi/agree.hpp"
#include "mpi/ballot.hpp"
#include "mpi/drive.hpp"
#include "plan/hint_table.hpp"

namespace penstock {
namespace {

/// What storage did since `before`.
void add_counts(Statistics& to, const StorageCounts& now, const StorageCounts& before) {
  to.reads += now.reads - before.reads;
  to.writes += now.writes - before.writes;
  to.other_calls += now.other_calls - before.other_calls;
  to.bytes_read += now.bytes_read - before.bytes_read;
  to.bytes_written += now.bytes_written - before.bytes_written;
}

}  // namespace

void throw_errno(const std::string& what, const std::string& path, std::int64_t code) {
  const int number = static_cast<int>(-code);
  throw Error(what + " '" + path + "': " + std::strerror(number) + " (errno " +
                  std::to_string(number) + ")",
              path, -1, number);
}

/// Hints that only `open` takes must not be given to a call: ignoring them would hide the mistake.
void ArrayFile::Impl::refuse_settings_of_the_file(const Hints& call) const {
  const std::string_view changed = changed_setting_of_file(call, hints_);
  if (!changed.empty())
    throw Error(ErrorClass::argument, std::string(changed) +
                                          " is a setting of the file and not of a call; pass "
                                          "it in the hints of open");
}

template <class View>
std::vector<std::int64_t> ArrayFile::Impl::strides_of(const Part<View>& part) const {
  const std::vector<std::int64_t> shape = part.section.shape();
  const auto& memory = part.memory;
  if (memory.data == nullptr) throw Error(ErrorClass::argument, "buffer: no memory was given");
  if (memory.element_size != 0 && memory.element_size != layout_.element_size)
    throw Error(ErrorClass::argument,
                "buffer has elements of " + std::to_string(memory.element_size) +
                    " bytes, the file of " + std::to_string(layout_.element_size));
  if (!memory.shape.empty() && memory.shape != shape)
    throw Error(ErrorClass::argument, "buffer has shape " + text_of(memory.shape) +
                                          ", the section " + part.section.to_string() +
                                          " has shape " + text_of(shape));
  if (memory.strides.empty()) {
    const std::int64_t needed = part.section.element_count() * layout_.element_size;
    if (static_cast<std::int64_t>(memory.size_bytes) < needed)
      throw Error(ErrorClass::argument, "buffer is too small: it has " +
                                            std::to_string(memory.size_bytes) +
                                            " bytes, the section needs " + std::to_string(needed));
    return dense_strides(shape, layout_.element_size, layout_.order);
  }
  if (memory.strides.size() != shape.size())
    throw Error(ErrorClass::argument, "buffer has " + std::to_string(memory.strides.size()) +
                                          " strides for " + std::to_string(shape.size()) +
                                          " dimensions");
  return memory.strides;
}

/// Empty where the section has no element.
template <class View>
std::optional<Lowered> ArrayFile::Impl::lower_part(const Part<View>& part, std::size_t index,
                                                   std::size_t count) const {
  try {
    part.section.check(layout_.shape);
    if (part.section.empty()) return std::nullopt;
    // A write never stores through this pointer; one Access serves both directions.
    auto* const memory = const_cast<std::byte*>(part.memory.data);
    return lower(layout_, part.section, memory, strides_of(part));
  } catch (const Error& error) {
    if (count == 1) throw;
    throw Error(error.error_class(), "part " + std::to_string(index) + ": " + error.what());
  }
}

/// What this rank asks for; returns what is wrong with it.
template <class View>
std::optional<Error> ArrayFile::Impl::fill_in(Access& access, std::span<const Part<View>> parts,
                                              const Hints* call_hints, Direction direction,
                                              const Error* found) {
  access.direction = direction;
  return attempt([&] {
    if (found != nullptr) throw Error(*found);
    if (direction == Direction::write && mode_ == Mode::read)
      throw Error(ErrorClass::state,
                  "'" + path_ + "' was opened for reading only; open it with r+ or w");
    if (call_hints != nullptr) refuse_settings_of_the_file(*call_hints);
    std::vector<FilePattern> file;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::optional<Lowered> part = lower_part(parts[i], i, parts.size());
      if (!part) continue;
      file.push_back(std::move(part->file));
      access.memory.push_back(std::move(part->memory));
    }
    access.file = Footprint(std::move(file));
  });
}

template <class View>
void ArrayFile::Impl::transfer(std::span<const Part<View>> parts, const Hints* call_hints,
                               Direction direction, const Error* found) {
  require_open();
  Access access;
  const std::optional<Error> early = fill_in(access, parts, call_hints, direction, found);
  transfer(std::move(access), early, call_hints);
}

void ArrayFile::Impl::transfer(Access access, std::optional<Error> early, const Hints* call_hints) {
  require_open();
  const InCall in(comm_, path_,
                  {Operation::kind(access.direction, std::nullopt), file_->calls + 1});
  const StorageCounts before = storage_counts_;
  const auto done =
      in_flight_->run(std::move(access), call_hints ? *call_hints : hints_, std::move(early));
  account(*done, before);
  if (done->error) throw Error(*done->error);
  last_method_ = done->operation->plan().method;
}

template <class View>
std::shared_ptr<InFlight::Begun> ArrayFile::Impl::begin(std::span<const Part<View>> parts,
                                                        const Hints* call_hints,
                                                        Direction direction, Background background,
                                                        const Error* found) {
  require_open();
  Access access;
  const std::optional<Error> early = fill_in(access, parts, call_hints, direction, found);
  return begin(std::move(access), early, call_hints, background);
}

std::shared_ptr<InFlight::Begun> ArrayFile::Impl::begin(Access access, std::optional<Error> early,
                                                        const Hints* call_hints,
                                                        Background background) {
  require_open();
  const InCall in(comm_, path_, {Operation::kind(access.direction, background), file_->calls + 1});
  const StorageCounts before = storage_counts_;
  const auto begun = in_flight_->begin(std::move(access), call_hints ? *call_hints : hints_,
                                       background, std::move(early));
  if (background == Background::all) return begun;
  account(*begun, before);
  if (begun->operation->has_failed_to_begin()) throw Error(*begun->error);
  last_method_ = begun->operation->plan().method;
  return begun;
}

void ArrayFile::Impl::refuse_begin(const Error& error) {
  require_open();
  const InCall in(comm_, path_, {CallKind::unknown});
  in_flight_->end_everything();
  meet(next_channel(CallKind::unknown), {}, error);
  throw Error(error);
}

void ArrayFile::Impl::end(InFlight::Begun& begun) {
  if (!storage_) {  // closing has waited for it
    if (begun.error) throw Error(*std::exchange(begun.error, std::nullopt));
    return;
  }
  const StorageCounts before = storage_counts_;
  const std::optional<Error> error = attempt([&] { in_flight_->end(begun); });
  if (storage_) account(begun, before);
  if (error) throw Error(*error);
}

/// What a call has come to.
void ArrayFile::Impl::account(InFlight::Begun& begun, const StorageCounts& before) {
  last_ = std::exchange(begun.counts, {});
  add_counts(last_, storage_counts_, before);
}

Channel ArrayFile::Impl::next_channel(CallKind kind) {
  return file_->next_channel(kind);
}

/// What this rank has buffered is in the file when this returns, or something went wrong.
void ArrayFile::Impl::drain() {
  in_flight_->end_everything();
  buffered_->drain();
}

/// The entry of a call that is no read or write: throws on every rank if the ranks are in different
/// calls, if some rank brings an error, and what went wrong in the background.
void ArrayFile::Impl::meet(const Channel& channel, const std::vector<Common>& common,
                           const std::optional<Error>& error) {
  const Entry entry{common, {}, error ? error : file_->failure_to_tell()};
  drive(comm_, enter(*file_, channel, entry));
}

void ArrayFile::Impl::sync() {
  require_open();
  drain();
  const Channel channel = next_channel(CallKind::sync);
  const InCall in(comm_, path_, channel.call);
  meet(channel);
  drive(comm_, agree_on_exit(channel, attempt([&] {
                               const std::int64_t code = mode_ == Mode::read ? 0 : storage_->sync();
                               if (code < 0) throw_errno("syncing", path_, code);
                             })));
  buffered_->mark_synced();
}

std::int64_t ArrayFile::Impl::file_size() {
  require_open();
  drain();
  const Channel channel = next_channel(CallKind::file_size);
  const InCall in(comm_, path_, channel.call);
  meet(channel);
  std::int64_t size = 0;
  drive(comm_, agree_on_exit(channel, attempt([&] {
                               size = storage_->size();
                               if (size < 0) throw_errno("finding out the size of", path_, size);
                             })));
  return size;
}

void ArrayFile::Impl::truncate(std::int64_t bytes, const Error* found) {
  require_open();
  drain();
  const Channel channel = next_channel(CallKind::truncate);
  const InCall in(comm_, path_, channel.call);
  meet(channel, {{"the size to truncate to", std::to_string(bytes)}}, attempt([&] {
         if (found != nullptr) throw Error(*found);
         if (bytes < 0)
           throw Error(ErrorClass::argument,
                       "a file cannot have " + std::to_string(bytes) + " bytes");
         if (mode_ == Mode::read)
           throw Error(ErrorClass::state, "'" + path_ + "' was opened for reading only");
       }));
  drive(comm_, agree_on_exit(channel, attempt([&] {
                               if (comm_.rank() == 0) resize(*storage_, path_, bytes);
                             })));
  file_->shortened = bytes < layout_.extent().end;
}

void ArrayFile::Impl::close() {
  if (!storage_) return;
  const InCall in(comm_, path_, {CallKind::close});
  const bool begins = !closing_;
  if (begins) begin_close();
  const std::optional<Error> error = attempt([&] { finish_close(); });
  // Where ranks are in other calls nothing is done: the file is as open as before.
  if (storage_ && begins) closing_ = false;
  if (error) throw Error(*error);
}

void ArrayFile::Impl::finish_close() {
  if (!storage_) return;
  const InCall in(comm_, path_, {CallKind::close});
  in_flight_->end_everything();
  buffered_->drain();
  // Ranks wait for each other, so that whoever opens the file next sees all of it.
  const std::optional<Error> agreed = attempt([&] { meet(next_channel(CallKind::close)); });
  if (agreed && agreed->error_class() == ErrorClass::disagreement) throw Error(*agreed);
  buffered_->mark_synced();
  total_ = statistics();
  comm_.set_calls(file_->calls_before + file_->calls);
  let_go();
  if (!agreed || agreed->rank() >= 0) comm_.release();
  if (agreed) throw Error(*agreed);
}

void ArrayFile::Impl::abandon() noexcept {
  if (!storage_) return;
  if (in_flight_) {
    in_flight_->await_threads();
  }
  // Of a file that is not open, the ranks would have met for nothing else than opening it.
  const std::int64_t next = file_ ? file_->calls + 1 : 1;
  const std::int64_t oldest = in_flight_ && in_flight_->oldest() > 0 ? in_flight_->oldest() : next;
  leave_for_good({comm_, path_, {}, comm_.calls() + next}, next - oldest);
  if (buffered_) {
    buffered_->drain();
    if (in_flight_) in_flight_->abandon();
    if (file_ && file_->untold)  // the ranks have met in no call since
      std::fprintf(stderr, "penstock: LOST DATA: %s\n", file_->untold->what());
    if (closing_) buffered_->mark_synced();
    buffered_->tell();
  }
  let_go();
}

/// Releases what only an open file needs. After its last unit.
void ArrayFile::Impl::let_go() noexcept {
  in_flight_.reset();
  file_.reset();
  storage_.reset();
  buffered_.reset();
}

Statistics ArrayFile::Impl::statistics() const {
  Statistics sum = total_;
  if (!file_) return sum;
  sum += file_->background_counts.sum();
  add_counts(sum, storage_counts_, opening_counts_);
  add_counts(sum, background_counts_, {});
  return sum;
}

std::vector<int> ArrayFile::Impl::aggregator_ranks() const {
  Demand whole;  // how many they are may depend on how much there is to write
  whole.begin = layout_.extent().begin;
  whole.end = layout_.extent().end;
  whole.bytes = layout_.byte_count();
  const Plan plan = make_plan(layout_.units(), whole, hints_, machine());
  std::vector<int> ranks;
  for (std::int64_t a = 0; a < plan.domains.aggregators(); ++a) ranks.push_back(plan.rank_of(a));
  return ranks;
}

template void ArrayFile::Impl::transfer(std::span<const Part<ReadView>>, const Hints*, Direction,
                                        const Error*);
template void ArrayFile::Impl::transfer(std::span<const Part<WriteView>>, const Hints*, Direction,
                                        const Error*);
template std::shared_ptr<InFlight::Begun> ArrayFile::Impl::begin(std::span<const Part<ReadView>>,
                                                                 const Hints*, Direction,
                                                                 Background, const Error*);
template std::shared_ptr<InFlight::Begun> ArrayFile::Impl::begin(std::span<const Part<WriteView>>,
                                                                 const Hints*, Direction,
                                                                 Background, const Error*);

}  // namespace penstock
