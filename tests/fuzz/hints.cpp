// Hints as text, a line each: NAME=VALUE.
#include <penstock/hints.hpp>
#include <ranges>

#include "file/device.hpp"
#include "fuzz.hpp"

namespace ps = penstock;

namespace {

constexpr std::string_view words[] = {"method=",
                                      "extended",
                                      "aggregators=",
                                      "buffer_size=",
                                      "storage=",
                                      "uring-direct",
                                      "locks=",
                                      "io_thread=",
                                      "batch",
                                      "nice=",
                                      "core=",
                                      "io_depth=",
                                      "exchange=",
                                      "device=",
                                      "paced:",
                                      "fault:",
                                      "bandwidth=",
                                      "latency=",
                                      "servers=",
                                      "+",
                                      ",",
                                      "16M",
                                      "1G",
                                      "auto",
                                      "\n",
                                      "never",
                                      "ENOSPC",
                                      "short",
                                      "99999999999G",
                                      "1e99s",
                                      "-1",
                                      "page_cache=1",
                                      "write",
                                      "read",
                                      "@"};

std::map<std::string, std::string> lines(std::string_view text) {
  std::map<std::string, std::string> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t equals = std::min(line.find('='), line.size());
    found.emplace(line.substr(0, equals), line.substr(std::min(equals + 1, line.size())));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

}  // namespace

std::span<const std::string_view> fuzz_words() {
  return words;
}

void fuzz_one(const std::uint8_t* data, std::size_t size) {
  const auto given = lines(ps::fuzz::text_of(data, size));
  constexpr auto argument = ps::ErrorClass::argument;
  // One by one as well: the first that is refused hides the others. A dozen at most, for more
  // inputs a second.
  for (const auto& [name, value] : given | std::views::take(12)) {
    ps::Hints hints;
    if (!ps::fuzz::accepted([&] { hints.set({{name, value}}); }, {argument})) continue;
    ps::Hints again;
    again.set(hints.text());
    ps::fuzz::require(again == hints, "hints differ when their own text is read");
    ps::fuzz::accepted([&] { ps::Device::parse(hints.device.value()); }, {argument});
  }
  ps::Hints hints;
  ps::fuzz::accepted([&] { hints.set(given); }, {argument});
}
