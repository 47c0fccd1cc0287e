// Storage whose transfers answer what a test wrote down, one answer per call.
#pragma once

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

  std::int64_t read_some(std::span<std::byte> into, std::int64_t offset) override {
    const std::int64_t answer = next(offset, into.size());
    // What arrives tells where it came from.
    for (std::int64_t i = 0; i < answer; ++i)
      into[static_cast<std::size_t>(i)] = static_cast<std::byte>((offset + i) % 251);
    return answer;
  }
  std::int64_t write_some(std::span<const std::byte> from, std::int64_t offset) override {
    const std::int64_t answer = next(offset, from.size());
    if (answer > 0) written_.insert(written_.end(), from.begin(), from.begin() + answer);
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
  /// A script that has run out is a test that asked more often than it should have.
  std::int64_t next(std::int64_t offset, std::size_t size) {
    calls_.push_back({offset, static_cast<std::int64_t>(size)});
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
