#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <penstock/error.hpp>
#include <penstock/section.hpp>

#include "support/random.hpp"

using namespace penstock;

namespace {

const std::vector<std::int64_t> shape{10, 20};

std::string message_of(const Section& section) {
  try {
    section.check(shape);
  } catch (const Error& error) {
    EXPECT_EQ(error.error_class(), ErrorClass::section);
    return error.what();
  }
  return "";
}

TEST(Range, CountsStridesAndBlocks) {
  EXPECT_EQ((Range{0, 10}).count(), 10);
  EXPECT_EQ((Range{0, 10, 3}).count(), 4);
  EXPECT_EQ((Range{1, 10, 3}).count(), 3);
  EXPECT_EQ((Range{5, 5, 3}).count(), 0);
  EXPECT_EQ((Range{0, 10, 4, 2}).count(), 6);  // 0 1 4 5 8 9
  EXPECT_EQ((Range{0, 9, 4, 2}).count(), 5);   // 0 1 4 5 8
}

TEST(Section, ChecksSayWhatIsWrong) {
  EXPECT_EQ(message_of(Section{{0, 10}, {0, 20}}), "");
  EXPECT_NE(message_of(Section{{0, 10, 0}, {0, 20}}).find("dimension 0: stride 0"),
            std::string::npos);
  EXPECT_NE(message_of(Section{{0, 10}, {0, 20, -1}}).find("dimension 1: stride -1"),
            std::string::npos);
  EXPECT_NE(message_of(Section{{5, 2}, {0, 20}}).find("upper bound is below lower"),
            std::string::npos);
  EXPECT_NE(message_of(Section{{0, 11}, {0, 20}}).find("indices are 0:10"), std::string::npos);
  EXPECT_NE(message_of(Section{{-1, 3}, {0, 20}}).find("out of the array"), std::string::npos);
  EXPECT_NE(message_of(Section{{0, 3}}).find("1 dimensions, the array has 2"), std::string::npos);
  EXPECT_NE(message_of(Section({IndexList{1, 2, 1}, Range{0, 1}})).find("1 is listed twice"),
            std::string::npos);
  EXPECT_NE(message_of(Section({IndexList{10}, Range{0, 1}})).find("index 10"), std::string::npos);
  EXPECT_NE(message_of(Section::extents({{0, 5}, {4, 6}})).find("overlaps"), std::string::npos);
  EXPECT_NE(message_of(Section::extents({{0, 201}})).find("0:200"), std::string::npos);
  EXPECT_EQ(message_of(Section::extents({{0, 5}, {5, 200}})), "");
}

TEST(Section, ListsHaveIndicesOfTheArrayEachOnce) {
  test::Random r{std::mt19937_64(1)};
  for (int trial = 0; trial < 2000; ++trial) {
    IndexList list;
    for (std::int64_t left = r.in(0, 6); left > 0; --left)
      list.push_back(r.chance(95) ? r.in(0, 9) : r.in(-1, 10));
    if (r.chance(50)) std::sort(list.begin(), list.end());
    const std::set<std::int64_t> unique(list.begin(), list.end());
    const bool inside = unique.empty() || (*unique.begin() >= 0 && *unique.rbegin() < 10);
    const std::string message = message_of(Section({list, Range{0, 1}}));
    EXPECT_EQ(message.empty(), inside && unique.size() == list.size()) << message;
    EXPECT_TRUE(message.empty() || message.find("dimension 0: index") != std::string::npos)
        << message;
  }
}

TEST(Section, ThePapersFormIsOneBasedAndInclusive) {
  EXPECT_EQ(Section::inclusive({{1, 100, 1}, {11, 110, 2}}), (Section{{0, 100}, {10, 110, 2}}));
  EXPECT_EQ(Section::paper("(1:100:1, 1+10p:100+10p:1)", 3), (Section{{0, 100}, {30, 130}}));
  EXPECT_EQ(Section::paper("(p+1:4096:nprocs, p+1:4096:n procs)", 2, 16).dimensions().size(), 2u);
}

TEST(Section, PaperTablesAsPrinted) {
  EXPECT_EQ(Section::paper("(p+1:4096:nprocs, p+1:4096:nprocs)", 2, 16),
            (Section{{2, 4096, 16}, {2, 4096, 16}}));
  EXPECT_EQ(Section::paper("(1+250p:250+250p:2, 1+250p:250+250p:2)", 1),
            (Section{{250, 500, 2}, {250, 500, 2}}));
  EXPECT_EQ(Section::paper("(500:2500:3, 1+64p:64+64p:2)", 1),
            (Section{{499, 2500, 3}, {64, 128, 2}}));
  EXPECT_EQ(Section::paper(" 1 : 4096 , 1 + 8p : 16 + 8*p : 1 ", 0), (Section{{0, 4096}, {0, 16}}));
  EXPECT_EQ(Section::paper("(-2+p:10-p+1)", 4), (Section{{1, 7}}));
}

TEST(Section, PaperTextErrorsPointAtThePlace) {
  for (const char* text : {"", "(1:2", "(1:2)x", "(1;2)", "(q:2)", "(1:99999999999999999999)"})
    EXPECT_THROW(Section::paper(text), Error) << text;
}

TEST(Section, IntersectionIsNeverDeniedWrongly) {
  // All pairs of small ranges compared with sets; without blocks the answer is exact.
  std::vector<Range> ranges;
  for (std::int64_t lower : {0, 1, 3, 7})
    for (std::int64_t upper : {8, 12, 17})
      for (std::int64_t stride : {1, 2, 3, 5, 6})
        for (std::int64_t block : {1, 2})
          if (block <= stride) ranges.push_back({lower, upper, stride, block});
  const auto indices = [](const Range& r) {
    std::set<std::int64_t> set;
    for (auto i = r.lower; i < r.upper; ++i)
      if ((i - r.lower) % r.stride < r.block) set.insert(i);
    return set;
  };
  for (const Range& a : ranges)
    for (const Range& b : ranges) {
      bool meet = false;
      for (const auto i : indices(a)) meet = meet || indices(b).count(i) > 0;
      const bool said = Section{a}.may_intersect(Section{b});
      if (meet) {
        EXPECT_TRUE(said) << Section{a}.to_string() << Section{b}.to_string();
      }
      if (a.block == 1 && b.block == 1) {
        EXPECT_EQ(said, meet) << Section{a}.to_string() << Section{b}.to_string();
      }
    }
}

TEST(Section, ExtentsThatTouchDoNotIntersect) {
  const Section middle = Section::extents({{10, 12}, {18, 20}});
  EXPECT_FALSE(middle.may_intersect(Section::extents({{0, 10}})));
  EXPECT_TRUE(middle.may_intersect(Section::extents({{0, 11}})));
  EXPECT_TRUE(middle.may_intersect(Section::extents({{19, 30}})));
  EXPECT_FALSE(middle.may_intersect(Section::extents({{20, 30}})));
}

TEST(Section, CyclicSharesDoNotIntersect) {
  EXPECT_FALSE((Section{{0, 1000000007, 4}}).may_intersect(Section{{1, 1000000007, 4}}));
  EXPECT_FALSE((Section{{0, 100, 8, 2}}).may_intersect(Section{{2, 100, 8, 2}}));
  EXPECT_TRUE((Section{{0, 100, 8, 3}}).may_intersect(Section{{2, 100, 8, 2}}));
  EXPECT_FALSE((Section{{0, 10}}).may_intersect(Section{{3, 3}}));
}

}  // namespace
