#include "pinned.hpp"

#include <mutex>
#include <utility>

#include <penstock/penstock.hpp>

namespace penstock::python {
namespace {

struct Dropped {
  std::mutex mutex;
  std::vector<Py_buffer> buffers;
};

/// Never destroyed: threads may drop references until the process ends.
Dropped& dropped() {
  static auto* const all = new Dropped;
  return *all;
}

void release_all(std::vector<Py_buffer> buffers) noexcept {
  for (Py_buffer& buffer : buffers) PyBuffer_Release(&buffer);
}

}  // namespace

std::shared_ptr<Pins> Pins::make() {
  return {new Pins, &Pins::drop};
}

const Py_buffer& Pins::add(nb::handle object, bool writable) {
  const int flags = PyBUF_STRIDES | (writable ? PyBUF_WRITABLE : 0);
  // Filled in place: some objects let the buffer point into itself.
  Py_buffer& buffer = buffers_.emplace_back();
  if (PyObject_GetBuffer(object.ptr(), &buffer, flags) != 0) {
    PyErr_Clear();
    buffers_.pop_back();
    throw Error(ErrorClass::argument,
                writable ? "buffer: it is not writable" : "buffer: it has no memory to read");
  }
  return buffer;
}

void Pins::release() noexcept {
  release_all(std::exchange(buffers_, {}));
}

int Pins::release_dropped(void*) noexcept {
  std::unique_lock guard(dropped().mutex);
  std::vector<Py_buffer> buffers = std::exchange(dropped().buffers, {});
  guard.unlock();
  release_all(std::move(buffers));
  return 0;
}

void Pins::drop(Pins* pins) noexcept {
  const std::unique_ptr<Pins> gone(pins);
  // After the interpreter's end, its objects must not be touched.
  if (pins->buffers_.empty() || !Py_IsInitialized()) return;
  if (PyGILState_Check()) return pins->release();
  const std::lock_guard guard(dropped().mutex);
  for (const Py_buffer& buffer : pins->buffers_) dropped().buffers.push_back(buffer);
  Py_AddPendingCall(&Pins::release_dropped, nullptr);
}

}  // namespace penstock::python
