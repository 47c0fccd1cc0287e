// Pins: the Python memory of one call. The operation keeps it as long as it may use the memory, and
// may drop it in any thread, with or without the interpreter's lock.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

namespace nb = nanobind;

namespace penstock::python {

class Pins {
 public:
  /// If the last reference is dropped without the interpreter's lock, the objects are released the
  /// next time that the main thread has it; never, if the interpreter is gone.
  static std::shared_ptr<Pins> make();
  Pins(const Pins&) = delete;

  /// With the lock held, like the functions below. The package passes arrays of bytes records
  /// ('V8'), so that every dtype has a buffer. Throws Error(argument).
  const Py_buffer& add(nb::handle object, bool writable);
  std::size_t size() const noexcept { return buffers_.size(); }
  const Py_buffer& operator[](std::size_t i) const noexcept { return buffers_[i]; }
  /// The memory is not used any more.
  void release() noexcept;

 private:
  Pins() = default;
  static void drop(Pins* pins) noexcept;
  static int release_dropped(void*) noexcept;

  std::vector<Py_buffer> buffers_;
};

}  // namespace penstock::python
