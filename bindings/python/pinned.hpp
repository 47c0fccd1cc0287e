// Pins: the memory of the Python objects of one call. The operation has them as long as it may use
// that memory, and its end may come in any thread, with the interpreter's lock or without it.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

namespace nb = nanobind;

namespace penstock::python {

class Pins {
 public:
  /// Where the last reference goes without the interpreter's lock, the objects are let go of the
  /// next time that the main thread has it; where the interpreter is gone, never.
  static std::shared_ptr<Pins> make();
  Pins(const Pins&) = delete;

  /// With the lock, as all that follows. The package passes arrays of bytes records ('V8'), so that
  /// every dtype has a buffer. Throws Error(argument).
  const Py_buffer& add(nb::handle object, bool writable);
  std::size_t size() const noexcept { return buffers_.size(); }
  const Py_buffer& operator[](std::size_t i) const noexcept { return buffers_[i]; }
  /// Nobody uses the memory any more.
  void release() noexcept;

 private:
  Pins() = default;
  static void drop(Pins* pins) noexcept;
  static int release_dropped(void*) noexcept;

  std::vector<Py_buffer> buffers_;
};

}  // namespace penstock::python
