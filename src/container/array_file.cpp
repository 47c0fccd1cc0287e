#include <penstock/array_file.hpp>

#include "container/array_impl.hpp"
#include "file/process.hpp"
#include "mpi/agree.hpp"

namespace penstock {

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
  TransferState(std::shared_ptr<ArrayFile::Impl> file, std::shared_ptr<ByteFile::Begun> begun)
      : file_(std::move(file)), begun_(std::move(begun)) {}
  bool copied(bool wait) override { return file_->bytes().is_copied(*begun_, wait); }
  bool test() override { return file_->bytes().is_ready(*begun_); }
  void wait() override { file_->bytes().end(*begun_); }

 private:
  std::shared_ptr<ArrayFile::Impl> file_;
  std::shared_ptr<ByteFile::Begun> begun_;
};

class CloseState : public Handle::State {
 public:
  explicit CloseState(std::shared_ptr<ArrayFile::Impl> file) : file_(std::move(file)) {}
  bool copied(bool) override { return true; }
  bool test() override { return file_->bytes().is_closing_done(); }
  void wait() override { file_->bytes().finish_close(); }

 private:
  std::shared_ptr<ArrayFile::Impl> file_;
};

}  // namespace

ArrayFile ArrayFile::open(MPI_Comm comm, const std::filesystem::path& path, Mode mode,
                          const ArraySpec& spec, const Hints& hints) {
  return ArrayFile(
      std::make_shared<Impl>(background_of_process(), Communicator(comm), path, mode, spec, hints));
}
ArrayFile ArrayFile::open(const std::filesystem::path& path, Mode mode, const ArraySpec& spec,
                          const Hints& hints) {
  return ArrayFile(
      std::make_shared<Impl>(background_of_process(), Communicator(), path, mode, spec, hints));
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
Handle ArrayFile::take_part_in_begin_with_error(bool reading, std::optional<Background> background,
                                                const Error& error) {
  const Direction direction = reading ? Direction::read : Direction::write;
  if (!background) impl_->bytes().refuse_begin(error);
  return Handle(std::make_shared<TransferState>(
      impl_,
      impl_->begin(std::span<const Part<ReadView>>(), nullptr, direction, *background, &error)));
}
void ArrayFile::take_part_with_error(bool reading, const Error& error) {
  impl_->transfer(std::span<const Part<ReadView>>(), nullptr,
                  reading ? Direction::read : Direction::write, &error);
}
void ArrayFile::take_part_in_open_with_error(MPI_Comm comm, const Error& error) {
  Communicator own(comm);
  const std::string path;  // what it was may be what is wrong
  const Channel channel{own, path, {CallKind::open}};
  const InCall in(own, path, channel.call);
  own.connect();
  const std::vector<Common> nothing;
  const Entry entry{nothing, {}, error};
  drive(own, agree_on_opening(channel, entry));
  throw Error(error);
}
void ArrayFile::abandon() noexcept {
  impl_->bytes().abandon();
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
  if (impl_->bytes().is_open()) impl_->bytes().begin_close();
  return Handle(std::make_shared<CloseState>(impl_));
}
std::int64_t ArrayFile::file_size() {
  return impl_->bytes().size();
}
void ArrayFile::truncate(std::int64_t bytes) {
  impl_->truncate(bytes);
}
void ArrayFile::take_part_in_truncate_with_error(const Error& error) {
  impl_->truncate(0, &error);
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
  return impl_->aggregator_ranks();
}
Statistics ArrayFile::statistics() const {
  return impl_->bytes().statistics();
}
const Statistics& ArrayFile::last_call() const {
  return impl_->bytes().last_call();
}
Method ArrayFile::last_method() const {
  return impl_->last_method();
}

}  // namespace penstock
