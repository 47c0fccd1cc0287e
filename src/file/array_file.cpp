#include <penstock/array_file.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "engine/operation.hpp"
#include "file/device.hpp"
#include "file/header.hpp"
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
    if (name != "device") hint_text += name + "=" + value + " ";
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
  time_plan += o.time_plan;
  time_exchange += o.time_exchange;
  time_copy += o.time_copy;
  time_storage += o.time_storage;
  time_wait += o.time_wait;
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
  }

  template <class View>
  void transfer(std::span<const Part<View>> parts, const Hints* call_hints, Direction direction,
                const Error* found = nullptr) {
    require_open();
    Access access;
    access.direction = direction;
    const std::optional<Error> early = attempt([&] {
      if (found != nullptr) throw Error(*found);
      if (direction == Direction::write && mode_ == Mode::read)
        throw Error(ErrorClass::state,
                    "'" + path_ + "' was opened for reading only; open it with r+ or w");
      if (call_hints != nullptr) refuse_settings_of_the_file(*call_hints);
      for (std::size_t i = 0; i < parts.size(); ++i) add_part(access, parts[i], i, parts.size());
    });
    const StorageCounts before = storage_counts_;
    std::optional<Error> error;
    try {
      const Plan plan = perform(*context_, access, call_hints ? *call_hints : hints_, early);
      last_method_ = plan.method;
    } catch (const Error& thrown) {
      error = thrown;
    }
    account(before);
    if (error) throw Error(*error);
  }

  void sync() {
    require_open();
    agree_on_exit(comm_, attempt([&] {
                    const std::int64_t code = mode_ == Mode::read ? 0 : storage_->sync();
                    if (code < 0) throw_errno("syncing", path_, code);
                  }));
  }

  void close() {
    if (!storage_) return;
    // Ranks wait for each other, so that whoever opens the file next sees all of it.
    comm_.barrier();
    context_.reset();
    storage_.reset();
    comm_.release();
  }

  /// The file of one rank, when the others cannot be expected to take part.
  void abandon() noexcept {
    context_.reset();
    storage_.reset();
  }

  void require_open() const {
    if (!storage_) throw Error(ErrorClass::state, "'" + path_ + "' is closed");
  }

  const ArraySpec& spec() const { return described_.spec; }
  std::int64_t end_offset() const { return described_.data_offset + layout_.byte_count(); }
  std::int64_t data_offset() const { return described_.data_offset; }
  const Hints& hints() const { return hints_; }
  const FileSystemFacts& file_system() const { return facts_; }
  std::string device() const { return describe_device(hints_, facts_); }
  bool is_open() const { return storage_ != nullptr; }
  const std::string& path() const { return path_; }

  std::vector<int> aggregator_ranks() const {
    Plan plan = make_plan(layout_, {}, hints_, machine());
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
            !past_page_cache(hints_, facts_),
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
      agree_on_exit(comm_, error);
    } catch (...) {
      if (is_new && storage_) ::unlink(path_.c_str());
      throw;
    }
    clock_.reset();  // the storage keeps it
    storage_ = count(std::move(storage_), storage_counts_);
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
  StorageCounts storage_counts_;  // outlives storage_, which counts into it
  std::unique_ptr<Storage> storage_;
  FileSystemFacts facts_;
  Described described_;
  ArrayLayout layout_;
  std::optional<Context> context_;
};

ArrayFile ArrayFile::open(MPI_Comm comm, const std::filesystem::path& path, Mode mode,
                          const ArraySpec& spec, const Hints& hints) {
  return ArrayFile(std::make_unique<Impl>(Communicator(comm), path, mode, spec, hints));
}
ArrayFile ArrayFile::open(const std::filesystem::path& path, Mode mode, const ArraySpec& spec,
                          const Hints& hints) {
  return ArrayFile(std::make_unique<Impl>(Communicator(), path, mode, spec, hints));
}

ArrayFile::ArrayFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ArrayFile::ArrayFile(ArrayFile&&) noexcept = default;
ArrayFile& ArrayFile::operator=(ArrayFile&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

ArrayFile::~ArrayFile() {
  // Not collective: a destructor runs during one rank's exception too, when nobody else is here.
  if (impl_) impl_->abandon();
}

void ArrayFile::write(std::span<const Part<WriteView>> parts, const Hints* hints) {
  impl_->transfer(parts, hints, Direction::write);
}
void ArrayFile::read(std::span<const Part<ReadView>> parts, const Hints* hints) {
  impl_->transfer(parts, hints, Direction::read);
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
const Statistics& ArrayFile::statistics() const {
  return impl_->total_;
}
const Statistics& ArrayFile::last_call() const {
  return impl_->last_;
}
Method ArrayFile::last_method() const {
  return impl_->last_method_;
}

}  // namespace penstock
