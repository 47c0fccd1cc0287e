// Ranks on hosts whose page caches do not agree: what one host has cached stays as it is, and what
// it writes goes to the server in whole pages.
#include "storage/client_caches.hpp"
#include "observed_storage.hpp"
#include "storage/fault.hpp"
#include "support/own_caches.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

std::byte byte_at(Storage& storage, std::int64_t offset) {
  std::byte byte{};
  EXPECT_EQ(storage.read_some({&byte, 1}, offset), 1);
  return byte;
}

void put(Storage& storage, std::int64_t offset, std::byte byte) {
  EXPECT_EQ(storage.write_some({&byte, 1}, offset), 1);
}

std::unique_ptr<Storage> past_own_cache(const std::shared_ptr<Storage>& server,
                                        const OwnCache& cache, bool& exact) {
  return go_past_cache(with_own_cache(server, cache), cache.past == PastCacheAccess::early, exact);
}

/// A precondition of the other tests.
TEST(OwnCaches, ShowWhatWasThereAndWriteWholePages) {
  const std::shared_ptr<Storage> server = make_shared_storage(1000);
  const auto a = with_own_cache(server, {}), b = with_own_cache(server, {});
  EXPECT_EQ(byte_at(*b, 5), std::byte{0});
  put(*a, 5, std::byte{1});
  EXPECT_EQ(byte_at(*server, 5), std::byte{0});
  a->sync();
  EXPECT_EQ(byte_at(*server, 5), std::byte{1});
  EXPECT_EQ(byte_at(*b, 5), std::byte{0}) << "b has it cached";
  put(*b, 6, std::byte{2});
  b->sync();
  EXPECT_EQ(byte_at(*server, 5), std::byte{0}) << "b has written its page back";
  a->forget_cached();
  EXPECT_EQ(byte_at(*a, 6), std::byte{2});
}

/// Hosts whose accesses may have any alignment, or must be aligned, or go through the cache.
class PastOwnCaches : public testing::TestWithParam<PastCacheAccess> {};

TEST_P(PastOwnCaches, EachReadGetsWhatWasWrittenBefore) {
  const std::shared_ptr<Storage> server = make_shared_storage(1000);
  bool exact = false;
  const OwnCache cache{64, GetParam()};
  const auto a = past_own_cache(server, cache, exact);
  const auto b = past_own_cache(server, cache, exact);
  EXPECT_EQ(exact, GetParam() != PastCacheAccess::none);
  for (int i = 1; i < 50; ++i) {
    put(i % 2 == 0 ? *a : *b, 7 * i, static_cast<std::byte>(i));
    ASSERT_EQ(byte_at(i % 2 == 0 ? *b : *a, 7 * i), static_cast<std::byte>(i));
    for (int k = 1; k <= i; ++k) {
      ASSERT_EQ(byte_at(*a, 7 * k), static_cast<std::byte>(k));
      ASSERT_EQ(byte_at(*b, 7 * k), static_cast<std::byte>(k));
    }
  }
  put(*a, 2000, std::byte{9});
  EXPECT_EQ(byte_at(*b, 2000), std::byte{9}) << "b had an older size";
}

TEST_P(PastOwnCaches, RequestsThatAreUnderWayTogetherToo) {
  const std::shared_ptr<Storage> server = make_shared_storage(100);
  bool exact = false;
  const OwnCache cache{64, GetParam()};
  const auto a = past_own_cache(server, cache, exact);
  const auto b = past_own_cache(server, cache, exact);
  EXPECT_EQ(byte_at(*b, 3), std::byte{0});
  std::byte out[2] = {std::byte{3}, std::byte{4}}, in[2] = {};
  Submission writes(*a), reads(*b);
  writes.add(Direction::write, {&out[0], 1}, 3);
  writes.add(Direction::write, {&out[1], 1}, 400);
  writes.run();
  reads.add(Direction::read, {&in[0], 1}, 3);
  reads.add(Direction::read, {&in[1], 1}, 400);
  reads.run();
  EXPECT_EQ(reads.first_failure(), reads.size());
  EXPECT_EQ(in[0], std::byte{3});
  EXPECT_EQ(in[1], std::byte{4});
}

INSTANTIATE_TEST_SUITE_P(Kinds, PastOwnCaches,
                         testing::Values(PastCacheAccess::any, PastCacheAccess::aligned,
                                         PastCacheAccess::none, PastCacheAccess::early));

/// Written is what the server has: a sync that fails is the write's failure.
TEST(OwnCaches, AWriteThatDoesNotGetToTheServerHasFailed) {
  bool exact = true;
  const auto storage = go_past_cache(
      inject_faults(with_own_cache(make_shared_storage(1000), {64, PastCacheAccess::none}),
                    "sync@0=EIO", 0),
      false, exact);
  EXPECT_FALSE(exact);
  std::byte byte{1};
  EXPECT_EQ(storage->write_some({&byte, 1}, 5), -EIO);
  EXPECT_EQ(storage->write_some({&byte, 1}, 5), 1);
}

struct SeveralHosts : Simulated {
  SimulatedRanks::MakeStorage hosts(const OwnCache& cache) {
    return [this, cache](int) {
      bool exact = false;
      return past_own_cache(shared, cache, exact);
    };
  }
};

/// By what accesses are: past the cache, or through it, where hosts write whole pages back.
struct SeveralHostsThat : SeveralHosts, testing::WithParamInterface<PastCacheAccess> {};

/// Collective calls, buffered or not, with holes that are read and written back.
TEST_P(SeveralHostsThat, AgreeWithTheModel) {
  constexpr std::int64_t page = 64;
  for (unsigned seed = 1; seed <= times_cases * 30; ++seed) {
    Random r{std::mt19937_64(seed)};
    const Layout layout = draw_layout(r, 6);
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedRanks ranks(layout, hosts({page, GetParam()}), units());
    for (int rank = 0; rank < ranks.size(); ++rank)
      ranks.file(rank).machine.page = GetParam() == PastCacheAccess::none ? page : 0;
    for (int call = 0; call < 5; ++call) {
      Hints hints = draw_hints(r, layout);
      if (GetParam() == PastCacheAccess::none && r.in(0, 3) == 0) hints.method = Method::direct;
      if (r.in(0, 2) == 0) hints.domains = DomainRule::block_cyclic;
      hints.active_buffer_size = r.in(0, 1) * 5000;
      const Direction direction = r.in(0, 1) == 0 ? Direction::read : Direction::write;
      Requests requests = draw(r, layout.ranks);
      Operations begun;
      begin_all(ranks, requests, direction, hints, begun);
      ASSERT_TRUE(ranks.run(r, [&] { return all_ended(begun); })) << "nothing moves any more";
      expect_no_errors(begun);
      if (direction == Direction::write) model.write(requests);
      else
        for (RankRequest& request : requests) model.expect_in(request);
      if (HasFailure()) return;
    }
    for (int rank = 0; rank < ranks.size(); ++rank) ranks.file(rank).io.buffered->drain();
    model.expect_in(*shared);
    if (HasFailure()) return;
  }
}

/// Other bytes of a page that another host has buffered are written after it: that host writes the
/// whole page.
TEST_F(SeveralHosts, DoNotOvertakeEachOtherWithinAPage) {
  constexpr std::int64_t page = 64;
  Gate gate;
  const auto host = [&](int rank) {
    bool exact = false;
    std::shared_ptr<Storage> server = shared;
    if (rank == 0) server = std::make_shared<HeldUp>(shared, gate);
    return past_own_cache(server, {page, PastCacheAccess::none}, exact);
  };
  SimulatedRanks ranks({2, 2}, host, units());
  for (int rank = 0; rank < 2; ++rank) ranks.file(rank).machine.page = page;
  Hints hints = unbuffered(Method::extended, 1000);
  hints.aggregators = 2;
  hints.active_buffer_size = 10000;
  std::vector<std::byte> first(10, std::byte{1}), second(10, std::byte{2});
  // Two pages are a rank's each, one alone is the last aggregator's.
  Operations begun{ranks.begin(0, write_of({page, page + 10}, first), hints),
                   ranks.begin(1, write_of({2 * page, 2 * page + 10}, first), hints)};
  ASSERT_TRUE(ranks.run());
  for (int rank = 0; rank < 2; ++rank) {
    Access access = write_of({page + 20, page + 30}, second);
    if (rank == 0) access = Access{.direction = Direction::write};
    begun.push_back(ranks.begin(rank, std::move(access), hints));
  }
  Random r{std::mt19937_64(1)};
  int turns = 0;
  ranks.run(r, [&] { return ++turns == 1000; });  // as far as it goes
  if (begun.back()->has_ended()) ranks.file(1).io.buffered->drain();
  gate.open();
  ASSERT_TRUE(ranks.run());
  expect_no_errors(begun);
  for (int rank = 0; rank < 2; ++rank) ranks.file(rank).io.buffered->drain();
  EXPECT_EQ(byte_at(*shared, page), std::byte{1});
  EXPECT_EQ(byte_at(*shared, page + 20), std::byte{2});
}

INSTANTIATE_TEST_SUITE_P(Accesses, SeveralHostsThat,
                         testing::Values(PastCacheAccess::any, PastCacheAccess::none,
                                         PastCacheAccess::early));

}  // namespace
