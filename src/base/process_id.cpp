#include "base/process_id.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace penstock {
namespace {

std::atomic<int> process{0};
std::atomic<std::thread::id> exiting{};

}  // namespace

int this_process() noexcept {
  static const bool watched = [] {
    process = ::getpid();
    return ::pthread_atfork(nullptr, nullptr, [] { process = ::getpid(); }) == 0;
  }();
  return watched ? process.load(std::memory_order_relaxed) : ::getpid();
}

void note_exit() noexcept {
  exiting = std::this_thread::get_id();
}

bool exits_in_another_thread() noexcept {
  const std::thread::id thread = exiting.load(std::memory_order_relaxed);
  return thread != std::thread::id() && thread != std::this_thread::get_id();
}

}  // namespace penstock
