#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include <penstock/explain.hpp>

#include "base/human.hpp"

using namespace penstock;

namespace {

RequestDescription paper_case(const std::string& text, int ranks, bool write) {
  RequestDescription request{{4096, 4096}, 4, Order::fortran, 0, write, 4, {}};
  for (int p = 0; p < ranks; ++p) request.sections.push_back({Section::paper(text, p, ranks)});
  return request;
}

TEST(Explain, BlockBlockHasNoHolesAndSendsEachByteOnce) {
  RequestDescription request{{64, 64}, 4, Order::c, 0, true, 2, {}};
  for (std::int64_t i : {0, 32})
    for (std::int64_t j : {0, 32}) request.sections.push_back({Section{{i, i + 32}, {j, j + 32}}});
  const PlanReport report = explain(request, {});
  EXPECT_EQ(report.method, Method::extended);
  ASSERT_EQ(report.domains.size(), 2u);
  std::int64_t wanted = 0, flowed = 0;
  for (const auto& domain : report.domains) {
    wanted += domain.wanted_bytes;
    EXPECT_EQ(domain.hole_bytes, 0);
  }
  for (const auto& flow : report.flows) flowed += flow.bytes;
  EXPECT_EQ(wanted, 64 * 64 * 4);
  EXPECT_EQ(flowed, wanted);
}

TEST(Explain, DynamicDomainsBalanceThePapersCaseThatStaticOnesDoNot) {
  // Table 1, III: (400:800:1, 400:800:1) read by all 16 processors.
  const RequestDescription request = paper_case("(400:800:1, 400:800:1)", 16, false);
  Hints hints;
  hints.aggregators = 16;
  hints.method = Method::two_phase;
  int busy_static = 0, busy_dynamic = 0;
  for (const auto& domain : explain(request, hints).domains) busy_static += domain.wanted_bytes > 0;
  hints.method = Method::extended;
  std::int64_t wanted = 0;
  for (const auto& domain : explain(request, hints).domains) {
    busy_dynamic += domain.wanted_bytes > 0;
    wanted += domain.wanted_bytes;
  }
  EXPECT_EQ(busy_static, 3);  // columns 400..800 of 256 columns each
  EXPECT_EQ(busy_dynamic, 16);
  EXPECT_EQ(wanted, 401 * 401 * 4);  // the common section is read once, not 16 times
}

TEST(Explain, GoldenText) {
  RequestDescription request{{8, 8}, 1, Order::c, 0, true, 2, {}};
  request.sections = {{Section{{0, 8}, {0, 8, 2}}}, {}, {Section{{0, 8}, {1, 4, 2}}}};
  Hints hints;
  hints.method = Method::extended;
  PlanReport report = explain(request, hints);
  EXPECT_EQ(report.alternatives.size(), 6u);
  report.alternatives.resize(1);  // the figures are tested with the cost model
  report.alternatives[0].seconds = 0.25;
  EXPECT_EQ(report.to_text(),
            "method            extended, node (asked for)\n"
            "bounding section  (0:8, 0:7)\n"
            "predicted, by the cost model:\n"
            "    direct                 250 ms   not by auto: the ranks' bytes interleave in the "
            "file\n"
            "constants (copies assumed, storage assumed):\n"
            "  copying            9.00 GB/s, 6 ns a run\n"
            "  page cache         7.00 GB/s, 1.5 us a call (6 us where ranks queue up)\n"
            "  messages           4.00 GB/s, 12 us each, 60 us between nodes\n"
            "  ranks            15 us a window handed over, 20 us a rank and core to meet\n"
            "file domains      2, of bytes 0 to 63 (63 B); rule dynamic; staging buffer 4 MiB\n"
            "  aggregator      from        to  blocks    wanted  rounds     holes  sieved\n"
            "  rank 0           0 B      32 B       1      24 B       1       7 B       1\n"
            "  rank 1          32 B      63 B       1      24 B       1       7 B       1\n"
            "  together: 48 B wanted, 14 B of holes, in up to 1 rounds\n"
            "bytes between each rank and the aggregators:\n"
            "  rank 0: 16 B in its own memory, 16 B with rank 1\n"
            "  rank 2: 8 B with rank 0, 8 B with rank 1\n");
}

RequestDescription cyclic_rows(int ranks, int nodes, int cores) {
  RequestDescription request{{100000, 100000}, 4, Order::c, 0, true, cores, {}, nodes};
  for (int rank = 0; rank < ranks; ++rank)
    request.sections.push_back({Section{{rank, 100000, ranks}, {0, 100000}}});
  return request;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The method marked in the text, e.g. "extended, node".
std::string marked(const std::vector<std::string>& lines) {
  std::string found;
  for (const std::string& line : lines)
    if (line.rfind("  * ", 0) == 0) found += line.substr(4, 20);
  return found.substr(0, found.find_last_not_of(' ') + 1);
}

TEST(Explain, HeadlineAndMarkNameTheWayThatIsTaken) {
  struct Case {
    int ranks, nodes, cores;
    Method method;
    Exchange exchange;
  };
  constexpr Method any = Method::automatic;
  for (const Case& c : {Case{64, 4, 16, any, Exchange::automatic},
                        {16, 1, 4, any, Exchange::automatic},
                        {16, 4, 4, any, Exchange::node},
                        {16, 1, 4, any, Exchange::sparse},
                        {16, 4, 4, any, Exchange::alltoallw},
                        {16, 2, 4, Method::two_phase, Exchange::automatic},
                        {16, 1, 4, Method::gather, Exchange::automatic},
                        {4, 4, 1, any, Exchange::node},
                        {1, 1, 1, any, Exchange::automatic}}) {
    Hints hints;
    hints.method = c.method;
    hints.exchange = c.exchange;
    const PlanReport report = explain(cyclic_rows(c.ranks, c.nodes, c.cores), hints);
    const auto lines = lines_of(report.to_text());
    const std::string way = marked(lines);
    EXPECT_EQ(lines[0].rfind("method            " + way + " (", 0), 0u) << lines[0] << way;
    if (c.method != any) continue;
    double least = std::numeric_limits<double>::infinity(), taken = 0;
    for (const auto& a : report.alternatives) {
      if (a.eligible) least = std::min(least, a.seconds);
      if (a.method == report.method &&
          (a.exchange == Exchange::automatic || a.exchange == report.exchange))
        taken = a.seconds;
    }
    EXPECT_EQ(taken, least) << lines[0];
    EXPECT_NE(lines[0].find("(predicted " + text_of_seconds(taken)), std::string::npos) << lines[0];
  }
}

TEST(Explain, FitsAScreenAt64Ranks) {
  const PlanReport report = explain(cyclic_rows(64, 4, 16), {});
  EXPECT_EQ(report.domains.size(), 64u);
  const std::string text = report.to_text();
  EXPECT_LE(lines_of(text).size(), 30u) << text;
  EXPECT_NE(text.find("(37 GiB)"), std::string::npos) << text;
  EXPECT_NE(text.find("together: 37 GiB wanted, 0 B of holes"), std::string::npos) << text;
}

TEST(Explain, OnlyRequestsThatOverlapAreSaidTo) {
  const std::string apart = explain(cyclic_rows(16, 1, 4), {}).to_text();
  EXPECT_EQ(apart.find("same bytes"), std::string::npos) << apart;
  EXPECT_NE(apart.find("not by auto: the ranks' bytes interleave"), std::string::npos) << apart;
  // Small, since bytes that may overlap are counted one by one.
  const std::vector<Section> even{Section{{0, 1000, 2}, {0, 1000}}};
  const RequestDescription request{{1000, 1000}, 4, Order::c, 0, true, 4, {even, even}, 1};
  const std::string same = explain(request, {}).to_text();
  EXPECT_NE(same.find("not by auto: several ranks write the same bytes"), std::string::npos)
      << same;
}

TEST(Human, FiguresHaveTwoDigitsAndAUnit) {
  EXPECT_EQ(text_of_bytes(0), "0 B");
  EXPECT_EQ(text_of_bytes(1023), "1023 B");
  EXPECT_EQ(text_of_bytes(1024), "1 KiB");
  EXPECT_EQ(text_of_bytes(1536), "1.5 KiB");
  EXPECT_EQ(text_of_bytes((1 << 20) - 1), "1 MiB");
  EXPECT_EQ(text_of_bytes(40'000'000'000), "37 GiB");
  EXPECT_EQ(text_of_bytes(std::numeric_limits<std::int64_t>::max()), "8 EiB");
  EXPECT_EQ(text_of_seconds(0), "0 us");
  EXPECT_EQ(text_of_seconds(12.34e-6), "12 us");
  EXPECT_EQ(text_of_seconds(1.32e-3), "1.3 ms");
  EXPECT_EQ(text_of_seconds(0.9999), "1 s");
  EXPECT_EQ(text_of_seconds(4070), "4070 s");
}

TEST(Explain, PredictsWithTheConstantsItIsGiven) {
  RequestDescription request{{256, 256}, 4, Order::c, 0, true, 2, {}};
  request.sections = {{Section{{0, 256}, {0, 128}}}, {Section{{0, 256}, {128, 256}}}};
  const PlanReport usual = explain(request, {});
  request.costs = Costs::assumed(true).with_copies(4 / 9e9, 24e-9);
  const PlanReport slower = explain(request, {});
  EXPECT_EQ(slower.costs, request.costs);
  EXPECT_DOUBLE_EQ(slower.costs.storage_byte, 4 / 7e9);  // the page cache is memory, too
  ASSERT_EQ(slower.alternatives.size(), usual.alternatives.size());
  for (std::size_t i = 0; i < usual.alternatives.size(); ++i)
    EXPECT_GT(slower.alternatives[i].seconds, usual.alternatives[i].seconds);
  EXPECT_NE(slower.to_text().find("copies measured on this machine, storage in proportion"),
            std::string::npos);
}

TEST(Explain, ADeviceIsPlannedForAsOne) {
  RequestDescription request{{1024, 1024}, 4, Order::c, 0, true, 2, {}};
  for (std::int64_t i = 0; i < 4; ++i)
    request.sections.push_back({Section{{i * 256, (i + 1) * 256}, {0, 1024}}});
  request.costs = Costs::assumed(false);
  request.costs.storage_byte = 1 / 100e6;
  request.costs.device_tells = true;
  const PlanReport report = explain(request, {});
  EXPECT_EQ(report.buffer_size, 16 << 20);
  // However many ranks write, the bytes go through one device.
  for (const auto& way : report.alternatives) EXPECT_GT(way.seconds, 4194304 / 100e6);
  EXPECT_NE(report.to_text().find("storage as modelled"), std::string::npos);
}

TEST(Explain, HolesThatCostADeviceMoreThanARequestAreNotMoved) {
  const auto sieved_of = [](const std::string& text, bool write) {
    RequestDescription request = paper_case(text, 16, write);
    request.costs = Costs::assumed(false);
    request.costs.call = 1e-3;  // in parallel with 15 others: 6250 bytes
    request.costs.storage_byte = 1 / 100e6;
    Hints hints;
    hints.active_buffer_size = 0;
    std::int64_t rounds = 0, sieved = 0;
    for (const auto& domain : explain(request, hints).domains) {
      rounds += domain.rounds;
      sieved += domain.sieved_rounds;
    }
    EXPECT_EQ(rounds, 16);
    return sieved;
  };
  // Table 1, V: 64 bytes of each column, 16 KiB apart.
  EXPECT_EQ(sieved_of("(1:16:1, 1:4096:1)", false), 0);
  // Table 5, IV: every second element of a quarter of every third column. Table 6 writes them.
  EXPECT_EQ(sieved_of("(1+64p:64+64p:2, 500:2500:3)", false), 16);
  EXPECT_EQ(sieved_of("(1+64p:64+64p:2, 500:2500:3)", true), 16);
}

TEST(Explain, NothingAskedForIsAPlanToo) {
  RequestDescription request{{8, 8}, 1, Order::c, 0, true, 2, {{}, {}}};
  EXPECT_TRUE(explain(request, {}).domains.empty());
}

}  // namespace
