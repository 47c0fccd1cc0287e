#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "mpi/ballot.hpp"
#include "mpi/call.hpp"

using namespace penstock;

namespace {

/// Contributions of ranks 0, 1, ...: few different values, so that they often agree.
class Ranks {
 public:
  explicit Ranks(unsigned seed) : engine_(seed) {}

  std::vector<Ballot> some(int count) {
    std::vector<Ballot> ballots;
    for (int rank = 0; rank < count; ++rank) ballots.push_back(one(rank));
    return ballots;
  }
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(limit));
  }

 private:
  Ballot one(int rank) {
    Ballot ballot;
    ballot.first_rank = rank;
    ballot.call = 1 + below(3);
    ballot.common = static_cast<std::uint64_t>(below(2));
    if (below(3) == 0) {
      ballot.error_class = 1 + below(3);
      ballot.error_rank = rank;
    }
    if (below(5) == 0) ballot.gone = rank;
    ballot.endpoints = {static_cast<std::uint64_t>(below(8)), static_cast<std::uint64_t>(below(8))};
    ballot.demand.words = below(9);
    if (below(3) != 0) {
      ballot.demand.begin = below(100);
      ballot.demand.end = ballot.demand.begin + 1 + below(50);
      ballot.demand.bytes = ballot.demand.runs = 1;
    }
    return ballot;
  }

  std::mt19937_64 engine_;
};

using Span = std::span<const Ballot>;

Ballot joined_from_the_left(Span ballots) {
  Ballot all = ballots.front();
  for (const Ballot& next : ballots.subspan(1)) all.join(next);
  return all;
}

/// Joins pairs in any order, as MPI may.
Ballot joined_anyhow(Span ballots, Ranks& chance) {
  if (ballots.size() == 1) return ballots.front();
  const auto cut =
      static_cast<std::size_t>(1 + chance.below(static_cast<std::int64_t>(ballots.size()) - 1));
  Ballot all = joined_anyhow(ballots.first(cut), chance);
  all.join(joined_anyhow(ballots.subspan(cut), chance));
  return all;
}

void expect_same(const Ballot& a, const Ballot& b) {
  EXPECT_EQ(a.error_class, b.error_class);
  EXPECT_EQ(a.error_rank, b.error_rank);
  EXPECT_EQ(a.first_rank, b.first_rank);
  EXPECT_EQ(a.call, b.call);
  EXPECT_EQ(a.other_call_at, b.other_call_at);
  EXPECT_EQ(a.other_call, b.other_call);
  EXPECT_EQ(a.gone, b.gone);
  EXPECT_EQ(a.endpoints.idle, b.endpoints.idle);
  EXPECT_EQ(a.endpoints.vacant, b.endpoints.vacant);
  EXPECT_EQ(a.common, b.common);
  EXPECT_EQ(a.other_common_at, b.other_common_at);
  EXPECT_EQ(a.demand.words, b.demand.words);
  EXPECT_EQ(a.demand.begin, b.demand.begin);
  EXPECT_EQ(a.demand.end, b.demand.end);
  EXPECT_EQ(a.demand.bytes, b.demand.bytes);
  EXPECT_EQ(a.demand.ordered, b.demand.ordered);
}

TEST(Ballot, JoiningIsAssociative) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Ranks ranks(seed);
    const std::vector<Ballot> ballots = ranks.some(static_cast<int>(1 + ranks.below(9)));
    expect_same(joined_from_the_left(ballots), joined_anyhow(ballots, ranks));
    if (HasFailure()) return;
  }
}

TEST(Ballot, LanesAreThoseThatAreFreeOnAllRanks) {
  Ballot all, second;
  EXPECT_EQ(~all.endpoints.idle, 0u);  // a rank that opens nothing accepts all
  all.endpoints = {0b0110, 0b1001};
  second.endpoints = {0b0100, 0b1011};
  all.join(second);
  all.join(Ballot());
  EXPECT_EQ(all.endpoints.idle, 0b0100u);
  EXPECT_EQ(all.endpoints.vacant, 0b1001u);
}

TEST(Ballot, NamesTheLowestRankThatDiffers) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<Ballot> ballots = Ranks(seed).some(6);
    const Ballot all = joined_from_the_left(ballots);
    std::int64_t other_call = -1, other_common = -1, gravest = 0, failed = -1;
    for (int rank = 5; rank >= 0; --rank) {
      const Ballot& one = ballots[static_cast<std::size_t>(rank)];
      if (one.call != ballots[0].call) other_call = rank;
      if (one.common != ballots[0].common) other_common = rank;
      if (one.error_class > 0 && one.error_class >= gravest) {
        gravest = one.error_class;
        failed = rank;
      }
    }
    EXPECT_EQ(all.other_call_at, other_call);
    EXPECT_EQ(all.other_common_at, other_common);
    EXPECT_EQ(all.error_class, gravest);
    EXPECT_EQ(all.error_rank, failed);
    if (HasFailure()) return;
  }
}

TEST(Call, IsTheSameAfterItsCode) {
  for (const CallKind kind : {CallKind::none, CallKind::open, CallKind::wait, CallKind::truncate})
    for (const std::int64_t number : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 40})
      EXPECT_EQ(Call::from_code(Call{kind, number}.code()), (Call{kind, number}));
  EXPECT_EQ((Call{CallKind::write, 3}.text()), "write (call 3)");
  EXPECT_EQ((Call{CallKind::wait, 3}.text()), "wait for call 3");
  EXPECT_EQ((Call{CallKind::open}.text()), "open");
}

}  // namespace
