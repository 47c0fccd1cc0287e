// A PlanReport as text: printed by `penstock explain`, and compared with golden files by the tests.
// It fits a screen for any number of ranks; the report itself has all figures, to the byte.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <map>

#include <penstock/explain.hpp>

#include "base/human.hpp"

namespace penstock {
namespace {

std::string line(const char* format, ...) __attribute__((format(printf, 1, 2)));

std::string line(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return std::string(text) + "\n";
}

using Long = long long;
constexpr std::size_t most_rows = 4;

/// Direct and sieved exchange nothing.
bool exchanges(Method method) {
  return method != Method::direct && method != Method::sieved;
}

std::string name_of(Method method, Exchange exchange) {
  std::string name(to_string(method));
  if (exchanges(method)) name += ", " + std::string(to_string(exchange));
  return name;
}

std::string flow_text(const std::vector<PlanReport::Flow>& flows) {
  std::string text;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (i == most_rows)
      return text + " and so on, with " + std::to_string(flows.size()) + " aggregators";
    const PlanReport::Flow& flow = flows[i];
    text +=
        (i > 0 ? ", " : " ") + text_of_bytes(flow.bytes) +
        (flow.aggregator_rank == flow.rank ? " in its own memory"
                                           : " with rank " + std::to_string(flow.aggregator_rank));
  }
  return text;
}

std::string flows_text(const PlanReport& report) {
  std::map<int, std::vector<PlanReport::Flow>> by_rank;
  for (const auto& flow : report.flows) by_rank[flow.rank].push_back(flow);
  const std::size_t shown = by_rank.size() > most_rows ? most_rows / 2 : by_rank.size();
  std::string text = "bytes between each rank and the aggregators:\n";
  std::size_t rows = 0;
  for (const auto& [rank, flows] : by_rank) {
    if (rows++ == shown) break;
    text += "  rank " + std::to_string(rank) + ":" + flow_text(flows) + "\n";
  }
  if (by_rank.size() > shown) text += line("  ... and %zu more ranks", by_rank.size() - shown);
  return text;
}

std::string alternatives_text(const PlanReport& report) {
  if (report.alternatives.empty()) return "";
  std::string text = "predicted, by the cost model:\n";
  for (const auto& a : report.alternatives) {
    const bool chosen =
        a.method == report.method && (!exchanges(a.method) || a.exchange == report.exchange);
    text += line("  %c %-20s %8s", chosen ? '*' : ' ', name_of(a.method, a.exchange).c_str(),
                 text_of_seconds(a.seconds).c_str());
    if (!a.eligible && !a.note.empty()) {
      text.pop_back();
      text += "   not by auto: " + a.note + "\n";
    }
  }
  return text + report.costs.to_text();
}

std::string domain_row(const PlanReport::Domain& d) {
  return line("  rank %-5d %9s %9s %7lld %9s %7lld %9s %7lld", d.aggregator_rank,
              text_of_bytes(d.begin).c_str(), text_of_bytes(d.end).c_str(), Long(d.blocks),
              text_of_bytes(d.wanted_bytes).c_str(), Long(d.rounds),
              text_of_bytes(d.hole_bytes).c_str(), Long(d.sieved_rounds));
}

/// The first ones and the last; the sum covers all.
std::string domains_text(const std::vector<PlanReport::Domain>& domains) {
  std::string text = line("  %-10s %9s %9s %7s %9s %7s %9s %7s", "aggregator", "from", "to",
                          "blocks", "wanted", "rounds", "holes", "sieved");
  const bool all = domains.size() <= most_rows;
  const std::size_t shown = all ? domains.size() : most_rows - 2;
  std::int64_t wanted = 0, holes = 0, rounds = 0;
  for (std::size_t i = 0; i < domains.size(); ++i) {
    if (i < shown || i + 1 == domains.size()) text += domain_row(domains[i]);
    if (i == shown && !all) text += line("  ... and %zu more", domains.size() - shown - 1);
    wanted += domains[i].wanted_bytes;
    holes += domains[i].hole_bytes;
    rounds = std::max(rounds, domains[i].rounds);
  }
  return text + line("  together: %s wanted, %s of holes, in up to %lld rounds",
                     text_of_bytes(wanted).c_str(), text_of_bytes(holes).c_str(), Long(rounds));
}

}  // namespace

std::string PlanReport::to_text() const {
  std::string text = "method            " + name_of(method, exchange) + " (" + reason + ")\n";
  text += "bounding section  ";
  for (std::size_t d = 0; d < bounding_section.size(); ++d)
    text += (d ? ", " : "(") + std::to_string(bounding_section[d].first) + ":" +
            std::to_string(bounding_section[d].second);
  text += bounding_section.empty() ? "none: nothing is asked for\n" : ")\n";
  text += alternatives_text(*this);
  if (domains.empty()) return text + "each rank moves its own bytes; nothing is exchanged\n";
  text += line("file domains      %zu, of bytes %lld to %lld (%s); rule %s; staging buffer %s",
               domains.size(), Long(span_begin), Long(span_end),
               text_of_bytes(span_end - span_begin).c_str(), std::string(to_string(rule)).c_str(),
               text_of_bytes(buffer_size).c_str());
  return text + domains_text(domains) + flows_text(*this);
}

}  // namespace penstock
