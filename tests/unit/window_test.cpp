// A window: in which state its memory can be reached.
#include "engine/window.hpp"

#include <variant>

#include "background_gate.hpp"
#include "operations_support.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

struct WindowTest : testing::Test {
  SimulatedRanks ranks{{1, 0}, [](int) { return make_memory_storage("simulated", 64); }, units()};
  OpenFile& file = ranks.file(0);
  Hints hints;
  std::shared_ptr<Context> context = std::make_shared<Context>(
      file, Channel{file.comm, file.storage.path(), {CallKind::write}}, file.buffers);
  const Footprint wanted{{FilePattern(Nest::run(0, 64))}};
  const Extent extent{0, 64};
  Gate gate;

  Window window_of(Direction direction) {
    return Window(std::make_unique<WindowIo>(*context, hints, direction, /*exclusive=*/false));
  }
  void open(Window& window) {
    const WindowStream stream(wanted, extent);
    window.open().open(*context, extent, {&stream, 1}, extent, /*disjoint=*/true);
  }
  /// To the thread of the file's calls, which waits at the gate.
  void lend(Window& window, bool fills) {
    IoQueue& queue = *file.queue_of_calls;
    window.lend(queue, fills, [&](std::shared_ptr<StorageJob> job) {
      IoUnit unit;
      unit.work = [this, job] {
        gate.pass();
        job->begin();
        job->end();
      };
      return queue.submit(std::move(unit));
    });
  }
};

TEST_F(WindowTest, WhatIsLentNobodyElseReaches) {
  Window window = window_of(Direction::write);
  EXPECT_THROW(window.io(), std::bad_variant_access);  // free
  open(window);
  std::fill_n(window.io().at(0), 64, std::byte{7});
  lend(window, /*fills=*/false);
  EXPECT_TRUE(window.is_lent());
  EXPECT_FALSE(window.is_done());
  EXPECT_THROW(window.io(), std::bad_variant_access);
  gate.open();
  StorageJob job = window.take_job();
  EXPECT_FALSE(job.error);
  EXPECT_TRUE(job.io->counts().time_storage > 0);
  window.settle(std::move(job));
  EXPECT_THROW(window.io(), std::bad_variant_access);  // flushed: free again
  EXPECT_TRUE(window.is_done());
  std::byte last{};
  EXPECT_EQ(file.storage.read_some({&last, 1}, 63), 1);
  EXPECT_EQ(last, std::byte{7});
}

TEST_F(WindowTest, AFilledOneIsOpen) {
  Window window = window_of(Direction::read);
  open(window);
  window.start(/*fills=*/true).begin();
  EXPECT_TRUE(window.is_at_storage());
  EXPECT_FALSE(window.is_lent());
  EXPECT_THROW(window.io(), std::bad_variant_access);
  window.settle(window.take_job());
  EXPECT_EQ(*window.io().at(63), std::byte{0});
}

TEST_F(WindowTest, EndsAfterTheThreadThatHasIt) {
  {
    Window window = window_of(Direction::write);
    open(window);
    std::fill_n(window.io().at(0), 64, std::byte{9});
    lend(window, /*fills=*/false);
    gate.open();
  }
  std::byte first{};
  EXPECT_EQ(file.storage.read_some({&first, 1}, 0), 1);
  EXPECT_EQ(first, std::byte{9});
}

}  // namespace
