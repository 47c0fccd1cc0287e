// Errors in operations on simulated ranks: all ranks get them, and none waits for ever.
#include <mutex>
#include <set>

#include "mpi/ballot.hpp"
#include "operations_support.hpp"
#include "storage/fault.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

TEST_F(Simulated, RanksInDifferentCallsAllSayso) {
  for (const int per_node : {0, 1, 2, 3}) {
    Random r{std::mt19937_64(static_cast<unsigned>(per_node))};
    SimulatedRanks ranks({3, per_node}, views(), units());
    Hints hints;
    hints.active_buffer_size = 0;
    Requests requests = draw(r, 3);
    Operations begun;
    for (int rank = 0; rank < 3; ++rank)
      begun.push_back(ranks.begin(rank,
                                  requests[static_cast<std::size_t>(rank)].access(
                                      rank == 2 ? Direction::read : Direction::write),
                                  hints));
    ASSERT_TRUE(ranks.run());
    for (const auto& operation : begun) {
      ASSERT_TRUE(operation->error());
      EXPECT_EQ(operation->error()->error_class(), ErrorClass::disagreement);
    }
    model.expect_in(*shared);  // nothing was done
    begun.clear();
    begin_all(ranks, requests, Direction::write, hints, begun);
    ASSERT_TRUE(ranks.run());
    expect_no_errors(begun);
    model.write(requests);
    model.expect_in(*shared);
  }
}

TEST_F(Simulated, WhatIsWrongOnOneRankIsThrownOnAll) {
  for (const int per_node : {0, 1, 2, 5}) {
    Random r{std::mt19937_64(static_cast<unsigned>(per_node))};
    SimulatedRanks ranks({5, per_node}, views(), units());
    Requests requests = draw(r, 5);
    Operations begun;
    for (int rank = 0; rank < 5; ++rank) {
      std::optional<Error> early;
      if (rank == 3) early.emplace(ErrorClass::argument, "the array is too short");
      begun.push_back(ranks.begin(rank,
                                  requests[static_cast<std::size_t>(rank)].access(Direction::write),
                                  {}, std::nullopt, early));
    }
    ASSERT_TRUE(ranks.run());
    for (const auto& operation : begun) {
      ASSERT_TRUE(operation->error());
      EXPECT_EQ(operation->error()->error_class(), ErrorClass::argument);
      EXPECT_STREQ(operation->error()->what(),
                   "rank 3: 'simulated', write: the array is too short");
    }
    model.expect_in(*shared);
  }
}

/// The same on all of them: none, or EIO.
bool expect_same_error(const Operations& operations) {
  const bool failed = operations.front()->error().has_value();
  for (const auto& operation : operations) {
    EXPECT_EQ(operation->error().has_value(), failed);
    if (!failed || !operation->error()) continue;
    EXPECT_EQ(operation->error()->error_class(), ErrorClass::storage);
    EXPECT_EQ(operation->error()->error_number(), EIO);
  }
  return failed;
}

/// If an operation has failed, its own bytes may have changed, but no others.
void expect_no_stray_bytes(Storage& storage, const Model& wanted, const Requests& requests,
                           bool failed) {
  std::vector<std::byte> there(file_bytes);
  read_fully(storage, there, 0);
  std::set<std::int64_t> asked;
  for (const RankRequest& request : requests)
    asked.insert(request.file.begin(), request.file.end());
  for (std::int64_t i = 0; i < file_bytes; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (failed && asked.contains(i)) continue;
    ASSERT_EQ(there[at], failed ? std::byte{0} : wanted.bytes[at]) << "at offset " << i;
  }
}

/// Each storage call of each rank fails once. All ranks get the error, the exchange completes, and
/// no byte changes that nobody wrote.
TEST_F(Simulated, AFaultInAnyWindowIsToldToAll) {
  int reported = 0;
  for (unsigned seed = 1; seed <= 120; ++seed) {
    Random r{std::mt19937_64(seed)};
    const Layout layout = draw_layout(r, 5);
    const Hints hints = draw_hints(r, layout);
    const int victim = static_cast<int>(r.in(0, layout.ranks - 1));
    const bool writes = r.in(0, 1) == 0;
    const std::string spec =
        std::string(writes ? "write@" : "read@") + std::to_string(r.in(0, 5)) + "=EIO";
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + spec + " " + text_of(hints));
    shared = make_shared_storage(file_bytes);
    const auto storage_of = [&](int rank) {
      return rank == victim ? inject_faults(view_of(shared), spec, rank) : view_of(shared);
    };
    SimulatedRanks ranks(layout, storage_of, units());
    Requests requests = draw(r, layout.ranks);
    Operations begun;
    begin_all(ranks, requests, writes ? Direction::write : Direction::read, hints, begun);
    ASSERT_TRUE(ranks.run(r, [&] { return all_ended(begun); })) << "nothing moves any more";
    const bool failed = expect_same_error(begun);
    reported += failed ? 1 : 0;
    Model wanted;
    if (writes) wanted.write(requests);
    expect_no_stray_bytes(*shared, wanted, requests, failed);
    ASSERT_EQ(ranks.left_over(), 0u);
    if (HasFailure()) return;
  }
  EXPECT_GT(reported, 20);
}

/// From call `good` on each transfer fails; the first one with ENOSPC.
class FailsFrom final : public StorageView {
 public:
  struct Log {
    int calls = 0, after_failure = 0;
    std::int64_t failed_at = -1;
  };
  FailsFrom(std::shared_ptr<Storage> shared, int good, bool later, Log& log)
      : StorageView(std::move(shared)), good_(good), later_(later), log_(log) {}

  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override {
    const std::lock_guard guard(mutex_);
    if (log_.calls++ < good_) return StorageView::move_some(direction, memory, offset);
    if (log_.failed_at >= 0) ++log_.after_failure;
    const bool first = log_.failed_at < 0;
    if (first) log_.failed_at = offset;
    return first ? -ENOSPC : -EIO;
  }
  bool completes_later() const override { return later_; }

 private:
  const int good_;
  const bool later_;
  Log& log_;
  std::mutex mutex_;
};

/// Windows are written in order. The first failure is reported on all ranks, and no window is
/// written after it, except those already in flight.
TEST_F(Simulated, AfterAFailureNoWindowFollowsAndTheFirstIsReported) {
  constexpr std::int64_t window = 600;
  for (const Direction direction : {Direction::write, Direction::read})
    for (const Exchange exchange : {Exchange::node, Exchange::sparse, Exchange::step4})
      for (const Pipeline pipeline : {Pipeline::never, Pipeline::always})
        for (const bool later : {false, true})
          for (int good = 0; good < 5; ++good) {
            FailsFrom::Log log;
            const auto storage_of = [&](int) {
              return std::make_unique<FailsFrom>(shared, good, later, log);
            };
            SimulatedRanks ranks({2, 2}, storage_of, units());
            Hints hints;
            hints.method = Method::extended;
            hints.exchange = exchange;
            hints.pipeline = pipeline;
            hints.aggregators = 1;
            hints.buffer_size = 2 * window;
            hints.active_buffer_size = 0;
            SCOPED_TRACE(text_of(hints) + std::to_string(good) + (later ? " later" : ""));
            std::vector<std::byte> memory[2];
            Operations begun;
            for (int rank = 0; rank < 2; ++rank) {
              memory[rank].resize(file_bytes / 2);
              Access access;
              access.direction = direction;
              const Nest every_other = Nest::repeat(Nest::run(rank * 10, 10), file_bytes / 20, 20);
              access.file = Footprint({FilePattern(every_other)});
              access.memory.emplace_back(memory[rank].data(), Nest::run(0, file_bytes / 2));
              begun.push_back(ranks.begin(rank, std::move(access), hints));
            }
            ASSERT_TRUE(ranks.run());
            for (const auto& operation : begun) {
              ASSERT_TRUE(operation->error());
              EXPECT_EQ(operation->error()->error_number(), ENOSPC);
              EXPECT_EQ(operation->error()->offset(), log.failed_at);
            }
            EXPECT_LE(log.after_failure, later && pipeline == Pipeline::always ? 1 : 0);
          }
}

/// A rank abandons the file at any time before it begins a call: ranks in that call get an error.
TEST_F(Simulated, ARankThatLeavesIsNoticed) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    Random r{std::mt19937_64(seed)};
    Layout layout = draw_layout(r, 7);
    layout.ranks = std::max(layout.ranks, 2);
    const int leaver = static_cast<int>(r.in(0, layout.ranks - 1));
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(layout.ranks) + " ranks, " +
                 std::to_string(layout.per_node) + " a node, rank " + std::to_string(leaver));
    SimulatedRanks ranks(layout, views(), units());
    Hints hints;
    hints.active_buffer_size = 0;
    Requests requests = draw(r, layout.ranks);
    Operations begun;
    std::int64_t left_at = r.in(0, 60), turns = 0;
    for (int rank = 0; rank < layout.ranks; ++rank)
      if (rank != leaver)
        begun.push_back(ranks.begin(
            rank, requests[static_cast<std::size_t>(rank)].access(Direction::write), hints));
    const std::string path = "simulated";
    const auto over = [&] {
      if (turns++ == left_at) leave_for_good({ranks.comm(leaver), path, {}, 1}, 0);
      return turns > left_at && all_ended(begun);
    };
    ASSERT_TRUE(ranks.run(r, over)) << "nothing moves any more";
    for (const auto& operation : begun) {
      ASSERT_TRUE(operation->error());
      EXPECT_EQ(operation->error()->error_class(), ErrorClass::state);
    }
    model.expect_in(*shared);
  }
}

}  // namespace
