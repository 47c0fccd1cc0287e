// Reading and writing (MPI 4.1, section 14.4).
#include <chrono>

#include "base/checked.hpp"
#include "mpi/agree.hpp"
#include "mpi_io/mpi_error.hpp"
#include "mpi_io/mpi_file.hpp"

namespace penstock {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

/// A request, and what is needed to complete it.
struct MpiFile::AccessToBegin {
  ByteRequest request;
  PendingAccess transfer;
  std::int64_t etypes = 0;
};

void set_status(MPI_Status* status, std::int64_t bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  MPI_Status_set_elements_x(status, MPI_BYTE, bytes);
  MPI_Status_set_cancelled(status, 0);
}

std::int64_t PendingAccess::finish() {
  const std::int64_t bytes = begun->bytes();
  const bool reads = !begun->access().writes();
  return conversion_ && reads ? conversion_->take(bytes) : conversion_ ? moved_ : bytes;
}

bool PendingAccess::is_as_good_as_written() const {
  const Operation& operation = *begun;
  return company_ == Company::independent && operation.access().writes() && operation.is_copied();
}

void MpiFile::check(const DataAccess& access) const {
  if (access.writes() && !may_write(amode_))
    throw_mpi(MPI_ERR_READ_ONLY,
              "'" + path() + "' was opened with " + amode_text(amode_) + ", and cannot be written");
  if (!access.writes() && !may_read(amode_))
    throw_mpi(MPI_ERR_ACCESS,
              "'" + path() + "' was opened with " + amode_text(amode_) + ", and cannot be read");
  const bool shared = access.at == DataAccess::At::shared || access.at == DataAccess::At::ordered;
  if ((amode_ & MPI_MODE_SEQUENTIAL) != 0 && !shared)
    throw_mpi(MPI_ERR_UNSUPPORTED_OPERATION,
              "'" + path() +
                  "' was opened with MPI_MODE_SEQUENTIAL: only calls with the shared file "
                  "pointer go");
  if (access.count < 0)
    throw_mpi(MPI_ERR_COUNT,
              "count is " + std::to_string(access.count) + ", and must not be negative");
  if (access.type == MPI_DATATYPE_NULL) throw_mpi(MPI_ERR_TYPE, "datatype is MPI_DATATYPE_NULL");
  require_committed(access.type);
  if (access.at == DataAccess::At::explicit_offset && access.offset < 0)
    throw_mpi(MPI_ERR_ARG,
              "offset is " + std::to_string(access.offset) + ", and must not be negative");
  if (access.company == Company::collective) require_no_split("a collective call");
}

void MpiFile::require_no_split(const char* what) const {
  if (split_)
    throw_mpi(MPI_ERR_IO, std::string(what) + " on '" + path() + "' while the split " +
                              split_->name + " has begun and not ended");
}

/// The etype of the view at which it begins; advances file pointers.
std::int64_t MpiFile::take_offset(const DataAccess& access, std::int64_t etypes) {
  switch (access.at) {
    case DataAccess::At::explicit_offset: return access.offset;
    case DataAccess::At::individual: position_ += etypes; return position_ - etypes;
    case DataAccess::At::shared: return shared_->add(etypes);
    default: return take_ordered(etypes);
  }
}

/// Ranks follow each other from the shared pointer on. Nobody moves it meanwhile: all ranks are
/// here before the last one sets it, and the following call does not end before all have met again.
std::int64_t MpiFile::take_ordered(std::int64_t etypes) {
  const Communicator& comm = bytes_->comm();
  if (comm.alone()) return shared_->add(etypes);
  std::int64_t before[2] = {0, 0};  // etypes of lower ranks; start of rank 0
  std::int64_t mine = etypes;
  MPI_Request request;
  Communicator::check(
      MPI_Iexscan(&mine, &before[0], 1, MPI_INT64_T, MPI_SUM, comm.handle(), &request),
      "MPI_Iexscan");
  Communicator::wait(request, "MPI_Iexscan");
  if (comm.rank() == 0) {
    before[0] = 0;
    before[1] = shared_->get();
  }
  Communicator::check(MPI_Ibcast(&before[1], 1, MPI_INT64_T, 0, comm.handle(), &request),
                      "MPI_Ibcast");
  Communicator::wait(request, "MPI_Ibcast");
  if (comm.rank() == comm.size() - 1) shared_->set(before[1] + before[0] + mine);
  return before[1] + before[0];
}

MpiFile::AccessToBegin MpiFile::prepare(const DataAccess& access) {
  AccessToBegin prepared;
  ByteRequest& request = prepared.request;
  const bool writes = access.writes();
  request.company = prepared.transfer.company_ = access.company;
  request.hints = call_hints_[writes][access.company == Company::independent];
  request.access.direction = access.direction;
  request.access.overlap = atomic_ ? Overlap::highest_rank : Overlap::unspecified;
  request.access.atomic = atomic_ && access.company == Company::independent;
  std::int64_t bytes = 0;
  request.error = attempt([&] {
    check(access);
    bytes = representation_->bytes_in_file(access.type, access.count);
    if (bytes % view_.etype_size() != 0)
      throw_mpi(MPI_ERR_IO, std::to_string(bytes) +
                                " bytes are no whole number of etypes, which have " +
                                std::to_string(view_.etype_size()) + " bytes");
    prepared.etypes = bytes / view_.etype_size();
  });
  const bool takes_part = !request.error || access.at == DataAccess::At::ordered;
  const std::int64_t offset = takes_part ? take_offset(access, prepared.etypes) : 0;
  if (!request.error) request.error = attempt([&] { fill_in(prepared, access, offset, bytes); });
  if (request.error) prepared.transfer.conversion_.reset();
  return prepared;
}

void MpiFile::fill_in(AccessToBegin& prepared, const DataAccess& access, std::int64_t offset,
                      std::int64_t bytes) {
  if (bytes == 0) return;
  const std::shared_ptr<const TypeLayout> layout = layout_of(access.type);
  auto conversion =
      representation_->convert(access.writes(), access.buffer, access.count, access.type);
  const MemoryMap memory = conversion
                               ? MemoryMap(conversion->data(), Nest::run(0, conversion->size()))
                               : memory_map(access.buffer, access.count, *layout);
  std::vector<FilePattern> patterns = view_.patterns_of(offset, bytes);
  prepared.request.access.memory =
      patterns.size() == 1 ? std::vector<MemoryMap>{memory} : split(memory, patterns);
  prepared.request.access.file = Footprint(std::move(patterns));
  prepared.transfer.moved_ = layout->size() * access.count;
  prepared.transfer.conversion_ = std::move(conversion);
}

/// The etypes in `bytes`: the last one may have been cut by the end of the file.
std::int64_t MpiFile::etypes_of(std::int64_t bytes) const noexcept {
  return (bytes + view_.etype_size() - 1) / view_.etype_size();
}

/// Moves one contiguous run, of this process alone: as fast as without a plan.
bool MpiFile::move_simply(const DataAccess& access, MPI_Status* status) {
  if (access.company != Company::independent || access.count <= 0 || atomic_ ||
      !view_.contiguous() || representation_->converts() || access.type == MPI_DATATYPE_NULL ||
      (access.at == DataAccess::At::explicit_offset && access.offset < 0))
    return false;
  constexpr std::int64_t most = std::int64_t{64} << 10;
  const std::shared_ptr<const TypeLayout> layout = layout_of(access.type);
  if (!layout->dense() || access.count > most || layout->size() * access.count > most) return false;
  const std::int64_t bytes = layout->size() * access.count;
  if (bytes % view_.etype_size() != 0) return false;
  check(access);
  const bool individual = access.at == DataAccess::At::individual;
  if (!individual && access.at != DataAccess::At::explicit_offset) return false;
  const auto begin = std::chrono::steady_clock::now();
  std::byte* const buffer = memory_at(access.buffer, layout->nest.place());
  const std::int64_t offset = view_.byte_offset(individual ? position_ : access.offset);
  const std::optional<std::int64_t> moved =
      bytes_->move_now(access.direction, {buffer, static_cast<std::size_t>(bytes)}, offset);
  if (!moved) return false;
  const auto end = std::chrono::steady_clock::now();
  if (individual) position_ += etypes_of(*moved);
  report_.count_simple(access.direction, *moved,
                       std::chrono::duration<double>(end - begin).count());
  bytes_->report_transfer(access.direction, {offset, offset + *moved}, begin, end);
  set_status(status, *moved);
  return true;
}

void MpiFile::access(const DataAccess& access, MPI_Status* status) {
  if (move_simply(access, status)) return;
  const auto began = std::chrono::steady_clock::now();
  AccessToBegin prepared = prepare(access);
  if (prepared.request.error && access.company == Company::independent)
    throw Error(*prepared.request.error);
  prepared.transfer.begun = bytes_->transfer(std::move(prepared.request));
  const Operation& operation = *prepared.transfer.begun;
  const std::int64_t bytes = prepared.transfer.finish();
  // Set the pointer behind what was read.
  if (access.at == DataAccess::At::individual && !access.writes() && view_.etype_size() > 0)
    position_ -= prepared.etypes - etypes_of(operation.bytes());
  report_.count(operation, access.company, seconds_since(began));
  set_status(status, bytes);
}

PendingAccess MpiFile::begin(const DataAccess& access) {
  const auto began = std::chrono::steady_clock::now();
  AccessToBegin prepared = prepare(access);
  if (access.company == Company::collective) {
    prepared.transfer.begun = bytes_->post(std::move(prepared.request));
    prepared.transfer.seconds_ = seconds_since(began);
    return std::move(prepared.transfer);
  }
  if (prepared.request.error) throw Error(*prepared.request.error);
  prepared.transfer.begun = bytes_->begin(std::move(prepared.request), Background::storage);
  prepared.transfer.seconds_ = seconds_since(began);
  return std::move(prepared.transfer);
}

bool MpiFile::test(PendingAccess& transfer) {
  return bytes_->has_ended(*transfer.begun) || transfer.is_as_good_as_written();
}

std::int64_t MpiFile::end(PendingAccess& transfer) {
  const auto began = std::chrono::steady_clock::now();
  const auto finish = [&] {
    // For other operations the program is in a call that waits for requests.
    const double seconds = transfer.is_split_ ? seconds_since(began) : 0;
    report_.count_request(*transfer.begun, transfer.company_, transfer.seconds_ + seconds);
    return transfer.finish();
  };
  // Its errors are reported by a later call.
  if (!transfer.begun->has_ended() && transfer.is_as_good_as_written()) return finish();
  bytes_->end(*transfer.begun);
  return finish();
}

void MpiFile::begin_split(const char* name, const DataAccess& access) {
  const auto began = std::chrono::steady_clock::now();
  AccessToBegin prepared = prepare(access);
  prepared.transfer.begun = bytes_->begin(std::move(prepared.request), Background::storage);
  prepared.transfer.seconds_ = seconds_since(began);
  prepared.transfer.is_split_ = true;
  split_.emplace(name, std::move(prepared.transfer));
}

void MpiFile::end_split(const char* name, MPI_Status* status) {
  if (!split_ || split_->name != name)
    throw_mpi(MPI_ERR_IO, std::string(name) + "_end on '" + path() + "', where " +
                              (split_ ? split_->name : std::string("nothing")) + " has begun");
  Split split = std::move(*split_);
  split_.reset();
  set_status(status, end(split.transfer));
}

}  // namespace penstock
