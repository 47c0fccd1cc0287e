// Storage whose transfers return results from a script, one per call.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "storage/storage.hpp"

namespace penstock::test {

class ScriptedStorage : public Storage {
 public:
  struct Call {
    std::int64_t offset;
    std::int64_t size;
    friend bool operator==(const Call&, const Call&) = default;
  };

  explicit ScriptedStorage(std::deque<std::int64_t> answers) : answers_(std::move(answers)) {}

  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override {
    std::int64_t left = next(offset, size_of(memory));
    const std::int64_t answer = left;
    for (const iovec& part : memory) {
      const std::int64_t bytes = std::min(left, static_cast<std::int64_t>(part.iov_len));
      std::byte* const place = begin_of(part);
      // The bytes read identify their offset.
      for (std::int64_t i = 0; i < bytes && direction == Direction::read; ++i)
        place[i] = static_cast<std::byte>((offset + i) % 251);
      if (bytes > 0 && direction == Direction::write)
        written_.insert(written_.end(), place, place + bytes);
      left -= std::max<std::int64_t>(0, bytes);
      offset += bytes;
    }
    return answer;
  }
  std::int64_t size() override { return -EIO; }
  std::int64_t resize(std::int64_t) override { return -ENOSPC; }
  std::int64_t sync() override { return -EIO; }
  std::unique_ptr<RangeLock> lock(Extent, LockKind, int& error) override {
    error = ENOLCK;
    return nullptr;
  }
  const std::string& path() const override { return path_; }

  const std::vector<Call>& calls() const { return calls_; }
  const std::vector<std::byte>& written() const { return written_; }

 private:
  /// If the script is exhausted, the code under test has made too many calls.
  std::int64_t next(std::int64_t offset, std::int64_t size) {
    calls_.push_back({offset, size});
    if (answers_.empty()) return -ENOTRECOVERABLE;
    const std::int64_t answer = answers_.front();
    answers_.pop_front();
    return answer;
  }

  std::deque<std::int64_t> answers_;
  std::vector<Call> calls_;
  std::vector<std::byte> written_;
  std::string path_ = "scripted";
};

}  // namespace penstock::test
