// Locks around what operations on simulated ranks read and write.
#include "observed_storage.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

/// Who reads, changes and writes back more than his own bytes holds an exclusive lock: other writes
/// hold a shared one, so that they do not come between. Nobody keeps a lock that he has no use for.
TEST_F(Simulated, WritesHoldALockAroundAllOfTheirBytes) {
  for (const Method method : {Method::direct, Method::sieved, Method::extended})
    for (unsigned seed = 1; seed <= 40; ++seed) {
      Random r{std::mt19937_64(seed)};
      Observed::Log log;
      SimulatedRanks ranks(
          {1, 1}, [&](int) { return std::make_unique<Observed>(shared, log); }, units());
      Hints hints = unbuffered(method, r.in(16, 400));
      hints.sieve_writes = seed % 2 == 0 ? SieveWrites::always : SieveWrites::automatic;
      Requests requests = draw(r, 1);
      Operations begun;
      begin_all(ranks, requests, Direction::write, hints, begun);
      ASSERT_TRUE(ranks.run());
      expect_no_errors(begun);
      for (const Observed::Write& write : log.writes) {
        ASSERT_TRUE(write.lock) << "seed " << seed << ", no lock around offset "
                                << write.range.begin;
        if (method == Method::direct) {
          ASSERT_EQ(*write.lock, LockKind::shared);
        }
      }
      EXPECT_TRUE(log.reads_under_no_exclusive_lock.empty())
          << "seed " << seed << ": holes are read, and written back, under no exclusive lock";
      EXPECT_LE(log.most_locks, 1u) << "seed " << seed << ", windows are written one by one";
    }
}

/// Another lock within that of an atomic access would give a part of it back with its own end.
TEST_F(Simulated, AtomicAccessesHoldOneLockFromTheirBeginToTheirEnd) {
  for (const Method method : {Method::direct, Method::sieved})
    for (const Direction direction : {Direction::read, Direction::write})
      for (unsigned seed = 1; seed <= 20; ++seed) {
        Random r{std::mt19937_64(seed)};
        Observed::Log log;
        SimulatedRanks ranks(
            {1, 1}, [&](int) { return std::make_unique<Observed>(shared, log); }, units());
        Requests requests = draw(r, 1);
        Access access = requests[0].access(direction);
        access.atomic = true;
        const std::size_t wanted = access.file.empty() ? 0 : 1;
        const auto operation = ranks.begin(0, std::move(access), unbuffered(method, 200), {}, {},
                                           Company::independent);
        ASSERT_TRUE(ranks.run());
        expect_no_errors({operation});
        EXPECT_EQ(log.locks, wanted) << "seed " << seed;
        for (const Observed::Write& write : log.writes)
          EXPECT_EQ(write.lock, LockKind::exclusive) << "offset " << write.range.begin;
      }
}

/// Runs far from each other, each longer than what one lock covers.
TEST_F(Simulated, DirectWritesOfManyPartsAreLockedAsFarAsTheyGo) {
  constexpr std::int64_t run = 3 << 20, runs = 4;
  std::vector<std::byte> bytes(run * runs, std::byte{1});
  shared = make_shared_storage(2 * run * runs);
  Observed::Log log;
  FileUnits all;
  all.all = {0, 2 * run * runs};
  SimulatedRanks ranks(
      {1, 1}, [&](int) { return std::make_unique<Observed>(shared, log); }, all);
  Access access;
  access.direction = Direction::write;
  access.file = Footprint({FilePattern(Nest::repeat(Nest::run(0, run), runs, 2 * run))});
  access.memory.emplace_back(bytes.data(), Nest::run(0, run * runs));
  const auto operation = ranks.begin(0, std::move(access), unbuffered(Method::direct, 4096));
  ASSERT_TRUE(ranks.run());
  expect_no_errors({operation});
  EXPECT_EQ(log.writes.size(), static_cast<std::size_t>(runs));
  for (const Observed::Write& write : log.writes)
    EXPECT_TRUE(write.lock) << "no lock around offset " << write.range.begin;
}

/// Requests are carried out when somebody asks whether they are done.
class ObservedLater final : public Observed {
 public:
  using Observed::Observed;
  bool completes_later() const override { return true; }
  void submit(std::span<IoRequest>) override {}
  bool poll(IoRequest& request) override {
    wait(request);
    return true;
  }
  void wait(IoRequest& request) override {
    if (request.done) return;
    request.result = move_some(request.direction, request.memory, request.offset);
    request.done = true;
  }
};

/// Also where they go on after the call of storage that began them.
TEST_F(Simulated, WritesHoldTheirLocksToTheirEnd) {
  for (const std::int64_t budget : {0, 10000})
    for (unsigned seed = 1; seed <= 20; ++seed) {
      Random r{std::mt19937_64(seed)};
      Observed::Log log;
      SimulatedRanks ranks(
          {1, 1}, [&](int) { return std::make_unique<ObservedLater>(shared, log); }, units());
      Hints hints = unbuffered(seed % 2 == 0 ? Method::sieved : Method::extended, 400);
      hints.active_buffer_size = budget;
      Requests requests = draw(r, 1);
      Operations begun;
      begin_all(ranks, requests, Direction::write, hints, begun);
      ASSERT_TRUE(ranks.run());
      expect_no_errors(begun);
      ranks.file(0).io.buffered->drain();
      for (const Observed::Write& write : log.writes)
        ASSERT_TRUE(write.lock) << "seed " << seed << ", offset " << write.range.begin;
    }
}

}  // namespace
