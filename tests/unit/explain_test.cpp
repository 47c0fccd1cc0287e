#include <gtest/gtest.h>

#include <penstock/explain.hpp>

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
  report.alternatives.resize(1);  // the figures are the cost model's business
  report.alternatives[0].seconds = 0.25;
  EXPECT_EQ(report.to_text(),
            "method            extended (asked for)\n"
            "bounding section  (0:8, 0:7)\n"
            "predicted, by the cost model:\n"
            "    direct                    250.000 ms   not by auto: requests may overlap: the "
            "highest rank must win\n"
            "constants (copies assumed, storage assumed):\n"
            "  copying            9.00 GB/s, 6 ns a run\n"
            "  page cache         7.00 GB/s, 1.5 us a call (6 us where ranks queue up)\n"
            "  messages           4.00 GB/s, 12 us each, 60 us between nodes\n"
            "  ranks            15 us a window handed over, 20 us a rank and core to meet\n"
            "exchange          node\n"
            "divided bytes     0:63 (63)\n"
            "file domains      2, rule dynamic, staging buffer 2097152 bytes\n"
            "  aggregator      from byte        to byte  blocks         wanted  rounds          "
            "holes  sieved\n"
            "  rank 0                  0             32       1             24       1             "
            " 7       1\n"
            "  rank 1                 32             63       1             24       1             "
            " 7       1\n"
            "bytes between each rank and the aggregators:\n"
            "  rank 0: 16 in its own memory, 16 with rank 1\n"
            "  rank 2: 8 with rank 0, 8 with rank 1\n");
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
  EXPECT_NE(report.to_text().find("storage as the device tells"), std::string::npos);
}

TEST(Explain, NothingAskedForIsAPlanToo) {
  RequestDescription request{{8, 8}, 1, Order::c, 0, true, 2, {{}, {}}};
  EXPECT_TRUE(explain(request, {}).domains.empty());
}

}  // namespace
