#include <penstock/array_file.hpp>

#include <sys/stat.h>

#include <cerrno>

#include "base/process_id.hpp"
#include "file/process.hpp"
#include "formats/array_impl.hpp"
#include "formats/handle_state.hpp"
#include "formats/zarr/array.hpp"
#include "mpi/agree.hpp"
#include "storage/replacement.hpp"

namespace penstock {

void remove_unfinished(const std::filesystem::path& folder) {
  remove_leftovers_in(folder.string());
}

namespace {

Mode settled_mode(Communicator comm, const std::string& path, Mode mode) {
  if (mode != Mode::open_or_create) return mode;
  const FirstRankTask look{
      // As where a file is opened, so that ranks with another mode disagree on that.
      .common = {{"path", "'" + path + "'"}, {"mode", std::string(to_string(mode))}},
      .work =
          [&] {
            struct stat status {};
            const bool there = ::stat(path.c_str(), &status) == 0 || errno != ENOENT;
            return std::string(to_string(there ? Mode::read_write : Mode::create_new));
          },
      .writes = true};
  return parse_mode(ask_first_rank(std::move(comm), path, look, nullptr));
}

}  // namespace

Mode settled_mode(MPI_Comm comm, const std::filesystem::path& path, Mode mode) {
  return settled_mode(Communicator(comm), path.string(), mode);
}
Mode settled_mode(const std::filesystem::path& path, Mode mode) {
  return settled_mode(Communicator(), path.string(), mode);
}

OpenFlag open_flag_of(Mode mode) noexcept {
  switch (mode) {
    case Mode::read: return OpenFlag::read;
    case Mode::read_write: return OpenFlag::read_write;
    case Mode::replace: return OpenFlag::replace;
    case Mode::create_new: return OpenFlag::create_new;
    case Mode::create:
    case Mode::open_or_create: break;
  }
  return OpenFlag::create;
}

ArrayFile::Impl::Impl(BackgroundIo& background, Communicator comm,
                      const std::filesystem::path& path, Mode mode, const ArraySpec& spec,
                      const Hints& hints)
    : contents_(contents_of(path.string(), mode, spec, hints)),
      file_(background, std::move(comm), path, open_flag_of(mode), *contents_, hints),
      dataset_(contents_->dataset()),
      calls_(file_, *dataset_) {
  contents_->mark_metadata_current();
  if (contents_->maintains_metadata()) file_.maintain(*contents_);
}

std::vector<int> aggregator_ranks(const ByteFile& file, const FileUnits& units) {
  Demand whole;  // the number of aggregators may depend on the number of bytes
  whole.begin = units.all.begin;
  whole.end = units.all.end;
  whole.bytes = units.all.length();
  const Plan plan = make_plan(units, whole, file.hints(), file.machine());
  std::vector<int> ranks;
  for (std::int64_t a = 0; a < plan.domains.aggregators(); ++a) ranks.push_back(plan.rank_of(a));
  return ranks;
}

void ArrayFile::Impl::settle_before(CallKind kind) {
  if (!file_.is_open()) return;
  file_.settle(kind);
}

template <class View>
void ArrayFile::Impl::transfer(Direction direction, const ArrayCall<View>& call) {
  const CallGate::Pass pass = file_.admit();
  settle_before(Operation::kind(direction, std::nullopt));
  if (direction == Direction::write) contents_->begin_write();
  calls_.transfer(direction, call);
}

template <class View>
std::shared_ptr<ByteFile::Begun> ArrayFile::Impl::begin(Direction direction,
                                                        std::optional<Background> background,
                                                        const ArrayCall<View>& call) {
  const CallGate::Pass pass = file_.admit();
  settle_before(background ? Operation::kind(direction, background) : CallKind::unknown);
  if (direction == Direction::write) contents_->begin_write();
  return calls_.begin(direction, background, call);
}

/// The ranks agree before anything grows; if the write fails, on all of them, nothing has grown.
void ArrayFile::Impl::append(const ArrayCall<WriteView>& call) {
  const CallGate::Pass pass = file_.admit();
  file_.require_open();
  settle_before(CallKind::append);
  contents_->begin_write();
  const FileUnits before = units();
  std::optional<Reshaped> longer;
  const std::optional<Error> problem = attempt([&] {
    if (call.found != nullptr) throw Error(*call.found);
    longer = contents_->reshaped(contents_->longer());
  });
  const Dataset& dataset = longer ? *longer->dataset : *dataset_;
  ByteRequest request =
      DatasetCalls(file_, dataset)
          .request(Direction::write,
                   ArrayCall<WriteView>{call.parts, call.hints, problem ? &*problem : nullptr});
  const bool shared = spec().records.step != 0;
  file_.extend({before.all.end, longer ? longer->units.all.end : before.all.end}, shared,
               request.error);
  use_units(longer->units);  // set: the ranks have agreed that there is no error
  try {
    calls_.transfer(std::move(request));
  } catch (...) {
    use_units(before);
    if (!shared) file_.take_back(before.all.end);
    throw;
  }
  contents_->become(longer->shape);
  calls_.show(*longer->dataset);
  dataset_ = std::move(longer->dataset);
}

void ArrayFile::Impl::use_units(const FileUnits& units) {
  file_.set_units(units);
  contents_->reach(units.all.end);
}

void ArrayFile::Impl::check_places(std::span<const ArrayPlace> places, std::size_t parts) const {
  if (spec().container != Container::raw)
    throw Error(ErrorClass::argument,
                "'" + file_.path() + "' is no raw file, in whose bytes other arrays can lie");
  if (places.size() != parts)
    throw Error(ErrorClass::argument,
                std::to_string(places.size()) + " places for " + std::to_string(parts) + " parts");
  const Extent all = units().all;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const ArrayLayout layout = layout_of(places[i]);
    layout.check();
    const Extent extent = layout.extent();
    if (extent.begin < all.begin || extent.end > all.end)
      throw Error(ErrorClass::argument,
                  "place " + std::to_string(i) + ": bytes " + std::to_string(extent.begin) +
                      " to " + std::to_string(extent.end) + " are outside of " +
                      std::to_string(all.begin) + " to " + std::to_string(all.end) +
                      ", where the file's array is");
  }
}

template <class View>
void ArrayFile::Impl::transfer_placed(Direction direction, ArrayCall<View> call) {
  const std::optional<Error> problem = attempt([&] {
    if (call.found != nullptr) throw Error(*call.found);
    check_places(call.places, call.parts.size());
  });
  if (problem) call.found = &*problem;
  calls_.transfer(direction, call);
}

std::string ArrayFile::Impl::attributes() {
  const CallGate::Pass pass = file_.admit();
  return file_.on_first_rank(
      {.common = {{"the call", "attributes"}}, .work = [&] { return contents_->attributes(); }},
      nullptr);
}

void ArrayFile::Impl::set_attributes(const std::string& json, const Error* found) {
  const CallGate::Pass pass = file_.admit();
  const std::optional<Error> problem = attempt([&] {
    if (found != nullptr) throw Error(*found);
    if (spec().offset != 0)
      throw Error(ErrorClass::state, "'" + file_.path() + "': the array begins at byte " +
                                         std::to_string(spec().offset) +
                                         "; only an array that begins its file has attributes");
    zarr::check_attributes(json);
  });
  file_.on_first_rank({.common = {{"the call", "set_attributes"}, {"the attributes", json}},
                       .work =
                           [&] {
                             contents_->set_attributes(json);
                             return std::string();
                           },
                       .writes = true},
                      problem ? &*problem : nullptr);
  contents_->mark_attributes(json);
}

ArrayFile ArrayFile::open(MPI_Comm comm, const std::filesystem::path& path, Mode mode,
                          const ArraySpec& spec, const Hints& hints, const Error* found) {
  if (found != nullptr)
    on_first_rank(comm, path.c_str(), {}, found);  // only to throw it on all ranks
  return ArrayFile(owned_by_process<Impl>(background_of_process(), Communicator(comm), path,
                                          settled_mode(comm, path, mode), spec, hints));
}
ArrayFile ArrayFile::open(const std::filesystem::path& path, Mode mode, const ArraySpec& spec,
                          const Hints& hints, const Error* found) {
  if (found != nullptr) on_first_rank(path.c_str(), {}, found);
  return ArrayFile(owned_by_process<Impl>(background_of_process(), Communicator(), path,
                                          settled_mode(path, mode), spec, hints));
}

ArrayFile::ArrayFile(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
ArrayFile::ArrayFile(ArrayFile&&) noexcept = default;
ArrayFile& ArrayFile::operator=(ArrayFile&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

ArrayFile::~ArrayFile() = default;

void ArrayFile::write(std::span<const Part<WriteView>> parts, const Hints* hints,
                      const Error* found) {
  impl_->transfer(Direction::write, ArrayCall<WriteView>{parts, hints, found});
}
void ArrayFile::read(std::span<const Part<ReadView>> parts, const Hints* hints,
                     const Error* found) {
  impl_->transfer(Direction::read, ArrayCall<ReadView>{parts, hints, found});
}
void ArrayFile::write_placed(std::span<const ArrayPlace> places,
                             std::span<const Part<WriteView>> parts, const Hints* hints,
                             const Error* found) {
  impl_->transfer_placed(Direction::write,
                         ArrayCall<WriteView>{parts, hints, found, nullptr, places});
}
void ArrayFile::read_placed(std::span<const ArrayPlace> places,
                            std::span<const Part<ReadView>> parts, const Hints* hints,
                            const Error* found) {
  impl_->transfer_placed(Direction::read,
                         ArrayCall<ReadView>{parts, hints, found, nullptr, places});
}
Handle ArrayFile::write_begin(std::span<const Part<WriteView>> parts,
                              std::optional<Background> background, const Hints* hints,
                              const Error* found, std::shared_ptr<const void> keeps) {
  const ArrayCall<WriteView> call{parts, hints, found, std::move(keeps)};
  return handle_of(impl_, impl_->bytes(), impl_->begin(Direction::write, background, call));
}
Handle ArrayFile::read_begin(std::span<const Part<ReadView>> parts,
                             std::optional<Background> background, const Hints* hints,
                             const Error* found, std::shared_ptr<const void> keeps) {
  const ArrayCall<ReadView> call{parts, hints, found, std::move(keeps)};
  return handle_of(impl_, impl_->bytes(), impl_->begin(Direction::read, background, call));
}
std::string ArrayFile::on_first_rank(MPI_Comm comm, const std::filesystem::path& path,
                                     const FirstRankTask& task, const Error* found) {
  return ask_first_rank(Communicator(comm), path.string(), task, found);
}
std::string ArrayFile::on_first_rank(const std::filesystem::path& path, const FirstRankTask& task,
                                     const Error* found) {
  return ask_first_rank(Communicator(), path.string(), task, found);
}
std::string ArrayFile::on_first_rank(const FirstRankTask& task, const Error* found) {
  return impl_->bytes().on_first_rank(task, found);
}
void ArrayFile::append(std::span<const Part<WriteView>> parts, const Hints* hints,
                       const Error* found) {
  impl_->append({parts, hints, found});
}
std::string ArrayFile::attributes() {
  return impl_->attributes();
}
void ArrayFile::set_attributes(const std::string& json, const Error* found) {
  impl_->set_attributes(json, found);
}
void ArrayFile::abandon() noexcept {
  impl_->bytes().abandon(/*on_purpose=*/true);
}
bool ArrayFile::closed() const noexcept {
  return !impl_->bytes().is_open();
}
void ArrayFile::sync() {
  impl_->bytes().sync();
}
void ArrayFile::close() {
  impl_->bytes().close();
}
Handle ArrayFile::close_begin() {
  impl_->bytes().begin_close();
  return handle_of_close(impl_, impl_->bytes());
}
std::int64_t ArrayFile::file_size() {
  return impl_->bytes().size();
}
void ArrayFile::truncate(std::int64_t bytes, const Error* found) {
  std::optional<Error> error;
  if (found != nullptr) error = *found;
  else if (!spec().chunks.chunks.empty())
    error.emplace(
        ErrorClass::argument,
        "'" + impl_->bytes().path() + "' holds an array in chunks, which have no size to set");
  impl_->bytes().truncate(bytes, error);
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
  return impl_->bytes().file_system();
}
std::string ArrayFile::device() const {
  return impl_->bytes().device();
}
const Hints& ArrayFile::hints() const {
  return impl_->bytes().hints();
}
std::vector<int> ArrayFile::aggregator_ranks() const {
  const CallGate::Pass pass = impl_->bytes().look();
  return penstock::aggregator_ranks(impl_->bytes(), impl_->units());
}
Statistics ArrayFile::statistics() const {
  return impl_->bytes().statistics();
}
void ArrayFile::check_whole() const {
  impl_->bytes().check_whole();
}
Statistics ArrayFile::last_call() const {
  return impl_->bytes().last_call();
}
Method ArrayFile::last_method() const {
  return impl_->calls().last_method();
}

}  // namespace penstock
