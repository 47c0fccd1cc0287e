// Opening a file, on all ranks or on none. The ranks meet
//   1. at their group's opening endpoint: what all must pass alike, and the file's endpoint
//   2. when rank 0 has opened it: what the file system is, and what is in the file
//   3. when the others have: whether it is the same file; nothing in it has changed before
//   4. if the ranks have several page caches that do not agree: how to bypass them
//   5. if the file has to be changed, when rank 0 has done that
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "file/announcement.hpp"
#include "file/byte_file.hpp"
#include "file/costs.hpp"
#include "file/process.hpp"
#include "mpi/drive.hpp"
#include "mpi/finalize.hpp"
#include "plan/hint_table.hpp"
#include "storage/client_caches.hpp"
#include "storage/facts.hpp"

namespace penstock {
namespace {

constexpr auto unknown_device = ~std::uint64_t{0};
/// Of any kernel: hosts may differ.
constexpr std::int64_t largest_page = 64 << 10;

std::vector<Common> common_values(const std::string& path, const Hints& hints,
                                  const Contents& contents) {
  std::string hint_text;
  for (const auto& [name, value] : hints.text())
    if (must_be_common(name)) hint_text.append(name).append("=").append(value).append(" ");
  std::vector<Common> values = contents.common();
  values.insert(values.begin(), {"path", "'" + path + "'"});
  values.push_back({"hints", hint_text});
  values.push_back({"device", "'" + Device::common_part(hints.device.value()) + "'"});
  return values;
}

std::unique_ptr<Storage> open_kind(const FileName& name, OpenFlag flag, const Hints& hints,
                                   std::string* notice) {
  switch (hints.storage) {
    case StorageKind::direct: return open_direct(name, flag, notice);
    case StorageKind::uring:
    case StorageKind::uring_direct:
      return open_uring(name, flag, hints.storage == StorageKind::uring_direct,
                        static_cast<int>(hints.io_depth), notice);
    default: return open_posix(name, flag);
  }
}

/// One rank reports fallbacks, once.
std::unique_ptr<Storage> open_path(const FileName& name, OpenFlag flag, const Hints& hints,
                                   int rank) {
  std::string notice;
  auto storage = open_kind(name, flag, hints, &notice);
  if (!notice.empty() && rank == 0) std::fprintf(stderr, "penstock: %s\n", notice.c_str());
  return storage;
}

/// True also if that cannot be determined: an existing file must not be removed.
bool is_there(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 || errno != ENOENT;
}

/// Removes the file, or the empty folder; not a link that leads to it.
void remove_file(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real) std::remove(real.get());
}

void report_inexact(const std::string& path, const std::string& type) {
  std::fprintf(stderr,
               "penstock: '%s' is on %s, where the page caches of hosts do not agree and accesses "
               "cannot go past them: collective calls are right, and slower; of independent calls "
               "of several hosts, bytes that they write into one page at the same time may be "
               "lost; see docs/decisions/0010-client-caches.md\n",
               path.c_str(), type.c_str());
}

/// Rank 0 has it open, but this rank does not find it.
Error elsewhere(const std::string& path) {
  std::error_code error;
  return Error(ErrorClass::disagreement,
               "'" + path + "' is there on rank 0 and not here, in the folder '" +
                   std::filesystem::current_path(error).string() +
                   "': give a path that leads all ranks to the same file");
}

}  // namespace

ByteFile::ByteFile(BackgroundIo& background, Communicator comm, const std::filesystem::path& path,
                   OpenFlag flag, Contents& contents, const Hints& hints)
    : background_(background),
      comm_(std::move(comm)),
      path_(path.c_str()),
      whole_path_(path_.size() == path.native().size()),
      open_path_(path_),
      flag_(flag),
      contents_(contents),
      listener_(listener_of(path_)),
      hints_(hints) {
  const CallGate::Pass pass = gate_.enter(path_, !comm_.is_null());
  const InCall in(comm_, path_, {CallKind::open});
  const WatchedCall watched(listener_, Phase::open_call);
  if (!comm_.is_null()) finish_before_mpi_does(&finish_process);
  comm_.connect();
  agree_to_open(contents);
  const bool made =
      comm_.rank() == 0 && flag_ >= OpenFlag::create && !replaces() && !is_there(path_);
  try {
    const Channel channel{comm_, path_, {CallKind::open}, comm_.calls()};
    const Announcement announced = open_on_first(channel, contents);
    if (open_on_others(channel, contents, announced)) go_past_caches(channel, contents);
    if (contents.changes() && writable()) change(channel, contents);
    complete(contents);
  } catch (...) {
    if (made && storage_) remove_file(path_);
    // All ranks know that it was not opened.
    if (current_error().rank() >= 0) comm_.release();
    throw;
  }
}

/// The endpoint depends on the hints, on which all ranks agree here: they determine the size of a
/// team.
void ByteFile::agree_to_open(Contents& contents) {
  const int most = static_cast<int>(
      std::clamp<std::int64_t>(hints_.ranks_per_node, 0, std::numeric_limits<int>::max()));
  const std::optional<Error> error = attempt([&] {
    check(contents);
    find_buffered(contents);
  });
  const std::vector<Common> common = common_values(path_, hints_, contents);
  const Channel channel{comm_, path_, {CallKind::open}};
  const Entry entry{common, {}, error, comm_.free_endpoints(most)};
  const FreeEndpoints endpoints = drive(comm_, agree_on_opening(channel, entry));
  // On all ranks or none: they have agreed on it.
  if (device_.pace) clock_ = share_clock(channel);
  const std::string why = comm_.take_endpoint(endpoints, most);
  if (!why.empty() && comm_.rank() == 0)
    std::fprintf(stderr,
                 "penstock: ranks of a node cannot share memory (%s); exchanging by messages\n",
                 why.c_str());
}

void ByteFile::complete(const Contents& contents) {
  FileUnits units = contents.units();
  hints_ = resolve_hints(hints_, machine(), units.grain);
  file_.emplace(*storage_, comm_, background_, buffered_, cache_speed_, std::move(units),
                machine());
  file_->listener = listener_;
  file_->io.locks_work = facts_.locks_exclude;
  if (Team* const team = comm_.team()) {
    buffered_->publish(team->own_mailbox().pending);
    for (int local_rank = 0; local_rank < team->size(); ++local_rank)
      if (local_rank != team->rank()) {
        const Team::Mailbox& other = team->mailbox(local_rank);
        const int rank = team->members()[static_cast<std::size_t>(local_rank)];
        buffered_->watch({&other.pending, rank, other.process});
      }
  }
  in_flight_.emplace(*file_, [this](const Statistics& counts) { file_->io.counts.add(counts); });
  open_ = true;
  note_open(*this);
}

void ByteFile::check(Contents& contents) {
  device_ = Device::parse(hints_.device.value());
  if (!whole_path_)
    throw Error(ErrorClass::argument, "path '" + path_ + "...' has a byte 0, which ends it");
  if (path_.empty()) throw Error(ErrorClass::argument, "path is empty");
  contents.check(comm_);
}

Machine ByteFile::machine() const {
  const Team* const team = comm_.team();
  return {comm_.size(),
          comm_.writers(),
          team ? team->nodes() : comm_.size(),
          costs_.page_cache,
          facts_.stripe_size,
          team != nullptr,
          comm_.idle_cores(),
          facts_.whole_pages ? largest_page : 0,
          costs_};
}

void ByteFile::open_storage(Contents& contents, OpenFlag flag) {
  std::unique_ptr<Storage> storage =
      contents.has_own_storage() ? contents.open_storage(flag)
                                 : open_path({open_path_, path_}, flag, hints_, comm_.rank());
  storage_ = device_.stack(std::move(storage), std::move(clock_), comm_.rank());
}

/// Rank 0 opens first: it may have to create the file. It examines the content, but changes nothing
/// yet.
Announcement ByteFile::open_on_first(const Channel& channel, Contents& contents) {
  const Watched metadata(contents.has_own_storage() ? listener_ : nullptr, Phase::metadata);
  std::string packed;
  std::optional<Error> error;
  if (comm_.rank() == 0)
    error = attempt([&] {
      if (replaces()) make_replacement();
      open_storage(contents, replaces() ? OpenFlag::read_write : flag_);
      // Facts only help to choose: without them the file works, too.
      attempt([&] { facts_ = find_facts(open_path_); });
      forget_older();
      contents.find(*storage_);
      // A single process has few choices to make: it does not wait for a measurement.
      costs_ = costs_of(device_.pace, device_.is_page_cache(past_page_cache(hints_, facts_)),
                        !comm_.alone());
      costs_.maps_files = !contents.has_own_storage() && maps_files(hints_, facts_.type);
      Announcement announcement = Announcement::of(costs_, facts_, open_path_);
      if (!facts_.caches_agree && !comm_.alone()) {
        announcement.identity = find_identity(open_path_);
        announcement.page_cache = find_page_cache(open_path_);
      }
      announcement.contents = contents.findings();
      packed = announcement.packed();
    });
  drive(comm_, agree_and_share(channel, error, packed));
  if (comm_.rank() == 0) return {};
  Announcement announced = Announcement::unpacked(packed);
  costs_ = announced.costs;
  facts_ = announced.facts();
  if (replaces()) open_path_ = announced.path;
  contents.set_findings(announced.contents);
  return announced;
}

/// A path may lead to another file in another folder, or on another host. Nothing is changed before
/// all ranks know that they have the same one. Returns whether ranks have several page caches that
/// do not agree.
bool ByteFile::open_on_others(const Channel& channel, Contents& contents,
                              const Announcement& announced) {
  std::string identity;
  Demand demand;  // the reduction keeps the largest number of words
  std::optional<Error> error = attempt([&] {
    if (comm_.rank() != 0) open_as_announced(contents, announced);
  });
  if (error && error->error_number() == ENOENT) error = elsewhere(path_);
  if (!error)
    error = attempt([&] {
      identity = find_identity(open_path_);
      find_buffered(contents);
      check_hints(hints_, contents.units().grain, comm_.size());
      if (!facts_.caches_agree && comm_.rank() != 0)
        demand.words = has_page_cache(announced.page_cache) ? 0 : 1;
    });
  const std::vector<Common> common{{"which file '" + path_ + "' is", identity}};
  const Entry entry{common, demand, error};
  return drive(comm_, agree_on_entry(channel, entry)).words != 0;
}

/// This host may have cached the path's state from before rank 0 made the file or put it there.
void ByteFile::open_as_announced(Contents& contents, const Announcement& announced) {
  const OpenFlag flag = writable() ? OpenFlag::read_write : OpenFlag::read;
  const std::optional<Error> error = attempt([&] { open_storage(contents, flag); });
  if (error && (facts_.caches_agree || error->error_number() != ENOENT)) throw Error(*error);
  if (!error && (facts_.caches_agree || find_identity(open_path_) == announced.identity))
    return forget_older();
  look_anew(open_path_);
  open_storage(contents, flag);
}

/// Drops what the kernel has cached from before the file was opened. FUSE servers may request that
/// and not report later changes; NFS and SMB clients compare.
void ByteFile::forget_older() {
  if (facts_.type == "fuse") storage_->forget_cached();
}

bool ByteFile::has_page_cache(const std::string& page_cache) const {
  return !page_cache.empty() && find_page_cache(open_path_) == page_cache;
}

/// What a rank has read of the file so far, such as the header, was read when it was opened.
void ByteFile::go_past_caches(const Channel& channel, const Contents& contents) {
  constexpr Extent probe{(std::int64_t{1} << 62) - 2, (std::int64_t{1} << 62) - 1};
  facts_.several_caches = true;
  bool exact = false;
  storage_ = go_past_cache(std::move(storage_), facts_.type == "fuse", exact);
  if (!costs_.device_tells)
    costs_ = Costs::assumed(/*page_cache=*/false).with_copies(costs_.copy_byte, costs_.run);
  int code = 0;
  std::unique_ptr<RangeLock> held;
  if (comm_.rank() == 0 && writable()) held = storage_->lock(probe, LockKind::shared, code);
  facts_.whole_pages = drive(comm_, any_rank(channel, !exact));
  if (facts_.whole_pages && comm_.rank() == 0) report_inexact(path_, facts_.type);
  if (!writable() || contents.has_own_storage()) return;
  const bool excludes = comm_.rank() == 0 ? held != nullptr : is_locked(open_path_, probe.begin);
  facts_.locks_exclude = !drive(comm_, any_rank(channel, !excludes));
}

/// Another handle of this process may have bytes of the file in its active buffer: they are written
/// before anybody reads the header or truncates. Repeated when the file is open, since there may
/// have been no such file before.
void ByteFile::find_buffered(const Contents& contents) {
  struct stat status {};
  const bool known = ::stat(open_path_.c_str(), &status) == 0;
  const std::string who = comm_.alone() ? "this process" : "rank " + std::to_string(comm_.rank());
  // A file without an identity gets a unique one.
  const FileId id = known ? FileId{status.st_dev, status.st_ino}
                          : FileId{unknown_device, reinterpret_cast<std::uintptr_t>(this)};
  buffered_ = background_.file(id, device_.queue_key(id, hints_), path_, who);
  // If the contents have a storage of their own, it says nothing about the device.
  const bool of_device = known && !contents.has_own_storage();
  cache_speed_ = CacheSpeed::of((of_device ? std::to_string(status.st_dev) : path_) + ' ' +
                                hints_.device.value());
  buffered_->drain();
}

void ByteFile::change(const Channel& channel, Contents& contents) {
  const Watched metadata(listener_, Phase::metadata);
  std::optional<Error> error;
  if (comm_.rank() == 0) error = attempt([&] { contents.change(*storage_); });
  drive(comm_, agree_on_exit(channel, error));
}

}  // namespace penstock
