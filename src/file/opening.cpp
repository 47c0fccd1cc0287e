// How a file becomes open, on all ranks or on none. They meet
//   1. at the entrance of their group: what all must pass alike, and in which lane they go on
//   2. when rank 0 has opened it: what the file system is, and what is in the file
//   3. when the others have: whether it is the same file; nothing in it has changed before
//   4. where the file has to be changed, when rank 0 has done that
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "file/anew.hpp"
#include "file/costs.hpp"
#include "file/impl.hpp"
#include "file/words.hpp"
#include "mpi/agree.hpp"
#include "mpi/drive.hpp"
#include "mpi/finalize.hpp"
#include "mpi/launch.hpp"
#include "storage/facts.hpp"

namespace penstock {
namespace {

constexpr auto unknown_device = ~std::uint64_t{0};

std::vector<Common> common_values(const std::string& path, Mode mode, const ArraySpec& spec,
                                  const Hints& hints) {
  std::string hint_text;
  for (const auto& [name, value] : hints.text())
    if (must_be_common(name)) hint_text.append(name).append("=").append(value).append(" ");
  return {{"path", "'" + path + "'"},
          {"mode", std::string(to_string(mode))},
          {"shape", text_of(spec.shape)},
          {"dtype", spec.dtype + " (" + std::to_string(spec.element_size) + " bytes)"},
          {"order", spec.order ? std::string(to_string(*spec.order)) : "auto"},
          {"offset", std::to_string(spec.offset)},
          {"container", std::string(to_string(spec.container))},
          {"hints", hint_text},
          {"device", "'" + Device::common_part(hints.device) + "'"}};
}

std::unique_ptr<Storage> open_kind(const std::string& path, OpenFlag flag, const Hints& hints,
                                   std::string* notice) {
  switch (hints.storage) {
    case StorageKind::direct: return open_direct(path, flag, notice);
    case StorageKind::uring:
    case StorageKind::uring_direct:
      return open_uring(path, flag, hints.storage == StorageKind::uring_direct,
                        static_cast<int>(hints.io_depth), notice);
    default: return open_posix(path, flag);
  }
}

/// What does not work as wished is said once, by one rank.
std::unique_ptr<Storage> open_path(const std::string& path, OpenFlag flag, const Hints& hints,
                                   int rank) {
  std::string notice;
  auto storage = open_kind(path, flag, hints, &notice);
  if (!notice.empty() && rank == 0) std::fprintf(stderr, "penstock: %s\n", notice.c_str());
  return storage;
}

/// Also where that cannot be known: what is there stays.
bool is_there(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 || errno != ENOENT;
}

/// The file, not a link that leads to it.
void remove_file(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real) ::unlink(real.get());
}

/// Rank 0 has it open, and this rank does not find it.
Error elsewhere(const std::string& path) {
  std::error_code error;
  return Error(ErrorClass::disagreement,
               "'" + path + "' is there on rank 0 and not here, in the folder '" +
                   std::filesystem::current_path(error).string() +
                   "': give a path that leads all ranks to the same file");
}

}  // namespace

ArrayFile::Impl::Impl(BackgroundIo& background, Communicator comm,
                      const std::filesystem::path& path, Mode mode, const ArraySpec& spec,
                      const Hints& hints)
    : background_(background),
      comm_(std::move(comm)),
      path_(path.string()),
      mode_(mode),
      hints_(hints) {
  const InCall in(comm_, path_, {CallKind::open});
  if (!comm_.is_null()) finish_before_mpi_does(background_);
  comm_.connect();
  agree_to_open(spec);
  const bool made = comm_.rank() == 0 && mode_ == Mode::create && !is_there(path_);
  try {
    const Channel channel{comm_, path_, {CallKind::open}, comm_.calls()};
    open_on_first(channel, spec);
    open_on_others(channel);
    if (described_.changes && mode_ != Mode::read) change_file(channel);
    complete();
  } catch (...) {
    if (made && storage_) remove_file(path_);
    // All ranks know that it was not opened.
    if (current_error().rank() >= 0) comm_.release();
    throw;
  }
}

/// The lane depends on the hints, on which all ranks agree here: they say how large a team is.
void ArrayFile::Impl::agree_to_open(const ArraySpec& spec) {
  const int most = static_cast<int>(
      std::clamp<std::int64_t>(hints_.ranks_per_node, 0, std::numeric_limits<int>::max()));
  const std::optional<Error> error = attempt([&] {
    check(spec);
    find_buffered();
  });
  const std::vector<Common> common = common_values(path_, mode_, spec, hints_);
  const Channel channel{comm_, path_, {CallKind::open}};
  const Entry entry{common, {}, error, comm_.free_lanes(most)};
  const FreeLanes lanes = drive(comm_, agree_on_opening(channel, entry));
  // All have one or none: they agreed on it.
  if (device_.pace) clock_ = share_clock(channel);
  const std::string why = comm_.take_lane(lanes, most);
  if (!why.empty() && comm_.rank() == 0)
    std::fprintf(stderr,
                 "penstock: ranks of a node cannot share memory (%s); exchanging by messages\n",
                 why.c_str());
}

void ArrayFile::Impl::complete() {
  const ArraySpec& s = described_.spec;
  layout_ = {s.shape, s.element_size, *s.order, described_.data_offset};
  hints_ = resolve_hints(hints_, machine(), layout_.element_size);
  file_.emplace(*storage_, comm_, background_, layout_.units(), machine());
  file_->buffered = buffered_;
  file_->cache_speed = cache_speed_;
  in_flight_.emplace(*file_,
                     [this](const Statistics& counts) { file_->background_counts.add(counts); });
  opening_counts_ = storage_counts_;
}

void ArrayFile::Impl::check(const ArraySpec& spec) {
  device_ = Device::parse(hints_.device);
  if (path_.empty()) throw Error(ErrorClass::argument, "path is empty");
  if (spec.offset < 0)
    throw Error(ErrorClass::argument,
                "offset must not be negative, but is " + std::to_string(spec.offset));
  if (mode_ != Mode::read && comm_.alone()) check_alone();
  if (mode_ == Mode::create) {
    describe_new(path_, spec);
    check_hints(hints_, spec.element_size, comm_.size());
  }
}

/// Several ranks that each write all of a file alone lose most of it without a word.
void ArrayFile::Impl::check_alone() const {
  const std::optional<std::string> others = find_other_ranks(comm_);
  if (!others) return;
  throw Error(ErrorClass::argument,
              "'" + path_ + "' is opened for writing " + *others +
                  "; each would write all of it, over the others. Pass the communicator of all "
                  "that write it (comm=MPI.COMM_WORLD), or MPI_COMM_SELF (comm=MPI.COMM_SELF) if "
                  "this process alone is meant to");
}

Machine ArrayFile::Impl::machine() const {
  const Team* const team = comm_.team();
  return {comm_.size(),
          comm_.writers(),
          team ? team->nodes() : comm_.size(),
          costs_.page_cache,
          facts_.stripe_size,
          team != nullptr,
          comm_.idle_cores(),
          costs_};
}

void ArrayFile::Impl::open_storage(OpenFlag flag) {
  storage_ =
      device_.stack(open_path(path_, flag, hints_, comm_.rank()), std::move(clock_), comm_.rank());
  storage_ = count(std::move(storage_), storage_counts_, &background_counts_);
}

/// Rank 0 first: it may have to make the file. It looks at what is there, but changes nothing yet.
void ArrayFile::Impl::open_on_first(const Channel& channel, const ArraySpec& spec) {
  std::string told;
  std::optional<Error> error;
  if (comm_.rank() == 0)
    error = attempt([&] {
      open_storage(mode_ == Mode::read         ? OpenFlag::read
                   : mode_ == Mode::read_write ? OpenFlag::read_write
                                               : OpenFlag::create);
      described_ = mode_ == Mode::create
                       ? describe_new(path_, spec)
                       : describe_existing(*storage_, path_, spec, mode_ == Mode::read_write);
      // Facts only help to choose: where they cannot be had, a file works without.
      attempt([&] { facts_ = find_facts(path_); });
      // A process alone has little to choose between: it need not wait for a measurement.
      costs_ = costs_of(device_.pace, device_.is_page_cache(past_page_cache(hints_, facts_)),
                        !comm_.alone());
      told = Announcement{described_, facts_, costs_}.packed();
    });
  drive(comm_, agree_and_tell(channel, error, told));
  if (comm_.rank() == 0) return;
  Announcement announced = Announcement::unpacked(told);
  described_ = std::move(announced.described);
  facts_ = std::move(announced.facts);
  costs_ = announced.costs;
}

/// A path may lead to another file in another folder, or on another host. Nothing is changed before
/// all ranks know that they have the same one.
void ArrayFile::Impl::open_on_others(const Channel& channel) {
  std::string identity;
  std::optional<Error> error = attempt([&] {
    if (comm_.rank() != 0)
      open_storage(mode_ == Mode::read ? OpenFlag::read : OpenFlag::read_write);
  });
  if (error && error->error_number() == ENOENT) error = elsewhere(path_);
  if (!error)
    error = attempt([&] {
      identity = find_identity(path_);
      find_buffered();
      check_hints(hints_, described_.spec.element_size, comm_.size());
    });
  const std::vector<Common> common{{"which file '" + path_ + "' is", identity}};
  const Entry entry{common, {}, error};
  drive(comm_, agree_on_entry(channel, entry));
}

/// Another handle of this process may have something of the file in its active buffer: it is
/// written before anybody reads the header or truncates. Once more when the file is open, since
/// there may have been none before.
void ArrayFile::Impl::find_buffered() {
  struct stat status {};
  const bool known = ::stat(path_.c_str(), &status) == 0;
  const std::string who = comm_.alone() ? "this process" : "rank " + std::to_string(comm_.rank());
  // Where a file cannot be asked for its identity, it has one that no other has.
  const FileId id = known ? FileId{status.st_dev, status.st_ino}
                          : FileId{unknown_device, reinterpret_cast<std::uintptr_t>(this)};
  buffered_ = background_.file(id, device_.queue_key(id, hints_), path_, who);
  cache_speed_ =
      CacheSpeed::of((known ? std::to_string(status.st_dev) : path_) + ' ' + hints_.device);
  buffered_->drain();
}

/// Rank 0 writes the header and sets the size.
void ArrayFile::Impl::change_file(const Channel& channel) {
  const ArraySpec& s = described_.spec;
  std::optional<Error> error;
  if (comm_.rank() == 0)
    error = attempt([&] {
      const std::int64_t end =
          described_.data_offset + ArrayLayout{s.shape, s.element_size, *s.order, 0}.byte_count();
      if (mode_ == Mode::create) make_anew(*storage_, path_, described_, end);
      else extend(*storage_, path_, described_, end);
    });
  drive(comm_, agree_on_exit(channel, error));
}

}  // namespace penstock
