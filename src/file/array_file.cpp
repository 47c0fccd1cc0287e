#include <penstock/array_file.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "file/device.hpp"
#include "file/header.hpp"
#include "file/in_flight.hpp"
#include "mpi/finalize.hpp"
#include "mpi/agree.hpp"
#include "storage/facts.hpp"

namespace penstock {
namespace {

std::string text_of(const std::vector<std::int64_t>& values) {
  std::string text = "(";
  for (std::size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  return text + ")";
}

std::vector<Common> common_values(const std::string& path, Mode mode, const ArraySpec& spec,
                                  const Hints& hints) {
  const char* const modes[] = {"r", "r+", "w"};
  const char* const containers[] = {"auto", "raw", "npy"};
  std::string hint_text;
  for (const auto& [name, value] : hints.text())
    if (must_be_common(name)) hint_text += name + "=" + value + " ";
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

[[noreturn]] void throw_errno(const std::string& what, const std::string& path, std::int64_t code) {
  const int number = static_cast<int>(-code);
  throw Error(what + " '" + path + "': " + std::strerror(number) + " (errno " +
                  std::to_string(number) + ")",
              path, -1, number);
}

}  // namespace

Statistics& Statistics::operator+=(const Statistics& o) {
  reads += o.reads;
  writes += o.writes;
  other_calls += o.other_calls;
  bytes_read += o.bytes_read;
  bytes_written += o.bytes_written;
  bytes_wanted += o.bytes_wanted;
  messages += o.messages;
  bytes_sent += o.bytes_sent;
  rounds += o.rounds;
  sieved_windows += o.sieved_windows;
  staging_peak = std::max(staging_peak, o.staging_peak);
  synchronisations += o.synchronisations;
  allocations += o.allocations;
  bytes_buffered += o.bytes_buffered;
  buffer_peak = std::max(buffer_peak, o.buffer_peak);
  buffer_waits += o.buffer_waits;
  time_plan += o.time_plan;
  time_exchange += o.time_exchange;
  time_copy += o.time_copy;
  time_storage += o.time_storage;
  time_wait += o.time_wait;
  time_room += o.time_room;
  return *this;
}

class ArrayFile::Impl {
 public:
  Impl(Communicator comm, const std::filesystem::path& path, Mode mode, const ArraySpec& spec,
       const Hints& hints)
      : comm_(std::move(comm)), path_(path.string()), mode_(mode), hints_(hints) {
    agree_on_entry(comm_, common_values(path_, mode, spec, hints), {},
                   attempt([&] { check(spec); }));
    form_team();
    // All have one or none: they agreed on it.
    if (device_.pace) clock_ = share_clock(comm_);
    open_everywhere();
    find_out();
    settle(spec);
    const ArraySpec& s = described_.spec;
    layout_ = {s.shape, s.element_size, *s.order, described_.data_offset};
    const std::optional<Error> error =
        attempt([&] { check_hints(hints_, layout_.element_size, comm_.size()); });
    agree_on_exit(comm_, error);
    hints_ = settle_hints(hints_, machine(), layout_.element_size);
    context_.emplace(*storage_, comm_, layout_, machine());
    context_->buffered = buffered_;
    in_flight_.emplace(*context_);
  }
  Impl(const Impl&) = delete;
  /// Not collective: it runs during one rank's exception too, when nobody else is here.
  ~Impl() { abandon(); }

  template <class View>
  void transfer(std::span<const Part<View>> parts, const Hints* call_hints, Direction direction,
                const Error* found = nullptr) {
    require_open();
    Access access;
    const std::optional<Error> early = fill_in(access, parts, call_hints, direction, found);
    const StorageCounts before = storage_counts_;
    const std::optional<Error> error = attempt([&] {
      last_method_ = in_flight_->run(std::move(access), call_hints ? *call_hints : hints_, early)
                         ->plan()
                         .method;
    });
    account(before);
    if (error) throw Error(*error);
  }

  template <class View>
  std::shared_ptr<InFlight::Begun> begin(std::span<const Part<View>> parts,
                                         const Hints* call_hints, Direction direction,
                                         Background background, const Error* found = nullptr) {
    require_open();
    Access access;
    const std::optional<Error> early = fill_in(access, parts, call_hints, direction, found);
    const StorageCounts before = storage_counts_;
    std::shared_ptr<InFlight::Begun> begun;
    const std::optional<Error> error = attempt([&] {
      begun = in_flight_->begin(std::move(access), call_hints ? *call_hints : hints_, background,
                                early);
    });
    if (background != Background::all) account(before);
    if (error) throw Error(*error);
    if (background != Background::all) last_method_ = begun->operation->plan().method;
    return begun;
  }

  void end(InFlight::Begun& begun) {
    if (!storage_) return;  // closing has waited for it
    const StorageCounts before = storage_counts_;
    const std::optional<Error> error = attempt([&] { in_flight_->end(begun); });
    account(before);
    if (error) throw Error(*error);
  }
  bool is_copied(InFlight::Begun& begun, bool wait) {
    return !storage_ || in_flight_->is_copied(begun, wait);
  }
  bool is_done(InFlight::Begun& begun) { return !storage_ || in_flight_->is_done(begun); }

  /// What this rank asks for; returns what is wrong with it.
  template <class View>
  std::optional<Error> fill_in(Access& access, std::span<const Part<View>> parts,
                               const Hints* call_hints, Direction direction, const Error* found) {
    access.direction = direction;
    return attempt([&] {
      if (found != nullptr) throw Error(*found);
      if (direction == Direction::write && mode_ == Mode::read)
        throw Error(ErrorClass::state,
                    "'" + path_ + "' was opened for reading only; open it with r+ or w");
      if (call_hints != nullptr) refuse_settings_of_the_file(*call_hints);
      for (std::size_t i = 0; i < parts.size(); ++i) add_part(access, parts[i], i, parts.size());
    });
  }

  void sync() {
    require_open();
    std::optional<Error> error = drain();
    if (!error)
      error = attempt([&] {
        const std::int64_t code = mode_ == Mode::read ? 0 : storage_->sync();
        if (code < 0) throw_errno("syncing", path_, code);
      });
    agree_on_exit(comm_, error);
    ActiveBuffer::instance().settle(*buffered_);
  }

  std::int64_t file_size() {
    require_open();
    agree_on_exit(comm_, drain());
    std::int64_t size = 0;
    agree_on_exit(comm_, attempt([&] {
                    size = storage_->size();
                    if (size < 0) throw_errno("finding out the size of", path_, size);
                  }));
    return size;
  }

  void truncate(std::int64_t bytes) {
    require_open();
    agree_on_entry(comm_, {{"the size to truncate to", std::to_string(bytes)}}, {}, attempt([&] {
                     if (bytes < 0)
                       throw Error(ErrorClass::argument, "a file cannot have " +
                                                             std::to_string(bytes) + " bytes");
                     if (mode_ == Mode::read)
                       throw Error(ErrorClass::state,
                                   "'" + path_ + "' was opened for reading only");
                   }));
    agree_on_exit(comm_, drain());
    agree_on_exit(comm_, attempt([&] {
                    if (comm_.rank() == 0) resize(bytes);
                  }));
  }

  /// The first half of close: from here on the file counts as closed.
  void begin_close() {
    in_flight_->settle();
    closing_ = true;
  }
  bool is_closing_done() {
    return !storage_ || ActiveBuffer::instance().pending(*buffered_).empty();
  }
  void finish_close() {
    if (!storage_) return;
    const std::optional<Error> error = drain();
    // Ranks wait for each other, so that whoever opens the file next sees all of it.
    const std::optional<Error> agreed = attempt([&] { agree_on_exit(comm_, error); });
    ActiveBuffer::instance().settle(*buffered_);
    total_ = statistics();
    in_flight_.reset();
    context_.reset();
    storage_.reset();
    comm_.release();
    if (agreed) throw Error(*agreed);
  }

  void close() {
    if (!storage_) return;
    if (!closing_) begin_close();
    finish_close();
  }

  /// The file of one rank, when the others cannot be expected to take part. Nobody is left to throw
  /// an error to.
  void abandon() noexcept {
    if (!storage_) return;
    if (in_flight_) {
      in_flight_->await_threads();
      in_flight_->abandon();
    }
    if (buffered_) {
      ActiveBuffer::instance().drain(*buffered_);
      if (closing_) ActiveBuffer::instance().settle(*buffered_);
      ActiveBuffer::instance().tell(*buffered_);
    }
    in_flight_.reset();
    context_.reset();
    storage_.reset();
  }

  void require_open() const {
    if (!is_open()) throw Error(ErrorClass::state, "'" + path_ + "' is closed");
  }

  const ArraySpec& spec() const { return described_.spec; }
  std::int64_t end_offset() const { return described_.data_offset + layout_.byte_count(); }
  std::int64_t data_offset() const { return described_.data_offset; }
  const Hints& hints() const { return hints_; }
  const FileSystemFacts& file_system() const { return facts_; }
  std::string device() const { return describe_device(hints_, facts_); }
  bool is_open() const { return storage_ != nullptr && !closing_; }
  Statistics statistics() const {
    Statistics sum = total_;
    if (!context_) return sum;
    sum += context_->background.sum();
    sum.reads += background_counts_.reads;
    sum.writes += background_counts_.writes;
    sum.other_calls += background_counts_.other_calls;
    sum.bytes_read += background_counts_.bytes_read;
    sum.bytes_written += background_counts_.bytes_written;
    return sum;
  }
  const std::string& path() const { return path_; }

  std::vector<int> aggregator_ranks() const {
    Demand whole;  // how many they are may depend on how much there is to write
    whole.begin = layout_.extent().begin;
    whole.end = layout_.extent().end;
    whole.bytes = layout_.byte_count();
    const Plan plan = make_plan(layout_, whole, hints_, machine());
    std::vector<int> ranks;
    for (std::int64_t a = 0; a < plan.domains.aggregators(); ++a) ranks.push_back(plan.rank_of(a));
    return ranks;
  }

  Statistics total_, last_;
  Method last_method_ = Method::automatic;

 private:
  /// Not before all ranks agree on the hints: they say how large a team is.
  void form_team() {
    const std::string why = comm_.form_team(static_cast<int>(hints_.ranks_per_node));
    if (!why.empty() && comm_.rank() == 0)
      std::fprintf(stderr,
                   "penstock: ranks of a node cannot share memory (%s); exchanging by messages\n",
                   why.c_str());
  }

  Machine machine() const {
    const Team* const team = comm_.team();
    return {comm_.size(),
            comm_.writers(),
            team ? team->nodes() : comm_.size(),
            // A modelled device is no page cache: accesses are large and wait for nobody's turn.
            !past_page_cache(hints_, facts_) && !device_.pace,
            facts_.stripe_size,
            team != nullptr};
  }

  /// One rank asks the file system, all go by its answer.
  void find_out() {
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

  void check(const ArraySpec& spec) {
    device_ = Device::parse(hints_.device);
    if (path_.empty()) throw Error(ErrorClass::argument, "path is empty");
    if (spec.offset < 0)
      throw Error(ErrorClass::argument,
                  "offset must not be negative, but is " + std::to_string(spec.offset));
    if (mode_ == Mode::create) {
      describe_new(path_, spec);
      check_hints(hints_, spec.element_size, comm_.size());
    }
  }

  void open_everywhere() {
    // Rank 0 first: it may have to make the file. Nothing in it changes before all have it open.
    const OpenFlag flag = mode_ == Mode::read         ? OpenFlag::read
                          : mode_ == Mode::read_write ? OpenFlag::read_write
                                                      : OpenFlag::create;
    const bool is_new =
        comm_.rank() == 0 && mode_ == Mode::create && !std::filesystem::exists(path_);
    std::optional<Error> error;
    const auto open = [&] {
      storage_ = open_storage(path_, flag, hints_, comm_.rank());
      storage_ = device_.stack(std::move(storage_), clock_, comm_.rank());
    };
    if (comm_.rank() == 0) error = attempt(open);
    try {
      agree_on_exit(comm_, error);
      if (comm_.rank() != 0) error = attempt(open);
      if (!error) find_buffered();
      agree_on_exit(comm_, error);
    } catch (...) {
      if (is_new && storage_) ::unlink(path_.c_str());
      throw;
    }
    clock_.reset();  // the storage keeps it
    storage_ = count(std::move(storage_), storage_counts_, &background_counts_);
  }

  /// Another handle of this process may have something of the file in its active buffer: it is
  /// written before anybody reads the header or truncates.
  void find_buffered() {
    struct stat status {};
    const bool known = ::stat(path_.c_str(), &status) == 0;
    const std::string who =
        comm_.alone() ? "this process" : "rank " + std::to_string(comm_.rank());
    ActiveBuffer& active = ActiveBuffer::instance();
    buffered_ = known ? active.file(status.st_dev, status.st_ino, path_, who)
                      : std::make_shared<BufferedFile>(path_, who);
    active.drain(*buffered_);
    if (!comm_.alone()) finish_before_mpi_does();
  }

  /// What this rank has buffered is in the file when this returns, or something went wrong.
  std::optional<Error> drain() {
    if (!closing_) in_flight_->settle();
    ActiveBuffer::instance().drain(*buffered_);
    return ActiveBuffer::instance().take_failure(*buffered_);
  }

  /// Rank 0 reads or writes the header and sets the size; all learn what the file holds.
  void settle(const ArraySpec& spec) {
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

  void prepare_file() {
    const ArraySpec& s = described_.spec;
    const std::int64_t end =
        described_.data_offset + ArrayLayout{s.shape, s.element_size, *s.order, 0}.byte_count();
    if (mode_ == Mode::create) resize(0);
    const std::int64_t size = storage_->size();
    if (size < 0)
      throw_errno("finding out the size of", path_, size);  // -errno is no size to compare
    if (size < end) resize(end);
    if (described_.new_header.empty()) return;
    const Transfer done = write_fully(*storage_, described_.new_header, s.offset);
    if (done.error != 0) throw_errno("writing the header of", path_, -done.error);
  }

  void resize(std::int64_t bytes) {
    const std::int64_t code = storage_->resize(bytes);
    if (code < 0)
      throw_errno("setting the size to " + std::to_string(bytes) + " bytes of", path_, code);
  }

  /// A call cannot change how the file was opened; ignoring the wish in silence would be worse.
  void refuse_settings_of_the_file(const Hints& call) const {
    const Hints unset;
    const auto check = [&](const char* name, auto field) {
      if (call.*field != unset.*field && call.*field != hints_.*field)
        throw Error(ErrorClass::argument, std::string(name) +
                                              " is a setting of the file and not of a call; pass "
                                              "it in the hints of open");
    };
    check("storage", &Hints::storage);
    check("io_depth", &Hints::io_depth);
    check("ranks_per_node", &Hints::ranks_per_node);
    check("device", &Hints::device);
  }

  template <class View>
  void add_part(Access& access, const Part<View>& part, std::size_t index, std::size_t count) {
    try {
      part.section.check(layout_.shape);
      if (part.section.empty()) return;
      access.strides.push_back(strides_of(part));
    } catch (const Error& error) {
      if (count == 1) throw;
      throw Error(error.error_class(), "part " + std::to_string(index) + ": " + error.what());
    }
    access.sections.push_back(part.section);
    // A write never stores through this pointer; one Access serves both directions.
    access.memory.push_back(const_cast<std::byte*>(part.memory.data));
  }

  template <class View>
  std::vector<std::int64_t> strides_of(const Part<View>& part) const {
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
        throw Error(ErrorClass::argument,
                    "buffer is too small: it has " + std::to_string(memory.size_bytes) +
                        " bytes, the section needs " + std::to_string(needed));
      return dense_strides(shape, layout_.element_size, layout_.order);
    }
    if (memory.strides.size() != shape.size())
      throw Error(ErrorClass::argument, "buffer has " + std::to_string(memory.strides.size()) +
                                            " strides for " + std::to_string(shape.size()) +
                                            " dimensions");
    return memory.strides;
  }

  void account(const StorageCounts& before) {
    last_ = context_->counts;
    last_.reads = storage_counts_.reads - before.reads;
    last_.writes = storage_counts_.writes - before.writes;
    last_.other_calls = storage_counts_.other_calls - before.other_calls;
    last_.bytes_read = storage_counts_.bytes_read - before.bytes_read;
    last_.bytes_written = storage_counts_.bytes_written - before.bytes_written;
    total_ += last_;
  }

  Communicator comm_;
  std::string path_;
  Mode mode_;
  Hints hints_;
  Device device_;
  std::shared_ptr<PaceClock> clock_;
  StorageCounts storage_counts_, background_counts_;  // outlive storage_, which counts into them
  std::shared_ptr<BufferedFile> buffered_;
  bool closing_ = false;
  std::unique_ptr<Storage> storage_;
  FileSystemFacts facts_;
  Described described_;
  ArrayLayout layout_;
  std::optional<Context> context_;
  std::optional<InFlight> in_flight_;
};

class Handle::State {
 public:
  virtual ~State() = default;
  virtual bool copied(bool wait) = 0;
  virtual bool test() = 0;
  virtual void wait() = 0;
};

bool Handle::copied(bool wait) {
  return state_->copied(wait);
}
bool Handle::test() {
  return state_->test();
}
void Handle::wait() {
  state_->wait();
}

namespace {

class TransferState : public Handle::State {
 public:
  TransferState(std::shared_ptr<ArrayFile::Impl> file, std::shared_ptr<InFlight::Begun> begun)
      : file_(std::move(file)), begun_(std::move(begun)) {}
  bool copied(bool wait) override { return file_->is_copied(*begun_, wait); }
  bool test() override { return file_->is_done(*begun_); }
  void wait() override { file_->end(*begun_); }

 private:
  std::shared_ptr<ArrayFile::Impl> file_;
  std::shared_ptr<InFlight::Begun> begun_;
};

class CloseState : public Handle::State {
 public:
  explicit CloseState(std::shared_ptr<ArrayFile::Impl> file) : file_(std::move(file)) {}
  bool copied(bool) override { return true; }
  bool test() override { return file_->is_closing_done(); }
  void wait() override { file_->finish_close(); }

 private:
  std::shared_ptr<ArrayFile::Impl> file_;
};

}  // namespace

ArrayFile ArrayFile::open(MPI_Comm comm, const std::filesystem::path& path, Mode mode,
                          const ArraySpec& spec, const Hints& hints) {
  return ArrayFile(std::make_shared<Impl>(Communicator(comm), path, mode, spec, hints));
}
ArrayFile ArrayFile::open(const std::filesystem::path& path, Mode mode, const ArraySpec& spec,
                          const Hints& hints) {
  return ArrayFile(std::make_shared<Impl>(Communicator(), path, mode, spec, hints));
}

ArrayFile::ArrayFile(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
ArrayFile::ArrayFile(ArrayFile&&) noexcept = default;
ArrayFile& ArrayFile::operator=(ArrayFile&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

ArrayFile::~ArrayFile() = default;

void ArrayFile::write(std::span<const Part<WriteView>> parts, const Hints* hints) {
  impl_->transfer(parts, hints, Direction::write);
}
void ArrayFile::read(std::span<const Part<ReadView>> parts, const Hints* hints) {
  impl_->transfer(parts, hints, Direction::read);
}
Handle ArrayFile::write_begin(std::span<const Part<WriteView>> parts, Background background,
                              const Hints* hints) {
  return Handle(std::make_shared<TransferState>(
      impl_, impl_->begin(parts, hints, Direction::write, background)));
}
Handle ArrayFile::read_begin(std::span<const Part<ReadView>> parts, Background background,
                             const Hints* hints) {
  return Handle(std::make_shared<TransferState>(
      impl_, impl_->begin(parts, hints, Direction::read, background)));
}
Handle ArrayFile::take_part_in_begin_with_error(bool reading, Background background,
                                                const Error& error) {
  return Handle(std::make_shared<TransferState>(
      impl_, impl_->begin(std::span<const Part<ReadView>>(), nullptr,
                          reading ? Direction::read : Direction::write, background, &error)));
}
void ArrayFile::take_part_with_error(bool reading, const Error& error) {
  impl_->transfer(std::span<const Part<ReadView>>(), nullptr,
                  reading ? Direction::read : Direction::write, &error);
}
void ArrayFile::take_part_in_open_with_error(MPI_Comm comm, const Error& error) {
  agree_on_entry(Communicator(comm), {}, {}, error);
  throw Error(error);
}
void ArrayFile::abandon() noexcept {
  impl_->abandon();
}
bool ArrayFile::closed() const noexcept {
  return !impl_->is_open();
}
void ArrayFile::sync() {
  impl_->sync();
}
void ArrayFile::close() {
  impl_->close();
}
Handle ArrayFile::close_begin() {
  if (impl_->is_open()) impl_->begin_close();
  return Handle(std::make_shared<CloseState>(impl_));
}
std::int64_t ArrayFile::file_size() {
  return impl_->file_size();
}
void ArrayFile::truncate(std::int64_t bytes) {
  impl_->truncate(bytes);
}

const ArraySpec& ArrayFile::spec() const {
  return impl_->spec();
}
std::int64_t ArrayFile::data_offset() const {
  return impl_->data_offset();
}
std::int64_t ArrayFile::end_offset() const {
  return impl_->end_offset();
}
const FileSystemFacts& ArrayFile::file_system() const {
  return impl_->file_system();
}
std::string ArrayFile::device() const {
  return impl_->device();
}
const Hints& ArrayFile::hints() const {
  return impl_->hints();
}
std::vector<int> ArrayFile::aggregator_ranks() const {
  return impl_->aggregator_ranks();
}
Statistics ArrayFile::statistics() const {
  return impl_->statistics();
}
const Statistics& ArrayFile::last_call() const {
  return impl_->last_;
}
Method ArrayFile::last_method() const {
  return impl_->last_method_;
}

}  // namespace penstock
