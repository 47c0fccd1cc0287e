// Which process this is. A forked child has all objects of its parent, but what these use is the
// parent's: memory that is common with other processes, locks of files, threads.
#pragma once

#include <memory>
#include <utility>

namespace penstock {

/// As getpid(), without a system call.
int this_process() noexcept;

/// What a forked child leaves alone: it lets go of nothing there.
template <class T, class... Args>
std::shared_ptr<T> owned_by_process(Args&&... args) {
  return {new T(std::forward<Args>(args)...), [process = this_process()](T* owned) {
            if (process == this_process()) delete owned;
          }};
}

/// exit() has begun, in this thread. Afterwards others must not promise anything any more.
void note_exit() noexcept;
bool exits_in_another_thread() noexcept;

}  // namespace penstock
