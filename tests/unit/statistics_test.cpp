#include <gtest/gtest.h>

#include <set>

#include <penstock/statistics.hpp>

#include "unit/member_count.hpp"

using namespace penstock;

namespace {

static_assert(has_members<Statistics, statistics_fields.size()>, "a row for each member");

void set(Statistics& statistics, const StatisticsField& field, int value) {
  std::visit([&]<class T>(T Statistics::*member) { statistics.*member = static_cast<T>(value); },
             field.member);
}

double get(const Statistics& statistics, const StatisticsField& field) {
  return std::visit([&](auto member) { return static_cast<double>(statistics.*member); },
                    field.member);
}

TEST(Statistics, EachRowHasAMemberOfItsOwn) {
  std::set<std::string_view> names;
  for (const StatisticsField& field : statistics_fields) {
    Statistics statistics;
    set(statistics, field, 3);
    for (const StatisticsField& other : statistics_fields)
      EXPECT_EQ(get(statistics, other), other.name == field.name ? 3 : 0) << field.name;
    EXPECT_TRUE(names.insert(field.name).second) << field.name << " is there twice";
    EXPECT_TRUE(field.help.ends_with('.') && !field.unit.empty()) << field.name;
  }
}

TEST(Statistics, SumsAndPeaks) {
  Statistics sum, more;
  for (const StatisticsField& field : statistics_fields) {
    set(sum, field, 5);
    set(more, field, 2);
  }
  sum += more;
  EXPECT_EQ(sum.writes, 7);
  EXPECT_EQ(sum.time_room, 7);
  EXPECT_EQ(sum.staging_peak, 5);
  EXPECT_EQ(sum.buffer_peak, 5);
  more += sum;
  EXPECT_EQ(more.staging_peak, 5);
}

}  // namespace
