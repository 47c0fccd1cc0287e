#include <penstock/statistics.hpp>

#include <algorithm>

namespace penstock {

Statistics& Statistics::operator+=(const Statistics& more) {
  for (const StatisticsField& field : statistics_fields)
    std::visit(
        [&](auto member) {
          auto& value = this->*member;
          value = field.peak ? std::max(value, more.*member) : value + more.*member;
        },
        field.member);
  return *this;
}

}  // namespace penstock
