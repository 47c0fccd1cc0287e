// Random transfers of a storage, compared with the expected bytes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "storage/submission.hpp"

namespace penstock::test {

/// Offsets and lengths at, near and far from block boundaries; memory of any alignment.
class ByteModel {
 public:
  ByteModel(Storage& storage, std::int64_t largest_file, std::int64_t largest_request,
            unsigned seed)
      : storage_(storage),
        largest_file_(largest_file),
        largest_request_(largest_request),
        memory_(largest_request + 8192, nullptr),
        random_(seed) {}

  void step() {
    switch (below(10)) {
      case 0: return resize();
      case 1: return sync();
      case 2:
      case 3:
      case 4: return write();
      case 5: return submit(Direction::write);
      case 6: return submit(Direction::read);
      default: return read();
    }
  }

 private:
  std::int64_t below(std::int64_t bound) {
    return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random_);
  }
  /// Half of them a multiple of a block, of a sector, or one off.
  std::int64_t number(std::int64_t bound) {
    const std::int64_t plain = below(bound);
    const std::int64_t unit = std::int64_t{1} << (9 + below(4));
    if (below(2) == 0) return plain;
    return std::clamp<std::int64_t>(plain / unit * unit + below(3) - 1, 0, bound - 1);
  }
  std::int64_t length() {
    return below(3) == 0 ? number(largest_request_)
                         : number(std::min<std::int64_t>(20000, largest_request_));
  }
  std::span<std::byte> memory(std::int64_t size) {
    const std::int64_t at = below(3) == 0 ? 0 : number(8192);
    return {memory_.data() + at, static_cast<std::size_t>(size)};
  }

  void write() {
    const std::int64_t size = length();
    const std::int64_t offset = number(largest_file_ - size);
    const auto from = memory(size);
    for (std::byte& byte : from) byte = static_cast<std::byte>(random_());
    const Transfer done = write_fully(storage_, from, offset);
    ASSERT_EQ(done.error, 0) << size << " bytes at " << offset;
    ASSERT_EQ(done.bytes, size);
    put(offset, from);
  }

  /// Several accesses at a time, each from or into several places.
  void submit(Direction direction) {
    Submission accesses(storage_);
    std::int64_t at = 0, file = number(largest_file_ / 2);
    for (std::int64_t i = 1 + below(12); i > 0; --i) {
      const std::int64_t size = number(200000);
      if (at + size > memory_.size() || file + size > largest_file_) break;
      accesses.add(direction, {memory_.data() + at, static_cast<std::size_t>(size)}, file);
      if (direction == Direction::write) put(file, fill(at, size));
      places_.push_back({file, at, size});
      at += size + number(9000);
      file += size + (below(2) == 0 ? 0 : number(50000));
    }
    accesses.start();
    accesses.wait();
    ASSERT_EQ(accesses.first_failure(), accesses.size());
    for (const auto& [offset, place, size] : std::exchange(places_, {})) {
      const std::int64_t there = std::clamp<std::int64_t>(std::ssize(model_) - offset, 0, size);
      ASSERT_TRUE(std::equal(memory_.data() + place, memory_.data() + place + there,
                             model_.begin() + (there > 0 ? offset : 0)))
          << size << " bytes at " << offset << " of " << model_.size();
    }
  }
  std::span<std::byte> fill(std::int64_t at, std::int64_t size) {
    const std::span<std::byte> from(memory_.data() + at, static_cast<std::size_t>(size));
    for (std::byte& byte : from) byte = static_cast<std::byte>(random_());
    return from;
  }
  void put(std::int64_t offset, std::span<const std::byte> from) {
    if (from.empty()) return;
    const auto end = static_cast<std::size_t>(offset) + from.size();
    if (model_.size() < end) model_.resize(end);
    std::ranges::copy(from, model_.begin() + offset);
  }

  void read() {
    const std::int64_t size = length();
    const std::int64_t offset = number(largest_file_);
    const auto into = memory(size);
    std::ranges::fill(into, std::byte{0xee});
    const Transfer got = read_fully(storage_, into, offset);
    ASSERT_EQ(got.error, 0) << size << " bytes at " << offset;
    const std::int64_t expected = std::clamp<std::int64_t>(std::ssize(model_) - offset, 0, size);
    ASSERT_EQ(got.bytes, expected) << size << " bytes at " << offset << " of " << model_.size();
    if (expected == 0) return;
    ASSERT_TRUE(std::equal(into.begin(), into.begin() + expected, model_.begin() + offset))
        << size << " bytes at " << offset << " of " << model_.size();
  }

  void resize() {
    const std::int64_t size = number(largest_file_);
    ASSERT_EQ(storage_.resize(size), 0);
    model_.resize(static_cast<std::size_t>(size));
    ASSERT_EQ(storage_.size(), size);
  }

  void sync() { ASSERT_EQ(storage_.sync(), 0); }

  Storage& storage_;
  std::int64_t largest_file_, largest_request_;
  Buffer memory_;
  std::mt19937 random_;
  std::vector<std::byte> model_;
  struct Place {
    std::int64_t file, memory, size;
  };
  std::vector<Place> places_;
};

}  // namespace penstock::test
