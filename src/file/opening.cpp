// How a file becomes open, on all ranks or on none.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "file/anew.hpp"
#include "file/impl.hpp"
#include "file/words.hpp"
#include "mpi/agree.hpp"
#include "mpi/finalize.hpp"
#include "mpi/launch.hpp"
#include "storage/facts.hpp"

namespace penstock {
namespace {

constexpr auto unknown_device = ~std::uint64_t{0};

std::vector<Common> common_values(const std::string& path, Mode mode, const ArraySpec& spec,
                                  const Hints& hints) {
  const char* const modes[] = {"r", "r+", "w"};
  const char* const containers[] = {"auto", "raw", "npy"};
  std::string hint_text;
  for (const auto& [name, value] : hints.text())
    if (must_be_common(name)) hint_text.append(name).append("=").append(value).append(" ");
  return {{"path", "'" + path + "'"},
          {"mode", modes[static_cast<int>(mode)]},
          {"shape", text_of(spec.shape)},
          {"dtype", spec.dtype + " (" + std::to_string(spec.element_size) + " bytes)"},
          {"order", !spec.order               ? "auto"
                    : *spec.order == Order::c ? "C"
                                              : "F"},
          {"offset", std::to_string(spec.offset)},
          {"container", containers[static_cast<int>(spec.container)]},
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
std::unique_ptr<Storage> open_storage(const std::string& path, OpenFlag flag, const Hints& hints,
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
  comm_.connect();
  agree_on_entry(comm_,
                 {common_values(path_, mode, spec, hints), {}, attempt([&] { check(spec); })});
  form_team();
  // All have one or none: they agreed on it.
  if (device_.pace) clock_ = share_clock(comm_);
  const bool made = comm_.rank() == 0 && mode_ == Mode::create && !is_there(path_);
  try {
    open_everywhere();
    find_out();
    settle(spec);
    complete();
  } catch (...) {
    if (made && storage_) remove_file(path_);
    throw;
  }
}

void ArrayFile::Impl::complete() {
  const ArraySpec& s = described_.spec;
  layout_ = {s.shape, s.element_size, *s.order, described_.data_offset};
  const std::optional<Error> error =
      attempt([&] { check_hints(hints_, layout_.element_size, comm_.size()); });
  agree_on_exit(comm_, error);
  hints_ = settle_hints(hints_, machine(), layout_.element_size);
  context_.emplace(*storage_, comm_, background_, layout_, machine());
  context_->buffered = buffered_;
  context_->cache_speed = cache_speed_;
  in_flight_.emplace(*context_);
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

/// Not before all ranks agree on the hints: they say how large a team is.
void ArrayFile::Impl::form_team() {
  const std::string why = comm_.form_team(static_cast<int>(hints_.ranks_per_node));
  if (!why.empty() && comm_.rank() == 0)
    std::fprintf(stderr,
                 "penstock: ranks of a node cannot share memory (%s); exchanging by messages\n",
                 why.c_str());
}

Machine ArrayFile::Impl::machine() const {
  const Team* const team = comm_.team();
  return {comm_.size(), comm_.writers(), team ? team->nodes() : comm_.size(),
          // A modelled device is no page cache (unless it says so): accesses are large and wait for
          // nobody's turn.
          !past_page_cache(hints_, facts_) && (!device_.pace || device_.pace->page_cache),
          facts_.stripe_size, team != nullptr, comm_.idle_cores()};
}

/// One rank asks the file system, all go by its answer.
void ArrayFile::Impl::find_out() {
  std::int64_t numbers[3] = {};
  char type[32] = "";
  if (comm_.rank() == 0) {
    // Facts only help to choose: where they cannot be had, a file works without.
    attempt([&] { facts_ = find_facts(path_); });
    numbers[0] = facts_.block_size;
    numbers[1] = facts_.stripe_size;
    numbers[2] = facts_.direct_alignment;
    facts_.type.copy(type, sizeof type - 1);
  }
  comm_.broadcast(std::as_writable_bytes(std::span(numbers)), 0);
  comm_.broadcast(std::as_writable_bytes(std::span(type)), 0);
  facts_ = {type, numbers[0], numbers[1], numbers[2]};
}

void ArrayFile::Impl::open_everywhere() {
  // Rank 0 first: it may have to make the file. Nothing in it changes before all have it open.
  const OpenFlag flag = mode_ == Mode::read         ? OpenFlag::read
                        : mode_ == Mode::read_write ? OpenFlag::read_write
                                                    : OpenFlag::create;
  std::optional<Error> error;
  const auto open = [&](OpenFlag how) {
    storage_ = open_storage(path_, how, hints_, comm_.rank());
    storage_ = device_.stack(std::move(storage_), clock_, comm_.rank());
  };
  if (comm_.rank() == 0) error = attempt([&] { open(flag); });
  agree_on_exit(comm_, error);
  if (comm_.rank() != 0)
    error = attempt([&] { open(flag == OpenFlag::create ? OpenFlag::read_write : flag); });
  if (error && comm_.rank() != 0 && error->error_number() == ENOENT) error = elsewhere(path_);
  compare_files(error);
  clock_.reset();  // the storage keeps it
  storage_ = count(std::move(storage_), storage_counts_, &background_counts_);
}

/// A path may lead to another file in another folder, or on another host. Nothing is changed
/// before all ranks know that they have the same one.
void ArrayFile::Impl::compare_files(std::optional<Error> error) {
  std::string identity;
  if (!error)
    error = attempt([&] {
      identity = find_identity(path_);
      find_buffered();
    });
  const std::vector<Common> common{{"which file '" + path_ + "' is", identity}};
  agree_on_entry(comm_, {common, {}, error});
}

/// Another handle of this process may have something of the file in its active buffer: it is
/// written before anybody reads the header or truncates.
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
  if (!comm_.alone()) finish_before_mpi_does(background_);
}

/// Rank 0 reads or writes the header and sets the size; all learn what the file holds.
void ArrayFile::Impl::settle(const ArraySpec& spec) {
  std::optional<Error> error;
  if (comm_.rank() == 0)
    error = attempt([&] {
      described_ = mode_ == Mode::create
                       ? describe_new(path_, spec)
                       : describe_existing(*storage_, path_, spec, mode_ == Mode::read_write);
      check_hints(hints_, described_.spec.element_size, comm_.size());
      if (mode_ != Mode::read) prepare_file();
    });
  agree_on_exit(comm_, error);
  share(comm_, described_);
}

void ArrayFile::Impl::prepare_file() {
  const ArraySpec& s = described_.spec;
  const std::int64_t end =
      described_.data_offset + ArrayLayout{s.shape, s.element_size, *s.order, 0}.byte_count();
  if (mode_ == Mode::create) make_anew(*storage_, path_, described_, end);
  else extend(*storage_, path_, described_, end);
}

}  // namespace penstock
