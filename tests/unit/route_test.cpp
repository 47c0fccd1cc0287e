// Every route, and the conditions for it.
#include <gtest/gtest.h>

#include "plan/route.hpp"

using namespace penstock;

namespace {

constexpr std::int64_t room = 1 << 20;

struct Given {
  bool writes = true, slow = false, collective = true, idle_cores = false;
  std::optional<Background> background;
  std::int64_t active_buffer_size = room;
};

Asked asked(const Given& given) {
  return {given.writes ? Direction::write : Direction::read, given.background,
          given.active_buffer_size};
}

/// As in an operation: the budget, the plan made with it, the route.
Route route(const Given& given) {
  Demand all;
  all.begin = 0;
  all.end = all.bytes = 4096;
  all.slow = given.slow;
  all.room = room;
  Plan plan;
  plan.machine.ranks = 4;
  plan.machine.idle_cores = given.idle_cores;
  plan.method = given.collective ? Method::extended : Method::direct;
  plan.buffered = given.writes && choose_budget(asked(given), all, plan.machine) > 0;
  return choose_route(asked(given), all, plan);
}

TEST(Route, OfBlockingCalls) {
  for (const bool slow : {false, true})
    for (const bool collective : {false, true}) {
      EXPECT_EQ(route({.writes = true, .slow = slow, .collective = collective}), Route::buffered);
      EXPECT_EQ(route({.writes = false, .slow = slow, .collective = collective}), Route::now);
      EXPECT_EQ(route({.slow = slow, .collective = collective, .active_buffer_size = 0}),
                Route::now);
    }
}

TEST(Route, OfWritesThatLeaveStorageToTheThread) {
  const auto with = [](bool slow, bool collective, bool idle_cores) {
    return route({.slow = slow,
                  .collective = collective,
                  .idle_cores = idle_cores,
                  .background = Background::storage});
  };
  for (const bool idle : {false, true}) {
    EXPECT_EQ(with(true, true, idle), Route::buffered);
    EXPECT_EQ(with(true, false, idle), Route::aside);
    EXPECT_EQ(with(false, true, idle), Route::reported_at_end);
  }
  EXPECT_EQ(with(false, false, true), Route::aside);
  EXPECT_EQ(with(false, false, false), Route::reported_at_end);
  EXPECT_EQ(route({.slow = true, .background = Background::storage, .active_buffer_size = 0}),
            Route::now);
}

TEST(Route, OfReadsThatLeaveStorageToTheThread) {
  const auto with = [](bool slow, bool collective, bool idle_cores) {
    return route({.writes = false,
                  .slow = slow,
                  .collective = collective,
                  .idle_cores = idle_cores,
                  .background = Background::storage});
  };
  for (const bool idle : {false, true}) {
    EXPECT_EQ(with(true, true, idle), Route::ahead);
    EXPECT_EQ(with(true, false, idle), Route::aside);
    EXPECT_EQ(with(false, true, idle), Route::reported_at_end);
  }
  EXPECT_EQ(with(false, false, true), Route::aside);
}

TEST(Route, OfWhatAThreadOfTheFileDoes) {
  // With a fast page cache nothing is buffered.
  EXPECT_EQ(route({.background = Background::all}), Route::reported_at_end);
  EXPECT_EQ(route({.slow = true, .background = Background::all}), Route::buffered);
  EXPECT_EQ(route({.writes = false, .slow = true, .background = Background::all}), Route::now);
}

TEST(Route, OfBeginsWithoutBackground) {
  EXPECT_EQ(route({.background = Background::none}), Route::now);
  EXPECT_EQ(route({.slow = true, .background = Background::none}), Route::buffered);
  EXPECT_EQ(route({.writes = false, .background = Background::none}), Route::now);
}

TEST(Route, BuffersThroughTheQuickPageCacheOnlyWithRoomForAll) {
  const Asked write{Direction::write, std::nullopt, room};
  Demand all;
  all.bytes = 4 * room;
  all.room = room;
  const Machine machine{.ranks = 4};
  EXPECT_EQ(choose_budget(write, all, machine), room);
  all.room = room - 1;
  EXPECT_EQ(choose_budget(write, all, machine), 0);
  all.slow = true;
  EXPECT_EQ(choose_budget(write, all, machine), room);
  EXPECT_EQ(choose_budget({Direction::write, Background::none, room}, all, machine), room);
  all.slow = false;
  EXPECT_EQ(choose_budget({Direction::write, Background::none, room}, all, machine), 0);
  EXPECT_EQ(choose_budget({Direction::read, Background::storage, room}, all, machine), room);
  EXPECT_EQ(choose_budget({Direction::read, std::nullopt, room}, all, machine), 0);
}

TEST(Route, ThroughIoThreads) {
  EXPECT_TRUE(uses_io_thread(Route::buffered));
  EXPECT_TRUE(uses_io_thread(Route::aside));
  EXPECT_TRUE(uses_io_thread(Route::ahead));
  EXPECT_FALSE(uses_io_thread(Route::now));
  EXPECT_FALSE(uses_io_thread(Route::reported_at_end));
}

}  // namespace
