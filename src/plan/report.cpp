// A PlanReport as text: what `penstock explain` prints, and the golden files of the tests hold.
#include <cstdarg>
#include <cstdio>
#include <map>

#include <penstock/explain.hpp>

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

std::string flows_text(const PlanReport& report) {
  constexpr std::size_t most_rows = 32;
  std::map<int, std::vector<PlanReport::Flow>> by_rank;
  for (const auto& flow : report.flows) by_rank[flow.rank].push_back(flow);
  std::string text = "bytes between each rank and the aggregators:\n";
  std::size_t rows = 0;
  for (const auto& [rank, flows] : by_rank) {
    if (++rows > most_rows)
      return text + line("  ... and %zu more ranks", by_rank.size() - most_rows);
    text += "  rank " + std::to_string(rank) + ":";
    std::size_t listed = 0;
    for (const auto& flow : flows) {
      if (++listed > 8) {
        text += " ... " + std::to_string(flows.size()) + " aggregators";
        break;
      }
      text += (listed > 1 ? ", " : " ") + std::to_string(flow.bytes) +
              (flow.aggregator_rank == rank ? " in its own memory"
                                            : " with rank " + std::to_string(flow.aggregator_rank));
    }
    text += '\n';
  }
  return text;
}

}  // namespace

namespace {

std::string alternatives_text(const PlanReport& report) {
  if (report.alternatives.empty()) return "";
  std::string text = "predicted, by the cost model:\n";
  for (const auto& a : report.alternatives) {
    std::string name(to_string(a.method));
    if (a.exchange != Exchange::automatic) name += ", " + std::string(to_string(a.exchange));
    const bool collective = a.exchange != Exchange::automatic;
    const bool chosen = a.method == report.method && (!collective || a.exchange == report.exchange);
    text += line("  %c %-20s %12.3f ms", chosen ? '*' : ' ', name.c_str(), a.seconds * 1e3);
    if (!a.eligible && !a.note.empty()) {
      text.pop_back();
      text += "   not by auto: " + a.note + "\n";
    }
  }
  return text + report.costs.to_text();
}

}  // namespace

std::string PlanReport::to_text() const {
  std::string text = "method            " + std::string(to_string(method)) + " (" + reason + ")\n";
  text += "bounding section  ";
  for (std::size_t d = 0; d < bounding_section.size(); ++d)
    text += (d ? ", " : "(") + std::to_string(bounding_section[d].first) + ":" +
            std::to_string(bounding_section[d].second);
  text += bounding_section.empty() ? "none: nothing is asked for\n" : ")\n";
  text += alternatives_text(*this);
  if (domains.empty()) return text + "each rank moves its own bytes; nothing is exchanged\n";
  text += line("exchange          %s", std::string(to_string(exchange)).c_str());
  text += line("divided bytes     %lld:%lld (%lld)", Long(span_begin), Long(span_end),
               Long(span_end - span_begin));
  text += line("file domains      %zu, rule %s, staging buffer %lld bytes", domains.size(),
               std::string(to_string(rule)).c_str(), Long(buffer_size));
  text += line("  %-10s %14s %14s %7s %14s %7s %14s %7s", "aggregator", "from byte", "to byte",
               "blocks", "wanted", "rounds", "holes", "sieved");
  for (const Domain& d : domains)
    text += line("  rank %-5d %14lld %14lld %7lld %14lld %7lld %14lld %7lld", d.aggregator_rank,
                 Long(d.begin), Long(d.end), Long(d.blocks), Long(d.wanted_bytes), Long(d.rounds),
                 Long(d.hole_bytes), Long(d.sieved_rounds));
  return text + flows_text(*this);
}

}  // namespace penstock
