#include "bench_methods.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <stdexcept>
#include <system_error>

namespace penstock::python {
namespace {

[[noreturn]] void fail(const char* call) {
  throw std::system_error(errno, std::generic_category(), call);
}

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string(call) + ": " + text);
}

}  // namespace

void ContiguousBaseline::open(const std::string& path, bool create) {
  const int flags = O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0) | (direct_ ? O_DIRECT : 0);
  descriptor_ = ::open(path.c_str(), flags, 0666);
  if (descriptor_ < 0) fail("open");
}

template <class Call>
void ContiguousBaseline::move_all(const char* name, Call call) {
  for (std::size_t done = 0; done < bytes_;) {  // Linux moves at most 2 GiB per call
    const auto moved = call(memory_ + done, bytes_ - done, offset_ + static_cast<off_t>(done));
    if (moved < 0) fail(name);
    if (moved == 0) throw std::runtime_error(std::string(name) + ": the file ended too early");
    done += static_cast<std::size_t>(moved);
  }
}

void ContiguousBaseline::write() {
  move_all("pwrite",
           [&](auto* from, auto bytes, auto at) { return pwrite(descriptor_, from, bytes, at); });
}

void ContiguousBaseline::read() {
  move_all("pread",
           [&](auto* to, auto bytes, auto at) { return pread(descriptor_, to, bytes, at); });
}

void ContiguousBaseline::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

void Engine::open(const std::string& path, bool create) {
  file_.emplace(ArrayFile::open(comm_, path, create ? Mode::create : Mode::read_write, wanted_.spec,
                                wanted_.hints));
}

void Engine::write() {
  std::optional<Part<WriteView>> part;  // made for each call, as programs do
  if (wanted_.section) part.emplace(*wanted_.section, wanted_.source);
  file_->write(part ? std::span<const Part<WriteView>>(&*part, 1)
                    : std::span<const Part<WriteView>>());
  remember();
}

void Engine::read() {
  std::optional<Part<ReadView>> part;
  if (wanted_.section) part.emplace(*wanted_.section, wanted_.target);
  file_->read(part ? std::span<const Part<ReadView>>(&*part, 1)
                   : std::span<const Part<ReadView>>());
  remember();
}

void Engine::remember() {
  last_call_ = file_->last_call();
  carried_out_by_ = to_string(file_->last_method());
}

void Engine::await_background() {
  file_->file_size();  // waits for all that was written
}

void Engine::close() {
  file_->close();
  file_.reset();
}

void MpiIo::open(const std::string& path, bool create) {
  const int mode = MPI_MODE_RDWR | (create ? MPI_MODE_CREATE : 0);
  check(MPI_File_open(comm_, path.c_str(), mode, MPI_INFO_NULL, &file_), "MPI_File_open");
  const auto& view = wanted_.file;
  check(MPI_File_set_view(file_, view ? view->displacement : 0, wanted_.element,
                          view ? view->type.get() : wanted_.element, "native", MPI_INFO_NULL),
        "MPI_File_set_view");
}

void MpiIo::write() {
  check(MPI_File_write_at_all(file_, 0, wanted_.source, count(), memory_type(), MPI_STATUS_IGNORE),
        "MPI_File_write_at_all");
}

void MpiIo::read() {
  check(MPI_File_read_at_all(file_, 0, wanted_.target, count(), memory_type(), MPI_STATUS_IGNORE),
        "MPI_File_read_at_all");
}

void MpiIo::close() {
  check(MPI_File_close(&file_), "MPI_File_close");
}

}  // namespace penstock::python
