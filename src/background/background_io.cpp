#include "background/background_io.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// The objects of a map that still exist.
template <class Map>
auto alive(const Map& map) {
  std::vector<decltype(map.begin()->second.lock())> objects;
  objects.reserve(map.size());
  for (const auto& [key, known] : map)
    if (auto object = known.lock()) objects.push_back(std::move(object));
  return objects;
}

template <class Map>
void drop_expired(Map& map) {
  std::erase_if(map, [](const auto& entry) { return entry.second.expired(); });
}

}  // namespace

std::shared_ptr<BufferedFile> BackgroundIo::file(const FileId& id, const QueueKey& key,
                                                 const std::string& path, const std::string& who) {
  const std::lock_guard guard(mutex_);
  if (auto file = files_[id].lock()) return file;
  std::shared_ptr<IoQueue> queue = queues_[key].lock();
  if (!queue) {
    const auto kind = key.page_cache ? IoQueue::Kind::page_cache : IoQueue::Kind::device;
    queue = std::make_shared<IoQueue>(memory_, throttling_, kind, idle_);
    if (key.file == 0) kept_.push_back(queue);
  }
  auto file = std::make_shared<BufferedFile>(queue, path, who);
  queues_[key] = queue;
  files_[id] = file;
  drop_expired(queues_);
  drop_expired(files_);
  return file;
}

std::shared_ptr<IoQueue> BackgroundIo::queue_of_calls() {
  auto queue = std::make_shared<IoQueue>(memory_, throttling_, IoQueue::Kind::calls, idle_);
  const std::lock_guard guard(mutex_);
  std::erase_if(of_calls_, [](const auto& known) { return known.expired(); });
  of_calls_.push_back(queue);
  return queue;
}

std::vector<std::shared_ptr<IoQueue>> BackgroundIo::live_queues() {
  const std::lock_guard guard(mutex_);
  return alive(queues_);
}

void BackgroundIo::wake_queues() {
  for (const auto& queue : live_queues()) queue->wake();
}

void BackgroundIo::finish() noexcept {
  const auto queues = live_queues();
  for (const auto& queue : queues) queue->stop();  // all at the same time
  for (const auto& queue : queues) queue->finish();
  std::unique_lock guard(mutex_);
  const auto files = alive(files_);
  guard.unlock();
  for (const auto& file : files) file->report();
}

std::size_t BackgroundIo::queues() {
  return live_queues().size();
}

std::size_t BackgroundIo::threads() {
  const auto queues = live_queues();
  return static_cast<std::size_t>(std::count_if(
      queues.begin(), queues.end(), [](const auto& queue) { return queue->has_thread(); }));
}

void BackgroundIo::lock_for_fork() {
  mutex_.lock();
  locked_ = alive(queues_);
  for (const auto& known : of_calls_)
    if (auto queue = known.lock()) locked_.push_back(std::move(queue));
  for (const auto& queue : locked_) queue->lock_for_fork();
  memory_.lock_for_fork();
}

void BackgroundIo::unlock_after_fork() {
  memory_.unlock_after_fork();
  for (const auto& queue : locked_) queue->unlock_after_fork();
  // Some may be destroyed with this, after the lock is released.
  const auto gone = std::exchange(locked_, {});
  mutex_.unlock();
}

void BackgroundIo::forget_after_fork() {
  memory_.forget();
  for (const auto& queue : locked_) queue->forget();
  for (const auto& file : alive(files_)) file->forget();
  throttling_.throttles = throttling_.expedites = 0;
  unlock_after_fork();
}

}  // namespace penstock
