// The identity of this process. A forked child has copies of its parent's objects, but what they
// refer to is the parent's: shared memory, file locks, threads.
#pragma once

#include <memory>
#include <utility>

namespace penstock {

/// As getpid(), without a system call.
int this_process() noexcept;

/// Makes an object that a forked child never destroys.
template <class T, class... Args>
std::shared_ptr<T> owned_by_process(Args&&... args) {
  return {new T(std::forward<Args>(args)...), [process = this_process()](T* owned) {
            if (process == this_process()) delete owned;
          }};
}

/// exit() has begun, in this thread. Other threads must not accept new work after that.
void note_exit() noexcept;
bool exits_in_another_thread() noexcept;

}  // namespace penstock
