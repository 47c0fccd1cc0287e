// The engine on simulated ranks, which progress in random order: exchanges, operations in flight
// together, independent ones.
#include <map>
#include <set>

#include "operations_support.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

TEST_F(Simulated, ExchangesAgreeWithTheModelInAnyOrder) {
  for (unsigned seed = 1; seed <= times_cases * 400; ++seed) {
    Random r{std::mt19937_64(seed)};
    const Layout layout = draw_layout(r, 7);
    const Hints hints = draw_hints(r, layout);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(layout.ranks) + " ranks, " +
                 std::to_string(layout.per_node) + " a node, " + text_of(hints));
    SimulatedRanks ranks(layout, views(), units());
    Requests out = draw(r, layout.ranks), in = draw(r, layout.ranks);
    Operations begun;
    begin_all(ranks, out, Direction::write, hints, begun);
    begin_all(ranks, in, Direction::read, hints, begun);
    ASSERT_TRUE(ranks.run(r, [&] { return all_ended(begun); })) << "nothing moves any more";
    expect_no_errors(begun);
    model.write(out);
    model.expect_in(*shared);
    for (RankRequest& request : in) model.expect_in(request);
    ASSERT_EQ(ranks.left_over(), 0u) << "messages that nobody has received";
    if (HasFailure()) return;
  }
}

TEST_F(Simulated, TheSameWithAThreadForEachRank) {
  for (unsigned seed = 1; seed <= times_cases * 40; ++seed) {
    Random r{std::mt19937_64(seed)};
    const Layout layout = draw_layout(r, 6);
    const Hints hints = draw_hints(r, layout);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + text_of(hints));
    SimulatedRanks ranks(layout, views(), units());
    Requests out = draw(r, layout.ranks), in = draw(r, layout.ranks);
    Operations begun;
    begin_all(ranks, out, Direction::write, hints, begun);
    begin_all(ranks, in, Direction::read, hints, begun);
    ranks.run_in_threads();
    expect_no_errors(begun);
    model.write(out);
    model.expect_in(*shared);
    for (RankRequest& request : in) model.expect_in(request);
    if (HasFailure()) return;
  }
}

/// A call that all ranks make.
struct Call {
  Requests requests;
  Hints hints;
  Direction direction;
  std::optional<Background> background;

  Call(Random& r, const Layout& layout)
      : requests(draw(r, layout.ranks)), hints(draw_hints(r, layout)) {
    hints.active_buffer_size = r.in(0, 2) * 5000;
    direction = r.in(0, 2) == 0 ? Direction::read : Direction::write;
    if (r.in(0, 3) != 0) background = Background::storage;
  }
};

/// A step of a rank's script: ranks begin the calls in order, and wait for each at some time later.
struct Step {
  bool waits;
  std::size_t call;
};
using Script = std::deque<Step>;

Script draw_script(Random& r, std::size_t calls) {
  Script script;
  std::vector<std::size_t> open;
  for (std::size_t next = 0; next < calls || !open.empty();) {
    const auto choice = static_cast<std::size_t>(
        r.in(next < calls ? -1 : 0, static_cast<std::int64_t>(open.size()) - 1));
    if (choice < open.size()) {
      script.push_back({true, open[choice]});
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(choice));
    } else {
      script.push_back({false, next});
      open.push_back(next++);
    }
  }
  return script;
}

/// Runs a rank's steps up to the first that has to wait. True: the script has ended.
bool follow(Script& script, SimulatedRanks& ranks, std::size_t rank, std::vector<Call>& calls,
            Operations& begun) {
  for (; !script.empty(); script.pop_front()) {
    const auto [waits, number] = script.front();
    if (waits && !begun[number]->has_ended()) return false;
    if (waits) continue;
    Call& call = calls[number];
    begun.push_back(ranks.begin(static_cast<int>(rank), call.requests[rank].access(call.direction),
                                call.hints, call.background));
  }
  return true;
}

/// One rank begins all and waits in another order than the next, which waits for each at once.
TEST_F(Simulated, OperationsInFlightEndInAnyOrder) {
  for (unsigned seed = 1; seed <= times_cases * 150; ++seed) {
    Random r{std::mt19937_64(seed)};
    const Layout layout = draw_layout(r, 5);
    SimulatedRanks ranks(layout, views(), units());
    std::vector<Call> calls;
    for (int call = 0; call < 4; ++call) calls.emplace_back(r, layout);
    std::vector<Script> scripts;
    for (int rank = 0; rank < layout.ranks; ++rank) scripts.push_back(draw_script(r, calls.size()));
    std::vector<Operations> begun(scripts.size());
    const auto over = [&] {
      bool all = true;
      for (std::size_t rank = 0; rank < scripts.size(); ++rank)
        all = follow(scripts[rank], ranks, rank, calls, begun[rank]) && all;
      return all;
    };
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_TRUE(ranks.run(r, over)) << "nothing moves any more";
    for (const Operations& operations : begun) expect_no_errors(operations);
    for (Call& call : calls) {
      if (call.direction == Direction::write) model.write(call.requests);
      else
        for (RankRequest& request : call.requests) model.expect_in(request);
    }
    for (int rank = 0; rank < ranks.size(); ++rank) ranks.file(rank).io.buffered->drain();
    model.expect_in(*shared);
    if (HasFailure()) return;
  }
}

TEST_F(Simulated, ToBeginNeedsNobodyElse) {
  Random r{std::mt19937_64(5)};
  const Layout layout{4, 2};
  SimulatedRanks ranks(layout, views(), units());
  Hints hints;
  hints.active_buffer_size = 0;
  std::vector<Requests> requests;
  Operations begun;
  for (int call = 0; call < 40; ++call) requests.push_back(draw(r, layout.ranks));
  // More than there are meeting slots.
  for (Requests& all : requests) {
    begun.push_back(ranks.begin(0, all[0].access(Direction::write), hints));
    for (const auto& operation : begun) EXPECT_FALSE(operation->advance());
  }
  for (Requests& all : requests)
    for (int rank = 1; rank < layout.ranks; ++rank)
      begun.push_back(
          ranks.begin(rank, all[static_cast<std::size_t>(rank)].access(Direction::write), hints));
  ASSERT_TRUE(ranks.run());
  expect_no_errors(begun);
  for (Requests& all : requests) model.write(all);
  model.expect_in(*shared);
}

/// If any rank may win, each wanted byte is from one of the ranks that wrote it.
TEST_F(Simulated, AnyRankMayWinWhereAllSaySo) {
  for (unsigned seed = 1; seed <= times_cases * 150; ++seed) {
    Random r{std::mt19937_64(seed)};
    const Layout layout = draw_layout(r, 6);
    const Hints hints = draw_hints(r, layout);
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + text_of(hints));
    shared = make_shared_storage(file_bytes);
    SimulatedRanks ranks(layout, views(), units());
    Requests requests = draw(r, layout.ranks);
    Operations begun;
    for (int rank = 0; rank < layout.ranks; ++rank) {
      Access access = requests[static_cast<std::size_t>(rank)].access(Direction::write);
      access.overlap = Overlap::unspecified;
      begun.push_back(ranks.begin(rank, std::move(access), hints));
    }
    ASSERT_TRUE(ranks.run(r, [&] { return all_ended(begun); })) << "nothing moves any more";
    expect_no_errors(begun);
    std::map<std::int64_t, std::vector<std::byte>> candidates;
    for (RankRequest& request : requests)
      for (std::size_t i = 0; i < request.file.size(); ++i)
        candidates[request.file[i]].push_back(request.at(i));
    std::vector<std::byte> there(file_bytes);
    read_fully(*shared, there, 0);
    for (std::int64_t i = 0; i < file_bytes; ++i) {
      const std::byte found = there[static_cast<std::size_t>(i)];
      const auto wanted = candidates.find(i);
      if (wanted == candidates.end()) ASSERT_EQ(found, std::byte{0}) << "at offset " << i;
      else ASSERT_TRUE(std::ranges::count(wanted->second, found) > 0) << "at offset " << i;
    }
  }
}

/// Of patterns that cannot be compared, the bytes are counted.
TEST_F(Simulated, TheHigherRankHasTheOneByteThatTwoIrregularRequestsShare) {
  constexpr std::int64_t runs = 100000;
  shared = make_shared_storage(runs * 20);
  std::vector<std::int64_t> places[2];
  for (std::int64_t i = 0; i < runs; ++i) {
    places[0].push_back(i * 20 + i % 3 * 2 + 1);
    places[1].push_back(i * 20 + i % 5 * 2);
  }
  const std::int64_t common = places[1].back() = places[0].back();
  FileUnits bytes;
  bytes.all = {0, runs * 20};
  SimulatedRanks ranks({2, 0}, views(), bytes);
  Hints hints = unbuffered(Method::extended, 1 << 20);
  hints.exchange = Exchange::sparse;
  hints.aggregators = 2;  // the byte is in the domain of rank 1, which has its own bytes first
  std::vector<std::byte> memory[2];
  Operations begun;
  for (int rank = 0; rank < 2; ++rank) {
    memory[rank].assign(runs, static_cast<std::byte>(rank + 1));
    Access access;
    access.direction = Direction::write;
    access.file = Footprint({FilePattern(Nest::list(Nest::run(0, 1), places[rank]))});
    access.memory.emplace_back(memory[rank].data(), Nest::run(0, runs));
    begun.push_back(ranks.begin(rank, std::move(access), hints));
  }
  ASSERT_TRUE(ranks.run());
  expect_no_errors(begun);
  std::byte there{};
  ASSERT_EQ(shared->read_some({&there, 1}, common), 1);
  EXPECT_EQ(there, std::byte{2});
}

/// Short descriptors are put into the node's memory, longer ones are sent.
TEST_F(Simulated, DescriptorsThatJustFitAndThatJustDoNotAreWhole) {
  std::int64_t least = Team::descriptor_words, longest = least;
  for (std::int64_t runs = Team::descriptor_words - 7; runs < Team::descriptor_words; ++runs) {
    SimulatedRanks ranks({2, 2}, views(), units());
    Hints hints = unbuffered(Method::extended, 4096);
    hints.exchange = Exchange::node;
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < runs; ++i) places.push_back(i * 12 + i % 3);
    std::vector<std::byte> bytes[2];
    Operations begun;
    for (int rank = 0; rank < 2; ++rank) {
      bytes[rank].assign(static_cast<std::size_t>(runs), static_cast<std::byte>(runs + rank));
      Access access;
      access.direction = Direction::write;
      access.file = Footprint({FilePattern(Nest::list(Nest::run(rank * 6, 1), places))});
      access.memory.emplace_back(bytes[rank].data(), Nest::run(0, runs));
      least = std::min(least, std::ssize(access.file.encode()));
      longest = std::max(longest, std::ssize(access.file.encode()));
      begun.push_back(ranks.begin(rank, std::move(access), hints));
    }
    ASSERT_TRUE(ranks.run());
    expect_no_errors(begun);
    std::vector<std::byte> there(file_bytes);
    ASSERT_EQ(read_fully(*shared, there, 0).bytes, file_bytes);
    for (int rank = 0; rank < 2; ++rank)
      EXPECT_EQ(std::ranges::count(there, static_cast<std::byte>(runs + rank)), runs) << rank;
    shared = make_shared_storage(file_bytes);
  }
  EXPECT_LT(least, Team::descriptor_words);
  EXPECT_GT(longest, Team::descriptor_words);
}

/// Of one rank alone, between and beside collective ones: the others do nothing for it.
TEST_F(Simulated, IndependentOperationsNeedNobody) {
  for (unsigned seed = 1; seed <= times_cases * 150; ++seed) {
    Random r{std::mt19937_64(seed)};
    const Layout layout = draw_layout(r, 4);
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedRanks ranks(layout, views(), units());
    const int busy = static_cast<int>(r.in(0, layout.ranks - 1));
    for (int call = 0; call < 6; ++call) {
      Hints hints = draw_hints(r, layout);
      hints.active_buffer_size = r.in(0, 1) * 5000;
      const auto background = r.in(0, 1) == 0 ? std::nullopt : std::optional(Background::storage);
      std::vector<RankRequest> one;
      one.emplace_back(r, call);
      const bool writes = r.in(0, 1) == 0;
      const auto operation =
          ranks.begin(busy, one.front().access(writes ? Direction::write : Direction::read), hints,
                      background, std::nullopt, Company::independent);
      ASSERT_TRUE(ranks.run(r, [&] { return operation->has_ended(); })) << "nothing moves any more";
      expect_no_errors({operation});
      if (writes) model.write(one);
      else model.expect_in(one.front());
      if (r.in(0, 2) != 0) continue;
      // This rank could not wait for bytes in another rank's active buffer.
      hints.active_buffer_size = 0;
      Requests all = draw(r, layout.ranks);
      Operations begun;
      begin_all(ranks, all, Direction::write, hints, begun);
      ASSERT_TRUE(ranks.run());
      expect_no_errors(begun);
      model.write(all);
    }
    for (int rank = 0; rank < ranks.size(); ++rank) ranks.file(rank).io.buffered->drain();
    model.expect_in(*shared);
    if (HasFailure()) return;
  }
}

/// Records the spans that a listener gets.
struct SpanLog : Listener {
  std::vector<Span> spans;
  void take(const Span& span) noexcept override { spans.push_back(span); }
  double seconds(std::int64_t operation, Phase phase) const {
    double sum = 0;
    for (const Span& span : spans)
      if (span.operation == operation && span.phase == phase) sum += span.seconds();
    return sum;
  }
  std::int64_t bytes(std::int64_t operation, Phase phase) const {
    std::int64_t sum = 0;
    for (const Span& span : spans)
      if (span.operation == operation && span.phase == phase) sum += span.bytes;
    return sum;
  }
  void expect_sums(std::int64_t operation, const Statistics& counts) const {
    EXPECT_DOUBLE_EQ(seconds(operation, Phase::plan), counts.time_plan);
    EXPECT_DOUBLE_EQ(seconds(operation, Phase::exchange), counts.time_exchange);
    EXPECT_DOUBLE_EQ(seconds(operation, Phase::copy), counts.time_copy);
    EXPECT_DOUBLE_EQ(seconds(operation, Phase::storage), counts.time_storage);
    EXPECT_DOUBLE_EQ(seconds(operation, Phase::wait), counts.time_wait);
    EXPECT_EQ(bytes(operation, Phase::write_call), counts.bytes_wanted);
    EXPECT_GE(seconds(operation, Phase::write_call), counts.time_copy + counts.time_storage);
  }
};

/// A listener gets each phase, with the operation that it belongs to, and the statistics are the
/// sums.
TEST_F(Simulated, StatisticsAreTheSumOfTheSpans) {
  constexpr int most = 4;
  Random r{std::mt19937_64(3)};
  for (const Exchange exchange : {Exchange::node, Exchange::sparse, Exchange::step4}) {
    SpanLog logs[most];
    SimulatedRanks ranks({most, 2}, views(), units());
    for (int rank = 0; rank < most; ++rank) ranks.file(rank).listener = &logs[rank];
    Hints hints;
    hints.method = Method::extended;
    hints.exchange = exchange;
    hints.pipeline = Pipeline::never;
    hints.active_buffer_size = 0;
    Requests first = draw(r, most), second = draw(r, most);
    Operations begun, later;
    begin_all(ranks, first, Direction::write, hints, begun);
    begin_all(ranks, second, Direction::write, hints, later);
    ASSERT_TRUE(ranks.run());
    std::int64_t copied = 0, wanted = 0;
    for (std::size_t rank = 0; rank < most; ++rank) {
      std::int64_t call = 1;
      for (const auto& operation : {begun[rank], later[rank]}) {
        const Statistics counts = operation->take_counts();
        logs[rank].expect_sums(call, counts);
        copied += logs[rank].bytes(call, Phase::copy);
        wanted += counts.bytes_wanted;
        ++call;
      }
    }
    EXPECT_GE(copied, wanted);  // each byte once, or twice with a message
  }
}

/// Bytes of the file that some rank wants.
std::int64_t distinct_bytes(const Requests& requests) {
  std::set<std::int64_t> places;
  for (const RankRequest& request : requests)
    places.insert(request.file.begin(), request.file.end());
  return static_cast<std::int64_t>(places.size());
}

/// Storage accesses count for the operation that they are made for, whatever else is in flight.
TEST_F(Simulated, AccessesCountForTheirOperation) {
  constexpr int most = 4;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Random r{std::mt19937_64(seed)};
    SimulatedRanks ranks({most, 2}, views(), units());
    Hints hints = draw_hints(r, {most, 2});
    hints.method = Method::extended;
    hints.sieve_writes = SieveWrites::never;
    std::vector<Requests> calls;
    std::vector<Operations> begun(3);
    for (int call = 0; call < 3; ++call) calls.push_back(draw(r, most));
    for (std::size_t call = 0; call < calls.size(); ++call)
      begin_all(ranks, calls[call], Direction::write, hints, begun[call]);
    ASSERT_TRUE(ranks.run(r, [&] {
      return std::ranges::all_of(begun, [](const Operations& one) { return all_ended(one); });
    }));
    for (std::size_t call = 0; call < calls.size(); ++call) {
      std::int64_t written = 0;
      for (const auto& operation : begun[call]) written += operation->take_counts().bytes_written;
      EXPECT_EQ(written, distinct_bytes(calls[call])) << "seed " << seed << ", call " << call;
    }
  }
}

}  // namespace
