// Opening and closing a file.
#include <unistd.h>

#include <cstdio>

#include "file/process.hpp"
#include "mpi_io/mpi_error.hpp"
#include "mpi_io/mpi_file.hpp"

namespace penstock {
namespace {

/// Uninterpreted bytes; reads end at the end of the file.
class Plain : public Contents {
 public:
  Plain(int amode, std::optional<Error> error) : amode_(amode), error_(std::move(error)) {}
  std::vector<Common> common() const override { return {{"amode", amode_text(amode_)}}; }
  void check(const Communicator&) override {
    if (error_) throw Error(*error_);
    check_amode(amode_);
  }
  FileUnits units() const override { return {.open_ended = true}; }

 private:
  int amode_;
  std::optional<Error> error_;
};

int ranks_of(MPI_Comm comm) {
  int size = 1;
  MPI_Comm_size(comm, &size);
  return size;
}

void check_comm(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) throw_mpi(MPI_ERR_COMM, "comm is MPI_COMM_NULL");
  int between = 0;
  MPI_Comm_test_inter(comm, &between);
  if (between)
    throw_mpi(MPI_ERR_COMM, "comm is an inter-communicator; files need an intra-communicator");
}

}  // namespace

MpiFile::MpiFile(MPI_Comm comm, const std::string& name, int amode, MPI_Info info)
    : error_handler_(ErrorHandler::of_null_file()),
      amode_(amode),
      representation_(DataRepresentation::of("native")) {
  check_comm(comm);
  Plain contents(amode, attempt([&] {
                   hints_.set_from_environment(ranks_of(comm));
                   hints_.set(text_of_info(info), ranks_of(comm));
                 }));
  bytes_ = std::make_unique<ByteFile>(background_of_process(), Communicator(comm),
                                      path_without_prefix(name), flag_of(amode), contents,
                                      hints_.of_file());
  MPI_Comm_group(comm, &group_);
  if (bytes_->machine().nodes > 1) hints_.without_buffer();
  update_call_hints();
  report_ignored_hints();
  shared_ = std::make_unique<SharedPointer>(bytes_->comm());
  if ((amode & MPI_MODE_APPEND) == 0) return;
  position_ = bytes_->size();
  if (bytes_->comm().rank() == 0) shared_->set(position_);
  bytes_->agree(CallKind::seek_shared, {}, std::nullopt);
}

MpiFile::~MpiFile() {
  free_types();
  if (group_ != MPI_GROUP_NULL && Communicator::mpi_is_running()) MPI_Group_free(&group_);
}

bool MpiFile::is_within_node() const noexcept {
  const Communicator& comm = bytes_->comm();
  return comm.alone() || (comm.team() != nullptr && comm.team()->nodes() == 1);
}

void MpiFile::close() {
  std::optional<Error> error;
  if ((amode_ & MPI_MODE_DELETE_ON_CLOSE) != 0) error = delete_file();
  if (FileReport::is_wanted()) {
    bytes_->drain();  // a written file includes what is buffered
    report_.publish(*bytes_, amode_text(amode_));
  }
  shared_->release();
  const std::optional<Error> closing = attempt([&] { bytes_->close(); });
  if (closing || error) throw Error(closing ? *closing : *error);
}

/// Collective. Rank 0 deletes the name while the file is open; returns its error on all ranks.
/// Throws if ranks are in different calls: then the name stays.
std::optional<Error> MpiFile::delete_file() {
  bytes_->agree(CallKind::close, {}, std::nullopt);
  return attempt([&] {
    bytes_->agree(CallKind::close, {}, attempt([&] {
                    if (bytes_->comm().rank() == 0 && ::unlink(path().c_str()) != 0)
                      throw_errno("deleting", path(), -errno);
                  }));
  });
}

void MpiFile::report_ignored_hints() {
  for (const std::string& words : hints_.take_ignored())
    if (bytes_->comm().rank() == 0) std::fprintf(stderr, "penstock: ignored: %s\n", words.c_str());
}

/// Hints of the whole file are not changed.
void MpiFile::update_call_hints() {
  for (const Direction direction : {Direction::read, Direction::write})
    for (const Company company : {Company::collective, Company::independent}) {
      Hints hints = hints_.of_call(direction, company);
      const Hints& file = bytes_->hints();
      hints.storage = file.storage;
      hints.io_depth = file.io_depth;
      hints.ranks_per_node = file.ranks_per_node;
      hints.device = file.device;
      if (atomic_) hints.active_buffer_size = 0;
      call_hints_[direction == Direction::write][company == Company::independent] = hints;
    }
}

}  // namespace penstock
