#include <gtest/gtest.h>

#include <random>

#include "plan/coverage.hpp"

using namespace penstock;

namespace {

TEST(Coverage, AgreesWithABytePerByte) {
  std::mt19937_64 engine(5);
  const auto in = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(high - low + 1));
  };
  for (int trial = 0; trial < 300; ++trial) {
    const std::int64_t begin = in(0, 1000), length = in(1, 400);
    Coverage coverage(nullptr);
    coverage.restart({begin, begin + length});
    std::vector<bool> model(static_cast<std::size_t>(length));
    for (std::int64_t i = in(0, 12); i > 0; --i) {
      Batch batch{begin + in(0, length - 1), nullptr, 0, 1, 1, 0, 0};
      batch.run = in(1, begin + length - batch.file);
      if (in(0, 1)) {
        batch.run = in(1, std::min<std::int64_t>(9, batch.run));
        batch.file_step = batch.run + in(0, 70);
        batch.count = (begin + length - batch.file - batch.run) / batch.file_step + 1;
      }
      coverage.mark(batch);
      for (std::int64_t k = 0; k < batch.count; ++k)
        for (std::int64_t b = 0; b < batch.run; ++b)
          model[batch.file + k * batch.file_step + b - begin] = true;
    }
    std::vector<bool> runs(model.size()), holes(model.size());
    std::int64_t count = 0;
    coverage.for_each_run([&](Extent run) {
      ++count;
      for (auto x = run.begin; x < run.end; ++x) runs[x - begin] = true;
    });
    coverage.for_each_hole([&](Extent hole) {
      for (auto x = hole.begin; x < hole.end; ++x) holes[x - begin] = true;
    });
    EXPECT_EQ(runs, model);
    EXPECT_EQ(coverage.run_count(), count);
    EXPECT_EQ(coverage.wanted(), std::count(model.begin(), model.end(), true));
    for (std::size_t i = 0; i < model.size(); ++i) EXPECT_NE(holes[i], model[i]);
  }
}

TEST(Coverage, PartsEndAtLongHoles) {
  Coverage coverage(nullptr);
  coverage.restart({1000, 2000});
  coverage.mark({1010, nullptr, 0, 10, 3, 15, 0});  // 1010, 1025, 1040: holes of 5
  coverage.mark({1060, nullptr, 0, 40, 1, 0, 0});   // after a hole of 10
  coverage.mark({1990, nullptr, 0, 10, 1, 0, 0});   // after one of 890, up to the end
  const auto parts = [&](std::int64_t dividing_hole) {
    std::vector<std::vector<std::int64_t>> found;
    coverage.for_each_part_in({1000, 2000}, dividing_hole, [&](const Coverage::Cluster& part) {
      found.push_back({part.range.begin, part.range.end, part.wanted, part.runs});
    });
    return found;
  };
  using Parts = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(parts(891), (Parts{{1010, 2000, 80, 5}}));
  EXPECT_EQ(parts(890), (Parts{{1010, 1100, 70, 4}, {1990, 2000, 10, 1}}));
  EXPECT_EQ(parts(6), (Parts{{1010, 1050, 30, 3}, {1060, 1100, 40, 1}, {1990, 2000, 10, 1}}));
  EXPECT_EQ(parts(1).size(), 5u);
  std::vector<std::int64_t> begins;
  coverage.for_each_run_in({1025, 1100}, [&](Extent run) { begins.push_back(run.begin); });
  EXPECT_EQ(begins, (std::vector<std::int64_t>{1025, 1040, 1060}));
  coverage.restart({1000, 2000});
  EXPECT_TRUE(parts(1).empty());
}

}  // namespace
