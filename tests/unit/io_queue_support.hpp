// A queue to test, of a device or of calls, and units for it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "background/io_queue.hpp"

namespace penstock {

struct IoQueueTest : testing::Test {
  ActiveBuffer memory;
  Throttling throttling;
  UnitRecord file;
  IoQueue queue{memory, throttling, IoQueue::Kind::device, std::chrono::minutes(1)};

  IoTicket submit(std::function<void()> work, std::int64_t operation = 1, Extent extent = {0, 8}) {
    return submit_to(queue, std::move(work), operation, extent);
  }
  IoTicket submit_to(IoQueue& to, std::function<void()> work, std::int64_t operation = 1,
                     Extent extent = {0, 8}) {
    IoUnit unit;
    unit.extent = extent;
    unit.operation = operation;
    unit.work = std::move(work);
    return to.submit(file, std::move(unit));
  }
  void drain() { queue.drain(file, UnitRecord::Which::all); }
};

/// A queue of calls.
struct CallQueueTest : IoQueueTest {
  IoQueue calls{memory, throttling, IoQueue::Kind::calls, std::chrono::minutes(1)};

  IoTicket submit_call(std::function<void()> work, std::function<void()> finish = nullptr) {
    IoUnit unit;
    unit.work = std::move(work);
    unit.finish = std::move(finish);
    return calls.submit(std::move(unit));
  }
};

}  // namespace penstock
