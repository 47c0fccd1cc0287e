#include <gtest/gtest.h>

#include <penstock/error.hpp>

#include "plan/cost.hpp"
#include "plan/memory.hpp"
#include "plan_support.hpp"

using namespace penstock;
using test::demand_of;
using test::layout;
using test::machine_with_device;

namespace {

TEST(Plan, ConformingRequestsNeedNoExchange) {
  const Demand demand =
      demand_of({Section{{0, 2048}, {0, 4096}}, Section{{2048, 4096}, {0, 4096}}});
  EXPECT_EQ(make_plan(layout.units(), demand, {}, {2, 2}).method, Method::direct);
}

TEST(Plan, InterleavedRequestsAreExchanged) {
  const Demand demand =
      demand_of({Section{{0, 4096}, {0, 2048}}, Section{{0, 4096}, {2048, 4096}}});
  EXPECT_EQ(make_plan(layout.units(), demand, {}, {2, 2}).method, Method::extended);
}

TEST(Plan, OverlapsAreExchangedEvenInLongRuns) {  // the highest rank has to win
  const Demand demand =
      demand_of({Section{{0, 2049}, {0, 4096}}, Section{{2048, 4096}, {0, 4096}}});
  EXPECT_EQ(make_plan(layout.units(), demand, {}, {2, 2}).method, Method::extended);
}

TEST(Plan, ShortRunsOfOneRankAreSieved) {
  const Demand close = demand_of({Section{{0, 4096}, {0, 4096, 2}}});
  EXPECT_EQ(make_plan(layout.units(), close, {}, {1, 1}).method, Method::sieved);
  EXPECT_EQ(make_plan(layout.units(), close, {}, {1, 1}, /*writes=*/false).method, Method::sieved);
}

TEST(Plan, ChunksAreWrittenByTheirAggregatorAlone) {
  FileUnits units = layout.units();
  units.indivisible = 1 << 20;
  const Demand apart = demand_of({Section{{0, 2048}, {0, 4096}}, Section{{2048, 4096}, {0, 4096}}});
  Hints direct;
  direct.method = Method::direct;
  for (const Hints& hints : {Hints{}, direct}) {
    const Plan plan = make_plan(units, apart, hints, {2, 2});
    EXPECT_TRUE(plan.collective());
    EXPECT_EQ(plan.domains.buffer() % units.indivisible, 0);
    EXPECT_EQ(plan.domains.hull(1).begin % units.indivisible, 0);
  }
  EXPECT_EQ(make_plan(units, apart, direct, {2, 2}, /*writes=*/false).method, Method::direct);
}

TEST(Plan, DemandsOfRanksThatShareAChunkAreNotApart) {
  const FileUnits units{1, {}, {0, 1000}, false, 100};
  const Section low{{0, 150}}, high{{150, 400}};
  const ArrayLayout bytes{{1000}, 1, Order::c, 0};
  Demand all = Demand::of(lower(bytes, std::span(&low, 1)), units);
  all.join(Demand::of(lower(bytes, std::span(&high, 1)), units));
  EXPECT_FALSE(all.ordered);
  EXPECT_EQ(all.hull(), (Extent{0, 400}));
}

TEST(Plan, DistantRunsOfOneRankAreNot) {  // sieving would move 256 times the bytes
  const Demand distant = demand_of({Section{{0, 4096}, {0, 16}}});
  EXPECT_EQ(make_plan(layout.units(), distant, {}, {1, 1}).method, Method::direct);
}

/// Ranks next to each other in each row of an array, `run` bytes each.
Demand side_by_side(int ranks, std::int64_t run, std::int64_t rows) {
  const ArrayLayout columns{{rows, ranks * run}, 1, Order::c, 0};
  Demand all;
  for (int rank = 0; rank < ranks; ++rank) {
    const Section mine{{0, rows}, {rank * run, (rank + 1) * run}};
    all.join(Demand::of(lower(columns, std::span(&mine, 1))));
  }
  return all;
}

Machine with_mapped_files(int ranks, int cores) {
  Machine machine{ranks, cores};
  machine.shared_memory = true;
  machine.costs.maps_files = true;
  return machine;
}

TEST(Plan, CachedReadsOfInterleavedRunsCopyOutOfTheMappedFile) {
  for (const int ranks : {4, 16})
    for (const std::int64_t run : {128, 512, 1024, 4096, 8192}) {
      const Demand demand = side_by_side(ranks, run, (64 << 20) / run / ranks);
      const Machine machine = with_mapped_files(ranks, 2);
      const Plan plan = make_plan(layout.units(), demand, {}, machine, /*writes=*/false);
      EXPECT_EQ(plan.method, Method::direct) << ranks << " ranks, runs of " << run;
      EXPECT_TRUE(plan.mapped);
      EXPECT_EQ(make_plan(layout.units(), demand, {}, machine).method, Method::extended);
    }
}

TEST(Plan, ReadsThatWaitForADeviceAreExchanged) {
  Demand demand = side_by_side(4, 4096, 4096);
  demand.slow = true;
  EXPECT_EQ(make_plan(layout.units(), demand, {}, with_mapped_files(4, 2), false).method,
            Method::extended);
  Hints direct;
  direct.method = Method::direct;
  EXPECT_FALSE(make_plan(layout.units(), demand, direct, with_mapped_files(4, 2), false).mapped);
}

TEST(Plan, WhatSeveralRanksWantComesFromADeviceOnce) {  // more bytes than their hull has
  Demand demand;
  for (int rank = 0; rank < 4; ++rank) demand.join(side_by_side(1, 4096, 4096));
  const Machine machine = with_mapped_files(4, 2);
  EXPECT_EQ(make_plan(layout.units(), demand, {}, machine, false).method, Method::direct);
  demand.slow = true;
  EXPECT_EQ(make_plan(layout.units(), demand, {}, machine, false).method, Method::extended);
}

TEST(Plan, VeryShortRunsAreNotFetchedByEachRankFromItsOwnMapping) {
  const Demand demand = side_by_side(16, 4, 1 << 20);
  EXPECT_EQ(make_plan(layout.units(), demand, {}, with_mapped_files(16, 2), false).method,
            Method::extended);
}

TEST(Plan, ALongRunIsMappedAndAShortOneReadByACall) {
  for (const std::int64_t run : {4096, 16384, 16 << 20}) {
    const Demand demand = side_by_side(1, run, 1);
    const Plan plan = make_plan(layout.units(), demand, {}, with_mapped_files(1, 1), false);
    EXPECT_EQ(plan.method, Method::direct);
    EXPECT_EQ(plan.mapped, run > 1 << 20) << run;
  }
}

TEST(Plan, RanksThatShareMemoryExchangeThroughIt) {
  const Demand demand =
      demand_of({Section{{0, 4096}, {0, 2048}}, Section{{0, 4096}, {2048, 4096}}});
  Machine machine{2, 2};
  EXPECT_EQ(make_plan(layout.units(), demand, {}, machine).exchange, Exchange::sparse);
  machine.shared_memory = true;
  EXPECT_EQ(make_plan(layout.units(), demand, {}, machine).exchange, Exchange::node);
  machine.nodes = 2;  // one rank each: nothing to share
  EXPECT_EQ(make_plan(layout.units(), demand, {}, machine).exchange, Exchange::sparse);
}

/// Ranks in a grid over an array of 4096 x 4096 numbers, node after node.
Exchange exchange_between_nodes(int nodes, int each, int columns) {
  const int ranks = nodes * each, rows = ranks / columns;
  std::vector<Section> sections;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t row = rank / columns, column = rank % columns;
    sections.push_back(Section{{4096 * row / rows, 4096 * (row + 1) / rows},
                               {4096 * column / columns, 4096 * (column + 1) / columns}});
  }
  Machine machine{ranks, nodes * std::min(each, 2), nodes};
  machine.shared_memory = true;
  return make_plan(layout.units(), demand_of(sections), {}, machine).exchange;
}

TEST(Plan, BetweenNodesRanksSendThemselvesWhereFewShareANodeAndMostBytesLeaveIt) {
  EXPECT_EQ(exchange_between_nodes(2, 2, 4), Exchange::sparse);
  EXPECT_EQ(exchange_between_nodes(2, 4, 8), Exchange::node);
  EXPECT_EQ(exchange_between_nodes(2, 16, 32), Exchange::node);
  EXPECT_EQ(exchange_between_nodes(8, 16, 128), Exchange::node);
}

TEST(Plan, WhatStaysWithinANodeIsExchangedThroughItsMemory) {
  EXPECT_EQ(exchange_between_nodes(2, 2, 2), Exchange::node);
  EXPECT_EQ(exchange_between_nodes(2, 4, 2), Exchange::node);
  EXPECT_EQ(exchange_between_nodes(4, 4, 4), Exchange::node);
}

TEST(Plan, WindowsUnderWayAtATimeFitIntoTheBuffer) {
  const Demand demand = demand_of({Section{{0, 4096}, {0, 4096}}});
  for (const Pipeline pipeline : {Pipeline::automatic, Pipeline::always, Pipeline::never})
    for (const Exchange exchange : {Exchange::sparse, Exchange::node, Exchange::step5})
      for (const std::int64_t buffer : {4, 4096, 1 << 20, 16 << 20}) {
        Hints hints;
        hints.method = Method::extended;
        hints.pipeline = pipeline;
        hints.exchange = exchange;
        hints.buffer_size = buffer;
        Machine machine{4, 2};
        machine.shared_memory = true;
        const Plan plan = make_plan(layout.units(), demand, hints, machine);
        EXPECT_LE(plan.depth * plan.domains.buffer(), std::max<std::int64_t>(buffer, plan.depth));
        EXPECT_EQ(plan.depth == 1, pipeline == Pipeline::never ||
                                       (pipeline == Pipeline::automatic && buffer < 64 * 1024));
      }
}

TEST(Plan, StagingMemoryStaysBelowTwiceTheBuffer) {
  const ArrayLayout bytes{{64 << 20}, 1, Order::c, 0};
  const Section whole{{0, 64 << 20}};
  const Demand demand = Demand::of(lower(bytes, std::span(&whole, 1)));
  std::vector<std::int64_t> buffers;
  for (std::int64_t buffer = 1; buffer <= 16 << 20; buffer *= 2)
    for (const std::int64_t near : {buffer - 1, buffer, buffer + 1, buffer * 3 / 2})
      buffers.push_back(std::max<std::int64_t>(1, near));
  for (const std::int64_t buffer : buffers)
    for (const Pipeline pipeline : {Pipeline::automatic, Pipeline::always, Pipeline::never})
      for (const Exchange exchange : {Exchange::sparse, Exchange::node})
        for (const int nodes : {1, 2})
          for (const int cores : {2, 16}) {  // 16, of a device: with room for four windows
            Hints hints;
            hints.method = Method::extended;
            hints.pipeline = pipeline;
            hints.exchange = exchange;
            hints.buffer_size = buffer;
            Machine machine{16, cores, nodes};
            machine.shared_memory = true;
            machine.page_cache = cores == 2;
            const Plan plan = make_plan(bytes.units(), demand, hints, machine);
            ASSERT_EQ(plan.exchange, exchange);
            EXPECT_LE(staging_bound(plan, buffer).total(),
                      2 * std::max(buffer, StagingBound::least_buffer))
                << "buffer " << buffer << ", depth " << plan.depth << ", nodes " << nodes;
          }
}

TEST(Plan, StagingMemoryIsAsLargeAsTheLongestWindow) {
  const auto staged = [](std::int64_t bytes, int nodes) {
    Hints hints;
    hints.method = Method::extended;
    hints.active_buffer_size = 0;
    Machine machine{4, 2, nodes};
    machine.shared_memory = true;
    const ArrayLayout line{{64 << 20}, 1, Order::c, 0};
    const Section section{{0, bytes}};
    return staged_bytes(
        make_plan(line.units(), Demand::of(lower(line, std::span(&section, 1))), hints, machine));
  };
  EXPECT_EQ(staged(100'000, 1), 64 * 1024);  // two domains
  EXPECT_EQ(staged(1 << 20, 1), 512 * 1024);
  EXPECT_EQ(staged(64 << 20, 1), 2 << 20);  // two windows in the buffer
  EXPECT_EQ(staged(1 << 20, 2), 2 << 20);   // the buffer is 8 MiB, with room for a proxy
}

TEST(Plan, DevicesGetLargerAccessesThanThePageCache) {
  Machine machine{4, 2};
  const std::int64_t cached = resolve_hints({}, machine, 4).buffer_size;
  machine.page_cache = false;
  EXPECT_GT(resolve_hints({}, machine, 4).buffer_size, cached);
  machine.stripe_size = 1 << 20;
  EXPECT_EQ(resolve_hints({}, machine, 4).stripe_size, 1 << 20);
  Hints asked;
  asked.stripe_size = 3000;
  EXPECT_EQ(resolve_hints(asked, machine, 4).stripe_size, 3000);
}

TEST(Plan, PredictionsGrowWithTheRequest) {
  const Demand small = demand_of({Section{{0, 64}, {0, 2048}}, Section{{0, 64}, {2048, 4096}}});
  const Demand large = demand_of({Section{{0, 4096}, {0, 2048}}, Section{{0, 4096}, {2048, 4096}}});
  const Hints hints = resolve_hints({}, {2, 2}, layout.units().grain);
  const auto little = predict(layout.units(), small, hints, {2, 2}, true);
  const auto much = predict(layout.units(), large, hints, {2, 2}, true);
  ASSERT_EQ(little.size(), much.size());
  for (std::size_t i = 0; i < much.size(); ++i) EXPECT_LT(little[i].seconds, much[i].seconds);
}

TEST(Plan, DemandJoinsAssociatively) {
  const std::vector<Section> s{Section{{0, 1}, {0, 4}}, Section(), Section{{2, 3}, {0, 4}},
                               Section{{1, 2}, {0, 4}}};
  std::vector<Demand> d;
  for (const Section& section : s) d.push_back(Demand::of(lower(layout, std::span(&section, 1))));
  Demand left = d[0], right = d[2];
  left.join(d[1]);
  right.join(d[3]);
  left.join(right);
  Demand chain = d[0];
  for (int i : {1, 2, 3}) chain.join(d[i]);
  EXPECT_EQ(left.ordered, chain.ordered);
  EXPECT_FALSE(chain.ordered);
  EXPECT_EQ(left.hull(), chain.hull());
  EXPECT_EQ(left.bytes, chain.bytes);
  EXPECT_EQ(left.hulls, 3 * 4 * 4);
  EXPECT_EQ(left.hulls, chain.hulls);
}

/// Only then may ranks write independently: the highest has to win where they overlap.
TEST(Plan, DemandsAreOrderedWhereNoByteIsWantedTwice) {
  const auto ordered = [](std::int64_t end, std::int64_t begin) {
    const ArrayLayout bytes{{100}, 1, Order::c, 0};
    const Section low{{0, end}}, high{{begin, 100}};
    Demand all = Demand::of(lower(bytes, std::span(&low, 1)));
    all.join(Demand::of(lower(bytes, std::span(&high, 1))));
    return all.ordered;
  };
  EXPECT_TRUE(ordered(40, 50));
  EXPECT_TRUE(ordered(50, 50));
  EXPECT_FALSE(ordered(51, 50));
}

TEST(Plan, DynamicDomainsDivideTheBoundingSectionOnly) {
  const Demand demand =
      demand_of({Section{{1000, 1100}, {0, 50}}, Section{{1050, 1200}, {50, 100}}});
  Hints hints;
  hints.method = Method::extended;
  const Extent span = make_plan(layout.units(), demand, hints, {4, 4}).domains.span();
  EXPECT_EQ(span.begin, 1000 * 4096 * 4);
  EXPECT_EQ(span.end, (1199 * 4096 + 100) * 4);
  hints.method = Method::two_phase;
  EXPECT_EQ(make_plan(layout.units(), demand, hints, {4, 4}).domains.span(), layout.extent());
}

TEST(Plan, AggregatorsAreSpreadAndKnowThemselves) {
  for (int ranks : {1, 2, 3, 7, 16, 1000})
    for (int aggregators : {1, 2, 3, 5}) {
      if (aggregators > ranks) continue;
      Hints hints;
      hints.method = Method::extended;
      hints.aggregators = aggregators;
      const Plan plan = make_plan(layout.units(), {}, hints, {ranks, 1});
      int found = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const std::int64_t a = plan.aggregator_of(rank);
        if (a < 0) continue;
        EXPECT_EQ(plan.rank_of(a), rank);
        ++found;
      }
      EXPECT_EQ(found, aggregators);
      // Ranks of a node have neighbouring numbers: each node gets its share of the aggregators.
      for (std::int64_t a = 0; a < aggregators; ++a)
        EXPECT_EQ(plan.rank_of(a), a * ranks / aggregators);
    }
}

TEST(Plan, RefusesHintsThatCannotBeFollowed) {
  Hints hints;
  hints.aggregators = 3;
  EXPECT_THROW(make_plan(layout.units(), {}, hints, {2, 2}), Error);
  hints = {};
  hints.buffer_size = 3;
  EXPECT_THROW(make_plan(layout.units(), {}, hints, {2, 2}), Error);
}

TEST(Plan, RoundsAreFoundWithoutWalkingEmptyOnes) {
  const ArrayLayout huge{{std::int64_t{1} << 45}, 1, Order::c, 0};
  const std::vector<Section> sections{
      Section{{0, 1}}, Section{{(std::int64_t{1} << 45) - 1, std::int64_t{1} << 45}}};
  const Footprint footprint = lower(huge, sections);
  const Domains domains =
      Domains::cut(DomainRule::static_, huge.units(), huge.extent(), 1, 4096, 4096);
  EXPECT_EQ(next_round(domains, 0, footprint, 0), 0);
  EXPECT_EQ(next_round(domains, 0, footprint, 1), domains.rounds(0) - 1);
  EXPECT_EQ(next_round(domains, 0, footprint, domains.rounds(0)), domains.rounds(0));
}

TEST(Plan, RequestsToADeviceAreSpreadOverTheRanksWhereThereAreHoles) {
  const auto aggregators = [](const std::vector<Section>& sections) {
    const auto ranks = static_cast<int>(sections.size());
    return make_plan(layout.units(), demand_of(sections), {}, machine_with_device(ranks, 2), false)
        .domains.aggregators();
  };
  std::vector<Section> rows, blocks;
  for (std::int64_t p = 0; p < 16; ++p) {  // Thakur and Choudhary, Table 3, II; a whole array
    rows.push_back(Section{{0, 100}, {100 * p, 100 * p + 100}});
    blocks.push_back(Section{{0, 4096}, {256 * p, 256 * p + 256}});
  }
  EXPECT_EQ(aggregators(rows), 16);
  EXPECT_EQ(aggregators(blocks), 2);
  // The sum of the requests is more than their hull: there are holes all the same. Table 1, III.
  EXPECT_EQ(aggregators(std::vector<Section>(16, Section{{0, 401}, {0, 401}})), 16);
}

}  // namespace
