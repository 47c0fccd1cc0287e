// Copies of runs: every length and every alignment within a cache line, and nothing outside the
// runs.
#include "pattern/copy.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace penstock {
namespace {

using Copy = void (*)(std::byte*, std::int64_t, const std::byte*, std::int64_t, std::int64_t,
                      std::int64_t);

class Copies : public testing::TestWithParam<std::tuple<Copy, std::int64_t, std::int64_t>> {};

TEST_P(Copies, CopyTheRunsAndNothingElse) {
  const auto [copy, run, count] = GetParam();
  const std::int64_t gap = count > 1 ? 40 : 0, step = run + gap;
  for (const std::int64_t to_offset : {0, 1, 8, 16, 63})
    for (const std::int64_t from_offset : {0, 4, 33})
      for (const bool apart : {false, true}) {  // source and destination
        const std::int64_t to_step = apart ? step : run, from_step = apart ? run : step;
        std::vector<std::byte> from(static_cast<std::size_t>(from_offset + step * count + 64));
        for (std::size_t i = 0; i < from.size(); ++i)
          from[i] = static_cast<std::byte>(i * 7 + i / 251 + 1);
        constexpr std::byte untouched{0xee};
        std::vector<std::byte> to(static_cast<std::size_t>(128 + step * count + 64), untouched);
        auto expected = to;
        for (std::int64_t i = 0; i < count; ++i)
          for (std::int64_t byte = 0; byte < run; ++byte)
            expected[static_cast<std::size_t>(to_offset + i * to_step + byte)] =
                from[static_cast<std::size_t>(from_offset + i * from_step + byte)];
        copy(to.data() + to_offset, to_step, from.data() + from_offset, from_step, run, count);
        ASSERT_TRUE(to == expected) << "to +" << to_offset << ", from +" << from_offset;
      }
}

INSTANTIATE_TEST_SUITE_P(Runs, Copies,
                         testing::Combine(testing::Values(copy_runs, copy_runs_past_cache),
                                          testing::Values(1, 3, 8, 12, 64, 65, 100, 128, 500, 1023,
                                                          1024, 1025, 1100, 4096, 16384, 16385,
                                                          70001),
                                          testing::Values(1, 2, 5)));
/// The lengths of common element types have code of their own.
INSTANTIATE_TEST_SUITE_P(ShortRuns, Copies,
                         testing::Combine(testing::Values(copy_runs),
                                          testing::Range<std::int64_t>(1, 132),
                                          testing::Values(3)));

}  // namespace
}  // namespace penstock
