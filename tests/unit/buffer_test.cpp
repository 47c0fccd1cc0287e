// Memory kept between calls, and its gauge.
#include "base/buffer.hpp"

#include <gtest/gtest.h>

using namespace penstock;

namespace {

constexpr std::int64_t KiB = 1024;
using Use = BufferPool::Use;

TEST(Buffer, IsInTheGaugeForAsLongAsItLives) {
  MemoryGauge gauge;
  {
    Buffer first(100 * KiB, &gauge);
    const Buffer second(std::move(first));
    EXPECT_EQ(gauge.held(), 100 * KiB);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second.data()) % Buffer::page, 0u);
  }
  EXPECT_EQ(gauge.held(), 0);
  EXPECT_EQ(gauge.peak(), 100 * KiB);
  gauge.restart();
  EXPECT_EQ(gauge.peak(), 0);
}

TEST(BufferPool, WhatFitsIsUsedAgainForTheSame) {
  MemoryGauge gauge;
  BufferPool pool;
  pool.give(Use::window, pool.take(Use::window, 100 * KiB, &gauge));
  const Buffer again = pool.take(Use::window, 60 * KiB, &gauge);
  EXPECT_EQ(again.size(), 100 * KiB);
  EXPECT_EQ(gauge.allocations(), 1);
}

TEST(BufferPool, WhatIsTooShortIsNotUsed) {
  MemoryGauge gauge;
  BufferPool pool;
  for (std::int64_t bytes = 100 * KiB; bytes < 200 * KiB; bytes += bytes / 8) {
    pool.give(Use::window, pool.take(Use::window, bytes, &gauge));
    EXPECT_GE(pool.take(Use::window, bytes + 1, &gauge).size(), bytes + 1);
  }
}

/// The memory of a rank is bounded by what a call needs, not by what all calls before it needed.
TEST(BufferPool, BuffersOfOtherSizesAreNotKept) {
  MemoryGauge gauge;
  BufferPool pool;
  for (const std::int64_t bytes : {100 * KiB, 10 * KiB, 300 * KiB, 1 * KiB}) {
    pool.give(Use::window, pool.take(Use::window, bytes, &gauge));
    EXPECT_EQ(gauge.held(), bytes);
  }
  pool.clear();
  EXPECT_EQ(gauge.held(), 0);
}

}  // namespace
