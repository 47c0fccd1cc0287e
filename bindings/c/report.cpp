// Method names and statistics.
#include <algorithm>
#include <string_view>

#include "c/guard.hpp"
#include "c/objects.hpp"

using penstock::Error;
using penstock::ErrorClass;
using penstock::Statistics;
using penstock::statistics_fields;
using penstock::StatisticsField;
using penstock::c::given;
using penstock::c::guarded;

namespace {

double value_of(const Statistics& statistics, const char* name) {
  const std::string_view wanted = &given(name, "name");
  const auto field = std::ranges::find(statistics_fields, wanted, &StatisticsField::name);
  if (field == statistics_fields.end())
    throw Error(ErrorClass::argument, "there is no statistic '" + std::string(wanted) + "'");
  return std::visit([&](auto member) { return static_cast<double>(statistics.*member); },
                    field->member);
}

}  // namespace

int penstock_last_method(const penstock_file* file, const char** method) {
  return guarded([&] {
    // The names of methods are literals.
    const auto name = to_string(given(file, "file").array.last_method());
    given(method, "the place for the method") = name.data();
  });
}

int penstock_statistic(const penstock_file* file, const char* name, double* value) {
  return guarded([&] {
    const Statistics statistics = given(file, "file").array.statistics();
    given(value, "the place for the value") = value_of(statistics, name);
  });
}

int penstock_last_call(const penstock_file* file, const char* name, double* value) {
  return guarded([&] {
    const Statistics statistics = given(file, "file").array.last_call();
    given(value, "the place for the value") = value_of(statistics, name);
  });
}

const char* penstock_statistic_name(int number) {
  if (number < 0 || static_cast<std::size_t>(number) >= statistics_fields.size()) return nullptr;
  return statistics_fields[static_cast<std::size_t>(number)].name.data();
}
