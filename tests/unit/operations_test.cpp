// The engine on simulated ranks, which go on in random orders: exchanges, operations in flight
// together, faults, ranks that differ or leave.
#include <gtest/gtest.h>

#include <map>

#include "mpi/ballot.hpp"
#include "storage/fault.hpp"
#include "support/random_patterns.hpp"
#include "support/simulated_ranks.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr std::int64_t file_bytes = 6000;

FileUnits units() {
  FileUnits units;
  units.all = {0, file_bytes};
  return units;
}

/// What one rank asks for, and its memory.
struct Request {
  Places file, memory;
  std::vector<std::byte> bytes;
  Nest file_nest, memory_nest;

  Request(Random& r, int number) {
    Drawn drawn = draw_ascending(r, static_cast<int>(r.in(1, 3)));
    const std::int64_t by = r.in(0, 400) * r.in(0, 8);
    file_nest = drawn.nest.moved(by);
    for (const std::int64_t place : drawn.places) file.push_back(place + by);
    Drawn in_memory = draw_memory(r, static_cast<std::int64_t>(file.size()));
    memory_nest = in_memory.nest;
    memory = in_memory.places;
    std::int64_t most = 0;
    for (const std::int64_t place : memory) most = std::max(most, place + 1);
    bytes.resize(static_cast<std::size_t>(most));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>(number * 31 + static_cast<int>(i) * 7 + 1);
  }

  Access access(Direction direction) {
    Access access;
    access.direction = direction;
    if (file.empty()) return access;
    access.file = Footprint({FilePattern(file_nest)});
    access.memory.push_back(MemoryMap(bytes.data(), memory_nest));
    return access;
  }
  std::byte& at(std::size_t i) { return bytes[static_cast<std::size_t>(memory[i])]; }
};

using Requests = std::vector<Request>;

Requests draw(Random& r, int ranks) {
  Requests requests;
  for (int rank = 0; rank < ranks; ++rank) requests.emplace_back(r, rank);
  return requests;
}

/// The file, byte by byte: the highest rank wins.
struct Model {
  std::vector<std::byte> bytes = std::vector<std::byte>(file_bytes);

  void write(Requests& requests) {
    for (Request& request : requests)
      for (std::size_t i = 0; i < request.file.size(); ++i)
        bytes[static_cast<std::size_t>(request.file[i])] = request.at(i);
  }
  void expect_in(Storage& storage) const {
    std::vector<std::byte> there(bytes.size());
    ASSERT_EQ(read_fully(storage, there, 0).bytes, file_bytes);
    for (std::size_t i = 0; i < there.size(); ++i)
      ASSERT_EQ(static_cast<int>(there[i]), static_cast<int>(bytes[i])) << "at offset " << i;
  }
  void expect_in(Request& request) const {
    for (std::size_t i = 0; i < request.file.size(); ++i)
      ASSERT_EQ(static_cast<int>(request.at(i)),
                static_cast<int>(bytes[static_cast<std::size_t>(request.file[i])]))
          << "of offset " << request.file[i];
  }
};

Layout draw_layout(Random& r, int most) {
  Layout layout;
  layout.ranks = static_cast<int>(r.in(1, most));
  layout.per_node = static_cast<int>(r.in(0, 4));
  return layout;
}

Hints draw_hints(Random& r, const Layout& layout) {
  constexpr Method methods[] = {Method::gather, Method::two_phase, Method::extended,
                                Method::automatic};
  constexpr Exchange by_messages[] = {Exchange::step1,    Exchange::step2, Exchange::step3,
                                      Exchange::step4,    Exchange::step5, Exchange::sparse,
                                      Exchange::alltoallw};
  Hints hints;
  hints.method = methods[r.in(0, 3)];
  hints.exchange = layout.per_node > 0 && layout.ranks > 1 && r.in(0, 1) == 0
                       ? Exchange::node
                       : by_messages[r.in(0, 6)];
  if (hints.method == Method::automatic) hints.exchange = Exchange::automatic;
  hints.aggregators = r.in(0, layout.ranks);
  hints.buffer_size = r.in(1, 4) * r.in(16, 400);
  hints.pipeline = r.in(0, 3) == 0 ? Pipeline::always : Pipeline::never;
  hints.active_buffer_size = 0;
  return hints;
}

struct Simulated : testing::Test {
  std::shared_ptr<Storage> shared = make_shared_storage(file_bytes);
  Model model;

  SimulatedRanks::MakeStorage views() {
    return [this](int) { return view_of(shared); };
  }
  static void begin_all(SimulatedRanks& ranks, Requests& requests, Direction direction,
                        const Hints& hints, std::vector<std::shared_ptr<Operation>>& begun,
                        std::optional<Background> background = std::nullopt) {
    for (int rank = 0; rank < ranks.size(); ++rank)
      begun.push_back(ranks.begin(rank, requests[static_cast<std::size_t>(rank)].access(direction),
                                  hints, background));
  }
};

std::string text_of(const Hints& hints) {
  std::string text;
  for (const auto& [name, value] : hints.text()) text += name + "=" + value + " ";
  return text;
}

void expect_no_errors(const std::vector<std::shared_ptr<Operation>>& operations) {
  for (const auto& operation : operations)
    EXPECT_FALSE(operation->error()) << operation->error()->what();
}

TEST_F(Simulated, ExchangesAgreeWithTheModelInAnyOrder) {
  for (unsigned seed = 1; seed <= 400; ++seed) {
    Random r{std::mt19937_64(seed)};
    const Layout layout = draw_layout(r, 7);
    const Hints hints = draw_hints(r, layout);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(layout.ranks) + " ranks, " +
                 std::to_string(layout.per_node) + " a node, " + text_of(hints));
    SimulatedRanks ranks(layout, views(), units());
    Requests out = draw(r, layout.ranks), in = draw(r, layout.ranks);
    std::vector<std::shared_ptr<Operation>> begun;
    begin_all(ranks, out, Direction::write, hints, begun);
    begin_all(ranks, in, Direction::read, hints, begun);
    const auto over = [&] {
      return std::all_of(begun.begin(), begun.end(), [](auto& o) { return o->has_ended(); });
    };
    ASSERT_TRUE(ranks.run(r, over)) << "nothing moves any more";
    expect_no_errors(begun);
    model.write(out);
    model.expect_in(*shared);
    for (Request& request : in) model.expect_in(request);
    ASSERT_EQ(ranks.left_over(), 0u) << "messages that nobody has received";
    if (HasFailure()) return;
  }
}

TEST_F(Simulated, TheSameWithAThreadForEachRank) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Random r{std::mt19937_64(seed)};
    const Layout layout = draw_layout(r, 6);
    const Hints hints = draw_hints(r, layout);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + text_of(hints));
    SimulatedRanks ranks(layout, views(), units());
    Requests out = draw(r, layout.ranks), in = draw(r, layout.ranks);
    std::vector<std::shared_ptr<Operation>> begun;
    begin_all(ranks, out, Direction::write, hints, begun);
    begin_all(ranks, in, Direction::read, hints, begun);
    ranks.run_in_threads();
    expect_no_errors(begun);
    model.write(out);
    model.expect_in(*shared);
    for (Request& request : in) model.expect_in(request);
    if (HasFailure()) return;
  }
}

/// One rank begins all and waits in another order than the next, which waits for each at once.
TEST_F(Simulated, OperationsInFlightEndInAnyOrder) {
  for (unsigned seed = 1; seed <= 150; ++seed) {
    Random r{std::mt19937_64(seed)};
    const Layout layout = draw_layout(r, 5);
    SimulatedRanks ranks(layout, views(), units());
    constexpr std::size_t calls = 4;
    std::vector<Requests> requests;
    std::vector<Hints> hints;
    std::vector<Direction> directions;
    std::vector<std::optional<Background>> backgrounds;
    for (std::size_t call = 0; call < calls; ++call) {
      requests.push_back(draw(r, layout.ranks));
      hints.push_back(draw_hints(r, layout));
      hints.back().active_buffer_size = r.in(0, 2) * 5000;
      directions.push_back(r.in(0, 2) == 0 ? Direction::read : Direction::write);
      backgrounds.push_back(r.in(0, 3) == 0 ? std::nullopt : std::optional(Background::storage));
    }
    struct Step {
      bool waits;
      std::size_t call;
    };
    std::vector<std::deque<Step>> scripts(static_cast<std::size_t>(layout.ranks));
    for (auto& script : scripts) {
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
    }
    std::vector<std::vector<std::shared_ptr<Operation>>> begun(scripts.size());
    const auto over = [&] {
      bool all = true;
      for (std::size_t rank = 0; rank < scripts.size(); ++rank) {
        auto& script = scripts[rank];
        while (!script.empty()) {
          const auto [waits, call] = script.front();
          if (waits && !begun[rank][call]->has_ended()) break;
          if (!waits)
            begun[rank].push_back(ranks.begin(static_cast<int>(rank),
                                              requests[call][rank].access(directions[call]),
                                              hints[call], backgrounds[call]));
          script.pop_front();
        }
        all = all && script.empty();
      }
      return all;
    };
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_TRUE(ranks.run(r, over)) << "nothing moves any more";
    for (const auto& operations : begun) expect_no_errors(operations);
    for (std::size_t call = 0; call < calls; ++call) {
      if (directions[call] == Direction::write) model.write(requests[call]);
      else
        for (Request& request : requests[call]) model.expect_in(request);
    }
    for (int rank = 0; rank < ranks.size(); ++rank) ranks.file(rank).buffered->drain();
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
  std::vector<std::shared_ptr<Operation>> begun;
  for (int call = 0; call < 40; ++call) requests.push_back(draw(r, layout.ranks));
  // More than there are slots of meetings.
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

TEST_F(Simulated, RanksInDifferentCallsAllSayso) {
  for (const int per_node : {0, 1, 2, 3}) {
    Random r{std::mt19937_64(static_cast<unsigned>(per_node))};
    SimulatedRanks ranks({3, per_node}, views(), units());
    Hints hints;
    hints.active_buffer_size = 0;
    Requests requests = draw(r, 3);
    std::vector<std::shared_ptr<Operation>> begun;
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
    std::vector<std::shared_ptr<Operation>> begun;
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
      EXPECT_STREQ(operation->error()->what(), "rank 3: the array is too short");
    }
    model.expect_in(*shared);
  }
}

/// Each storage call of each rank fails once. All ranks learn of it, the exchange goes on to its
/// end, and no byte changes that nobody wrote.
TEST_F(Simulated, AFaultInAnyWindowIsToldToAll) {
  int told = 0;
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
    SimulatedRanks ranks(
        layout,
        [&](int rank) {
          return rank == victim ? inject_faults(view_of(shared), spec, rank) : view_of(shared);
        },
        units());
    Requests requests = draw(r, layout.ranks);
    std::vector<std::shared_ptr<Operation>> begun;
    begin_all(ranks, requests, writes ? Direction::write : Direction::read, hints, begun);
    const auto over = [&] {
      return std::all_of(begun.begin(), begun.end(), [](auto& o) { return o->has_ended(); });
    };
    ASSERT_TRUE(ranks.run(r, over)) << "nothing moves any more";
    const bool failed = begun.front()->error().has_value();
    told += failed ? 1 : 0;
    for (const auto& operation : begun) {
      ASSERT_EQ(operation->error().has_value(), failed);
      if (failed) {
        ASSERT_EQ(operation->error()->error_class(), ErrorClass::storage);
        ASSERT_EQ(operation->error()->error_number(), EIO);
      }
    }
    Model wanted;
    if (writes) wanted.write(requests);
    std::vector<std::byte> there(file_bytes);
    read_fully(*shared, there, 0);
    std::map<std::int64_t, bool> asked;
    for (const Request& request : requests)
      for (const std::int64_t place : request.file) asked[place] = true;
    for (std::int64_t i = 0; i < file_bytes; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (failed && asked.contains(i)) continue;
      ASSERT_EQ(there[at], failed ? std::byte{0} : wanted.bytes[at]) << "at offset " << i;
    }
    ASSERT_EQ(ranks.left_over(), 0u);
  }
  EXPECT_GT(told, 20);
}

/// Where any rank may win, each byte that is wanted has what one of those wrote that want it.
TEST_F(Simulated, AnyRankMayWinWhereAllSaySo) {
  for (unsigned seed = 1; seed <= 150; ++seed) {
    Random r{std::mt19937_64(seed)};
    const Layout layout = draw_layout(r, 6);
    const Hints hints = draw_hints(r, layout);
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + text_of(hints));
    shared = make_shared_storage(file_bytes);
    SimulatedRanks ranks(layout, views(), units());
    Requests requests = draw(r, layout.ranks);
    std::vector<std::shared_ptr<Operation>> begun;
    for (int rank = 0; rank < layout.ranks; ++rank) {
      Access access = requests[static_cast<std::size_t>(rank)].access(Direction::write);
      access.overlap = Overlap::unspecified;
      begun.push_back(ranks.begin(rank, std::move(access), hints));
    }
    const auto over = [&] {
      return std::all_of(begun.begin(), begun.end(), [](auto& o) { return o->has_ended(); });
    };
    ASSERT_TRUE(ranks.run(r, over)) << "nothing moves any more";
    expect_no_errors(begun);
    std::map<std::int64_t, std::vector<std::byte>> candidates;
    for (Request& request : requests)
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

/// Of one rank alone, between and beside collective ones: the others do nothing for it.
TEST_F(Simulated, IndependentOperationsNeedNobody) {
  for (unsigned seed = 1; seed <= 150; ++seed) {
    Random r{std::mt19937_64(seed)};
    const Layout layout = draw_layout(r, 4);
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedRanks ranks(layout, views(), units());
    const int busy = static_cast<int>(r.in(0, layout.ranks - 1));
    for (int call = 0; call < 6; ++call) {
      Hints hints = draw_hints(r, layout);
      hints.active_buffer_size = r.in(0, 1) * 5000;
      const auto background = r.in(0, 1) == 0 ? std::nullopt : std::optional(Background::storage);
      std::vector<Request> one;
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
      // What is in another rank's active buffer this rank could not wait for.
      hints.active_buffer_size = 0;
      Requests all = draw(r, layout.ranks);
      std::vector<std::shared_ptr<Operation>> begun;
      begin_all(ranks, all, Direction::write, hints, begun);
      ASSERT_TRUE(ranks.run());
      expect_no_errors(begun);
      model.write(all);
    }
    for (int rank = 0; rank < ranks.size(); ++rank) ranks.file(rank).buffered->drain();
    model.expect_in(*shared);
    if (HasFailure()) return;
  }
}

/// What listens gets each phase, of the operation that it belongs to, and the statistics are their
/// sum.
TEST_F(Simulated, StatisticsAreTheSumOfTheSpans) {
  struct Log : Listener {
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
  };
  constexpr int most = 4;
  Random r{std::mt19937_64(3)};
  for (const Exchange exchange : {Exchange::node, Exchange::sparse, Exchange::step4}) {
    Log logs[most];
    SimulatedRanks ranks({most, 2}, views(), units());
    for (int rank = 0; rank < most; ++rank) ranks.file(rank).listener = &logs[rank];
    Hints hints;
    hints.method = Method::extended;
    hints.exchange = exchange;
    hints.pipeline = Pipeline::never;
    hints.active_buffer_size = 0;
    Requests first = draw(r, most), second = draw(r, most);
    std::vector<std::shared_ptr<Operation>> begun, later;
    begin_all(ranks, first, Direction::write, hints, begun);
    begin_all(ranks, second, Direction::write, hints, later);
    ASSERT_TRUE(ranks.run());
    std::int64_t copied = 0, wanted = 0;
    for (std::size_t rank = 0; rank < most; ++rank) {
      const Log& log = logs[rank];
      std::int64_t call = 1;
      for (const auto& operation : {begun[rank], later[rank]}) {
        const Statistics counts = operation->take_counts();
        EXPECT_DOUBLE_EQ(log.seconds(call, Phase::plan), counts.time_plan);
        EXPECT_DOUBLE_EQ(log.seconds(call, Phase::exchange), counts.time_exchange);
        EXPECT_DOUBLE_EQ(log.seconds(call, Phase::copy), counts.time_copy);
        EXPECT_DOUBLE_EQ(log.seconds(call, Phase::storage), counts.time_storage);
        EXPECT_DOUBLE_EQ(log.seconds(call, Phase::wait), counts.time_wait);
        EXPECT_EQ(log.bytes(call, Phase::operation), counts.bytes_wanted);
        EXPECT_GE(log.seconds(call, Phase::operation), counts.time_copy + counts.time_storage);
        copied += log.bytes(call, Phase::copy);
        wanted += counts.bytes_wanted;
        ++call;
      }
    }
    EXPECT_GE(copied, wanted);  // each byte once, or twice by a message
  }
}

/// A rank lets go of the file at any time before it begins a call: those who come to it are told.
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
    std::vector<std::shared_ptr<Operation>> begun;
    std::int64_t left_at = r.in(0, 60), turns = 0;
    for (int rank = 0; rank < layout.ranks; ++rank)
      if (rank != leaver)
        begun.push_back(ranks.begin(
            rank, requests[static_cast<std::size_t>(rank)].access(Direction::write), hints));
    const std::string path = "simulated";
    const auto over = [&] {
      if (turns++ == left_at) leave_for_good({ranks.comm(leaver), path, {}, 1}, 0);
      return turns > left_at &&
             std::all_of(begun.begin(), begun.end(), [](auto& o) { return o->has_ended(); });
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
