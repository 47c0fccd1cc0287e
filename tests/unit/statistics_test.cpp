#include <gtest/gtest.h>

#include <set>

#include <penstock/statistics.hpp>

#include "trace/recorder.hpp"
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

/// For each phase that has a sum.
TEST(Statistics, EachPhaseHasTheTimeOfItsSpans) {
  const std::pair<Phase, double Statistics::*> sums[] = {
      {Phase::plan, &Statistics::time_plan}, {Phase::exchange, &Statistics::time_exchange},
      {Phase::copy, &Statistics::time_copy}, {Phase::storage, &Statistics::time_storage},
      {Phase::wait, &Statistics::time_wait}, {Phase::room, &Statistics::time_room}};
  for (const auto& [phase, sum] : sums) {
    Recorder recorder;
    const Span::Clock::time_point begin;
    for (const int seconds : {1, 2})
      recorder.add({0, phase, 0, -1, begin, begin + std::chrono::seconds(seconds)});
    for (const auto& [other, seconds] : sums)
      EXPECT_EQ(recorder.counts.*seconds, other == phase ? 3 : 0) << static_cast<int>(phase);
  }
}

/// Unlike the sums, parts count no second twice.
TEST(Statistics, PartsOfPhasesWithinEachOtherAddUp) {
  const auto at = [](int seconds) {
    return Span::Clock::time_point() + std::chrono::seconds(seconds);
  };
  Recorder recorder;
  recorder.begin_part(Phase::write_call, at(0));  // not a part
  recorder.begin_part(Phase::exchange, at(1));
  recorder.begin_part(Phase::copy, at(2));
  recorder.end_part(Phase::copy, at(4));
  recorder.end_part(Phase::exchange, at(5));
  recorder.begin_part(Phase::room, at(7));  // between phases
  recorder.begin_part(Phase::wait, at(8));
  recorder.end_part(Phase::room, at(9));
  recorder.end_part(Phase::wait, at(12));
  recorder.end_part(Phase::write_call, at(20));
  EXPECT_EQ(recorder.parts.exchange, 2);
  EXPECT_EQ(recorder.parts.copy, 2);
  EXPECT_EQ(recorder.parts.room, 2);
  EXPECT_EQ(recorder.parts.wait, 3);
  EXPECT_EQ(recorder.parts.sum(), 9);
}

}  // namespace
