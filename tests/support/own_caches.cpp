#include "support/own_caches.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <vector>

namespace penstock::test {
namespace {

class Host final : public Storage {
 public:
  Host(std::shared_ptr<Storage> server, const OwnCache& cache)
      : server_(std::move(server)), cache_(cache) {}

  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override {
    const std::lock_guard guard(mutex_);
    const std::int64_t size = size_of(memory);
    if (past_) {
      if (cache_.past == PastCacheAccess::aligned && (offset % cache_.page | size % cache_.page))
        return -EINVAL;
      write_back();
      if (direction == Direction::read && offset >= size_) return 0;  // as far as it knows
      if (direction == Direction::write) {
        pages_.clear();
        size_ = std::max(size_, offset + size);
        if (cache_.past == PastCacheAccess::early) {
          std::vector<std::byte> bytes(static_cast<std::size_t>(size));
          gather({memory.begin(), memory.end()}, bytes.data());
          answered_.emplace_back(offset, std::move(bytes));
          return size;
        }
      }
      return server_->move_some(direction, memory, offset);
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    if (direction == Direction::write) {
      gather({memory.begin(), memory.end()}, bytes.data());
      for_each_page(offset, size, [&](Page& page, std::int64_t at, std::int64_t i, std::int64_t n) {
        std::copy_n(bytes.data() + i, n, page.bytes.data() + at);
        page.dirty = true;
      });
      size_ = std::max(size_, offset + size);
      return size;
    }
    const std::int64_t there = std::clamp<std::int64_t>(size_ - offset, 0, size);
    for_each_page(offset, there, [&](Page& page, std::int64_t at, std::int64_t i, std::int64_t n) {
      std::copy_n(page.bytes.data() + at, n, bytes.data() + i);
    });
    scatter(bytes.data(), there, {memory.begin(), memory.end()});
    return there;
  }
  bool bypass_cache(bool past) override {
    const std::lock_guard guard(mutex_);
    past_ = past && cache_.past != PastCacheAccess::none;
    return past_ || !past;
  }
  void forget_cached() override {
    const std::lock_guard guard(mutex_);
    write_back();
    pages_.clear();
    size_ = server_->size();
  }
  std::int64_t size() override {
    const std::lock_guard guard(mutex_);
    send_answered();
    if (past_) size_ = server_->size();
    return size_;
  }
  std::int64_t resize(std::int64_t bytes) override {
    const std::lock_guard guard(mutex_);
    write_back();
    pages_.clear();
    size_ = bytes;
    return server_->resize(bytes);
  }
  std::int64_t sync() override {
    const std::lock_guard guard(mutex_);
    write_back();
    return 0;
  }
  std::unique_ptr<RangeLock> lock(Extent, LockKind, int& error) override {
    error = 0;
    return std::make_unique<RangeLock>();
  }
  const std::string& path() const override { return server_->path(); }

 private:
  struct Page {
    std::vector<std::byte> bytes;
    bool dirty = false;
  };

  template <class Visit>
  void for_each_page(std::int64_t offset, std::int64_t size, Visit&& visit) {
    for (std::int64_t done = 0; done < size;) {
      const std::int64_t at = (offset + done) % cache_.page;
      const std::int64_t part = std::min(size - done, cache_.page - at);
      visit(page_at((offset + done) / cache_.page), at, done, part);
      done += part;
    }
  }
  Page& page_at(std::int64_t number) {
    Page& page = pages_[number];
    if (!page.bytes.empty()) return page;
    page.bytes.resize(static_cast<std::size_t>(cache_.page));
    read_fully(*server_, page.bytes, number * cache_.page);
    return page;
  }
  void send_answered() {
    for (const auto& [offset, bytes] : std::exchange(answered_, {}))
      write_fully(*server_, bytes, offset);
  }
  void write_back() {
    send_answered();
    for (auto& [number, page] : pages_) {
      if (!std::exchange(page.dirty, false)) continue;
      const std::int64_t begin = number * cache_.page;
      const std::int64_t end = std::min(begin + cache_.page, size_);
      write_fully(*server_, std::span(page.bytes).first(static_cast<std::size_t>(end - begin)),
                  begin);
    }
  }

  const std::shared_ptr<Storage> server_;
  const OwnCache cache_;
  std::mutex mutex_;
  bool past_ = false;
  std::int64_t size_ = server_->size();
  std::map<std::int64_t, Page> pages_;
  std::vector<std::pair<std::int64_t, std::vector<std::byte>>> answered_;  // dirty data
};

}  // namespace

std::unique_ptr<Storage> with_own_cache(std::shared_ptr<Storage> server, const OwnCache& cache) {
  return std::make_unique<Host>(std::move(server), cache);
}

}  // namespace penstock::test
