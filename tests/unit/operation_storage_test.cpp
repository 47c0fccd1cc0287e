// What operations on simulated ranks ask of the storage: memory that suits O_DIRECT, nothing that
// was in a buffer before.
#include "observed_storage.hpp"
#include "storage/fault.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

/// O_DIRECT moves whole blocks between the device and memory: large windows lie in memory as they
/// do in the file.
TEST_F(Simulated, LargeWindowsSuitDirectStorage) {
  constexpr std::int64_t page = 4096, bytes = 2 << 20, odd = 77;
  shared = make_shared_storage(bytes + odd);
  FileUnits all;
  all.all = {odd, bytes + odd};
  for (const Exchange exchange : {Exchange::node, Exchange::sparse, Exchange::step4}) {
    Observed::Log log;
    SimulatedRanks ranks(
        {2, 2}, [&](int) { return std::make_unique<Observed>(shared, log); }, all);
    Hints hints = unbuffered(Method::extended, 600'000);
    hints.exchange = exchange;
    hints.aggregators = 2;
    std::vector<std::byte> memory(bytes / 2, std::byte{1});
    Operations begun;
    for (int rank = 0; rank < 2; ++rank) {
      Access access;
      access.direction = Direction::write;
      const Nest every_other = Nest::repeat(Nest::run(odd + rank * 1024, 1024), bytes / 2048, 2048);
      access.file = Footprint({FilePattern(every_other)});
      access.memory.emplace_back(memory.data(), Nest::run(0, bytes / 2));
      begun.push_back(ranks.begin(rank, std::move(access), hints));
    }
    ASSERT_TRUE(ranks.run());
    expect_no_errors(begun);
    ASSERT_GE(log.writes.size(), 4u);
    for (const Observed::Write& write : log.writes)
      EXPECT_EQ(static_cast<std::int64_t>(write.address % page), write.range.begin % page)
          << "offset " << write.range.begin;
  }
}

TEST_F(Simulated, HolesBeyondTheEndOfTheFileBecomeZeros) {
  for (const Exchange exchange : {Exchange::node, Exchange::sparse, Exchange::step4})
    for (const std::int64_t length : {0, 1000, 1500}) {
      shared = make_shared_storage(length);
      Observed::Log log;
      SimulatedRanks ranks(
          {2, 2}, [&](int) { return std::make_unique<Observed>(shared, log); }, units());
      Hints hints = unbuffered(Method::extended, 4000);
      hints.exchange = exchange;
      hints.sieve_writes = SieveWrites::always;
      std::vector<std::byte> ones(file_bytes, std::byte{1});
      const auto write = [&](std::int64_t step) {
        Operations begun;
        for (int rank = 0; rank < 2; ++rank) {
          Access access;
          access.direction = Direction::write;
          const Nest nest = Nest::repeat(Nest::run(500 + rank * 1000, 10), 1000 / step, step);
          access.file = Footprint({FilePattern(nest)});
          access.memory.emplace_back(ones.data(), Nest::run(0, nest.size()));
          begun.push_back(ranks.begin(rank, std::move(access), hints));
        }
        ASSERT_TRUE(ranks.run());
        expect_no_errors(begun);
      };
      write(10);  // fills the staging memory with ones
      ASSERT_EQ(shared->resize(length), 0);
      write(20);
      std::vector<std::byte> there(2490);
      ASSERT_EQ(read_fully(*shared, there, 0).bytes, 2490);
      for (std::int64_t i = std::max<std::int64_t>(length, 500); i < 2490; ++i)
        ASSERT_EQ(static_cast<int>(there[static_cast<std::size_t>(i)]), i % 20 < 10 ? 1 : 0)
            << "offset " << i << ", file of " << length;
    }
}

/// A failed read must not return what was read before.
TEST_F(Simulated, AFailedReadTellsNothingOfOtherBytes) {
  for (const Exchange exchange : {Exchange::node, Exchange::sparse, Exchange::step4}) {
    std::vector<std::byte> secret(3000, std::byte{0x5e});
    ASSERT_EQ(write_fully(*shared, secret, 0).bytes, 3000);
    SimulatedRanks ranks(
        {2, 2}, [&](int) { return inject_faults(view_of(shared), "read@8+=EIO", 0); }, units());
    Hints hints = unbuffered(Method::extended, 800);
    hints.exchange = exchange;
    std::vector<std::byte> into[2];
    const auto read = [&](std::int64_t begin) {
      Operations begun;
      for (int rank = 0; rank < 2; ++rank) {
        into[rank].assign(1500, std::byte{0x11});
        Access access;
        access.file =
            Footprint({FilePattern(Nest::repeat(Nest::run(begin + rank * 10, 10), 150, 20))});
        access.memory.emplace_back(into[rank].data(), Nest::run(0, 1500));
        begun.push_back(ranks.begin(rank, std::move(access), hints));
      }
      EXPECT_TRUE(ranks.run());
      return begun;
    };
    bool failed = false;
    for (int i = 0; i < 40 && !failed; ++i) {
      // The second half has no 0x5e, and is not read before.
      failed = read(i % 2 == 0 ? 0 : 3000)[0]->error().has_value();
      if (i % 2 == 0) continue;
      for (const auto& bytes : into)
        EXPECT_EQ(std::ranges::count(bytes, std::byte{0x5e}), 0) << "read " << i;
    }
    EXPECT_TRUE(failed);
  }
}

/// Chunks are changed as a whole: what is pending of one is all of it.
TEST_F(Simulated, WhatIsPendingOfAChunkIsTheWholeChunk) {
  Gate gate;
  FileUnits chunks = units();
  chunks.indivisible = 100;
  SimulatedRanks ranks(
      {1, 1}, [&](int) { return std::make_unique<HeldUp>(shared, gate); }, chunks);
  Hints hints;
  hints.buffer_size = 1000;
  hints.active_buffer_size = 10000;
  std::vector<std::byte> bytes(30, std::byte{1});
  const auto operation = ranks.begin(0, write_of({140, 170}, bytes), hints);
  EXPECT_TRUE(ranks.run());
  expect_no_errors({operation});
  EXPECT_EQ(ranks.file(0).io.buffered->pending_hull(), (Extent{100, 200}));
  gate.open();
  ranks.file(0).io.buffered->drain();
}

/// Another rank's write to bytes that this rank has buffered comes after them.
TEST_F(Simulated, OthersDoNotOvertakeWhatIsBuffered) {
  Gate gate;
  const auto storage_of = [&](int rank) -> std::unique_ptr<Storage> {
    if (rank == 0) return std::make_unique<HeldUp>(shared, gate);
    return view_of(shared);
  };
  SimulatedRanks ranks({2, 2}, storage_of, units());
  Hints hints;
  hints.method = Method::direct;
  hints.active_buffer_size = 10000;
  std::vector<std::byte> old(100, std::byte{1}), lower(50, std::byte{2}), upper(50, std::byte{3});
  Operations begun{ranks.begin(0, write_of({0, 100}, old), hints),
                   ranks.begin(1, write_of({200, 250}, upper), hints)};
  ASSERT_TRUE(ranks.run());
  begun.push_back(ranks.begin(0, write_of({0, 50}, lower), hints));
  begun.push_back(ranks.begin(1, write_of({50, 100}, upper), hints));
  Random r{std::mt19937_64(1)};
  int turns = 0;
  ranks.run(r, [&] { return ++turns == 1000; });  // as far as it goes
  if (begun.back()->has_ended()) ranks.file(1).io.buffered->drain();
  gate.open();
  ASSERT_TRUE(ranks.run());
  expect_no_errors(begun);
  for (int rank = 0; rank < 2; ++rank) ranks.file(rank).io.buffered->drain();
  std::vector<std::byte> there(100);
  ASSERT_EQ(read_fully(*shared, there, 0).bytes, 100);
  EXPECT_EQ(std::ranges::count(there, std::byte{2}), 50);
  EXPECT_EQ(std::ranges::count(there, std::byte{3}), 50);
}

/// Where ranks overlap, each element is entirely from one rank.
TEST_F(Simulated, BufferedWritesCutNoElement) {
  constexpr std::int64_t grain = 24, bytes = grain << 19, begin = 100;
  shared = make_shared_storage(begin + bytes);
  Observed::Log log;
  FileUnits elements;
  elements.all = {begin, begin + bytes};
  elements.grain = grain;
  SimulatedRanks ranks(
      {1, 1}, [&](int) { return std::make_unique<Observed>(shared, log); }, elements);
  Hints hints;
  hints.method = Method::direct;
  hints.active_buffer_size = 2 * bytes;
  std::vector<std::byte> memory(bytes, std::byte{1});
  const auto operation = ranks.begin(0, write_of(elements.all, memory), hints);
  ASSERT_TRUE(ranks.run());
  expect_no_errors({operation});
  ranks.file(0).io.buffered->drain();
  EXPECT_GT(log.writes.size(), 1u);
  for (const Observed::Write& write : log.writes) EXPECT_EQ((write.range.begin - begin) % grain, 0);
}

/// So do windows of one rank.
TEST_F(Simulated, SievedWritesCutNoElement) {
  constexpr std::int64_t grain = 24, begin = 100;
  Observed::Log log;
  FileUnits elements;
  elements.all = {begin, begin + 200 * grain};
  elements.grain = grain;
  for (const std::int64_t budget : {0, 100000}) {
    SimulatedRanks ranks(
        {1, 1}, [&](int) { return std::make_unique<Observed>(shared, log); }, elements);
    Hints hints = unbuffered(Method::sieved, 100);
    hints.active_buffer_size = budget;
    std::vector<std::byte> memory(200 * grain, std::byte{1});
    const auto operation = ranks.begin(0, write_of(elements.all, memory), hints);
    ASSERT_TRUE(ranks.run());
    expect_no_errors({operation});
    ranks.file(0).io.buffered->drain();
  }
  EXPECT_GT(log.writes.size(), 50u);
  for (const Observed::Write& write : log.writes) EXPECT_EQ((write.range.begin - begin) % grain, 0);
}

/// Requests that are under way together have no order.
TEST_F(Simulated, PartsThatOverlapAreNotUnderWayTogether) {
  struct Later final : StorageView {
    using StorageView::StorageView;
    bool completes_later() const override { return true; }
    void submit(std::span<IoRequest> requests) override {
      for (std::size_t i = 1; i < requests.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
          EXPECT_TRUE(intersect(range_of(requests[i]), range_of(requests[k])).empty());
      StorageView::submit(requests);
    }
    static Extent range_of(const IoRequest& request) {
      return {request.offset, request.offset + size_of(request.memory)};
    }
  };
  for (const std::int64_t budget : {0, 10000}) {
    SimulatedRanks ranks(
        {1, 1}, [&](int) { return std::make_unique<Later>(shared); }, units());
    Hints hints;
    hints.method = Method::direct;
    hints.active_buffer_size = budget;
    std::vector<std::byte> lower(100, std::byte{1}), upper(100, std::byte{2});
    Access access = write_of({0, 100}, lower), other = write_of({50, 150}, upper);
    access.file = Footprint({access.file.parts()[0], other.file.parts()[0]});
    access.memory.push_back(other.memory[0]);
    const auto operation = ranks.begin(0, std::move(access), hints);
    ASSERT_TRUE(ranks.run());
    expect_no_errors({operation});
    ranks.file(0).io.buffered->drain();
    std::vector<std::byte> there(150);
    ASSERT_EQ(read_fully(*shared, there, 0).bytes, 150);
    EXPECT_EQ(std::ranges::count(there, std::byte{2}), 100) << "the later part";
  }
}

/// Where nothing is queued that would give some back, a window does not wait for room.
TEST_F(Simulated, BufferedWritesEndWhereSomethingElseHasAllTheRoom) {
  SimulatedRanks ranks({2, 2}, views(), units());
  Hints hints = unbuffered(Method::extended, 4096);
  hints.exchange = Exchange::node;
  hints.active_buffer_size = 10000;
  std::vector<ActiveBuffer::Memory> held;
  std::vector<std::byte> memory(1000, std::byte{1});
  Operations begun;
  for (int rank = 0; rank < 2; ++rank) {
    held.push_back(ranks.file(rank).background.memory().take(10000, 10000));
    begun.push_back(ranks.begin(rank, write_of({rank * 1000, rank * 1000 + 1000}, memory), hints));
  }
  ASSERT_TRUE(ranks.run());
  expect_no_errors(begun);
  for (int rank = 0; rank < 2; ++rank) ranks.file(rank).io.buffered->drain();
  std::vector<std::byte> there(2000);
  ASSERT_EQ(read_fully(*shared, there, 0).bytes, 2000);
  EXPECT_EQ(std::ranges::count(there, std::byte{1}), 2000);
}

/// Windows of the node exchange lie in common memory, which counts for the rank that owns them.
TEST_F(Simulated, StagingMemoryOfANodeCounts) {
  for (const Exchange exchange : {Exchange::node, Exchange::sparse}) {
    SimulatedRanks ranks({2, 2}, views(), units());
    Hints hints = unbuffered(Method::extended, 4096);
    hints.exchange = exchange;
    hints.aggregators = 1;
    std::vector<std::byte> memory(1500);
    Operations begun;
    for (int rank = 0; rank < 2; ++rank) {
      Access access;
      access.direction = Direction::write;
      access.file = Footprint({FilePattern(Nest::repeat(Nest::run(rank * 10, 10), 150, 20))});
      access.memory.emplace_back(memory.data(), Nest::run(0, 1500));
      begun.push_back(ranks.begin(rank, std::move(access), hints));
    }
    ASSERT_TRUE(ranks.run());
    expect_no_errors(begun);
    const std::int64_t peak = begun[0]->take_counts().staging_peak;
    EXPECT_GE(peak, 1000);
    EXPECT_LE(peak, 2 * hints.buffer_size);
  }
}

}  // namespace
