// What one collective write costs each rank, from 16 to 4,096 ranks on 1 to 256 nodes, counted in a
// simulation: all ranks are in this process (tests/support/simulated_ranks.hpp) and run the engine
// as it is. Counts, not times.
//
//   simulate [--json FILE] [MOST_RANKS]
//
// Two patterns, 16 KiB for each rank, one aggregator a node:
//   blocks   a matrix in blocks of 128 x 128 bytes: a rank has few neighbours
//   columns  a matrix of 1024 rows in columns of 16 bytes: every rank has bytes in every domain
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "mpi/team.hpp"
#include "support/simulated_ranks.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr std::int64_t bytes_of_a_rank = 16384;

/// A matrix in equal blocks.
struct Pattern {
  const char* name;
  std::int64_t height, width;  // of a block, bytes
  int rows, columns;           // of blocks

  static Pattern blocks(int ranks) {
    const int rows = 1 << (std::bit_width(static_cast<unsigned>(ranks)) - 1) / 2;
    return {"blocks", 128, 128, rows, ranks / rows};
  }
  static Pattern column_strips(int ranks) { return {"columns", 1024, 16, 1, ranks}; }
  std::int64_t line() const { return columns * width; }
};

struct Largest {
  std::int64_t most = 0, sum = 0;
  void add(std::int64_t value) {
    most = std::max(most, value);
    sum += value;
  }
};

struct Row {
  const char* pattern = "";
  Layout layout;
  std::string exchange;
  Largest descriptions, description_bytes, data, agreements, staging;
  double meetings = 0, seconds = 0;
};

Access block_of(const Pattern& p, int rank, std::vector<std::byte>& memory) {
  const std::int64_t first = rank / p.columns * p.height * p.line() + rank % p.columns * p.width;
  memory.assign(bytes_of_a_rank, static_cast<std::byte>(rank + 1));
  Access access;
  access.direction = Direction::write;
  const Nest lines = Nest::repeat(Nest::run(0, p.width), p.height, p.line());
  access.file = Footprint({FilePattern(lines.moved(first))});
  access.memory.push_back(MemoryMap(memory.data(), Nest::run(0, bytes_of_a_rank)));
  return access;
}

bool all_there(const Pattern& p, Storage& storage) {
  std::vector<std::byte> line(static_cast<std::size_t>(p.line()));
  for (std::int64_t y = 0; y < p.rows * p.height; ++y) {
    read_fully(storage, line, y * p.line());
    for (std::int64_t x = 0; x < p.line(); ++x)
      if (line[static_cast<std::size_t>(x)] !=
          static_cast<std::byte>(y / p.height * p.columns + x / p.width + 1))
        return false;
  }
  return true;
}

Row simulate(const Pattern& pattern, const Layout& layout, Exchange exchange) {
  FileUnits units;
  units.all = {0, layout.ranks * bytes_of_a_rank};
  const auto shared = make_shared_storage(units.all.end);
  SimulatedRanks ranks(
      layout, [&](int) { return view_of(shared); }, units);
  Hints hints;
  hints.method = Method::extended;
  hints.exchange = exchange;
  hints.aggregators = layout.nodes();
  hints.buffer_size = 256 * 1024;
  hints.pipeline = Pipeline::never;
  hints.active_buffer_size = 0;
  std::vector<std::vector<std::byte>> memory(static_cast<std::size_t>(layout.ranks));
  std::vector<std::shared_ptr<Operation>> begun;
  for (int rank = 0; rank < layout.ranks; ++rank)
    begun.push_back(
        ranks.begin(rank, block_of(pattern, rank, memory[static_cast<std::size_t>(rank)]), hints));
  const std::int64_t meetings = Team::meetings();
  const auto start = std::chrono::steady_clock::now();
  if (!ranks.run() || begun.front()->error() || !all_there(pattern, *shared)) {
    std::fprintf(stderr, "simulate: %d ranks on %d nodes: the file is not what it should be\n",
                 layout.ranks, layout.nodes());
    std::exit(1);
  }
  Row row;
  row.pattern = pattern.name;
  row.layout = layout;
  row.exchange = to_string(begun.front()->plan().exchange);
  row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  row.meetings = static_cast<double>(Team::meetings() - meetings) / layout.ranks;
  for (int rank = 0; rank < layout.ranks; ++rank) {
    const MessageCounts& sent = ranks.sent(rank);
    row.descriptions.add(sent.messages[0] + sent.messages[2]);
    row.description_bytes.add(sent.bytes[0] + sent.bytes[2]);
    row.data.add(sent.messages[1]);
    row.agreements.add(sent.messages[3]);
    row.staging.add(begun[static_cast<std::size_t>(rank)]->take_counts().staging_peak);
  }
  return row;
}

void print(const Row& row) {
  std::printf("%-8s %6d %6d  %-7s %6lld %9lld %8lld %8.1f %6lld %9.1f %9lld %9.2f\n", row.pattern,
              row.layout.ranks, row.layout.nodes(), row.exchange.c_str(),
              static_cast<long long>(row.descriptions.most),
              static_cast<long long>(row.description_bytes.most),
              static_cast<long long>(row.data.most),
              static_cast<double>(row.data.sum) / row.layout.ranks,
              static_cast<long long>(row.agreements.most), row.meetings,
              static_cast<long long>(row.staging.most / 1024), row.seconds);
  std::fflush(stdout);
}

std::string json(const Row& row) {
  const auto field = [](const char* name, std::int64_t value) {
    return std::string(", \"") + name + "\": " + std::to_string(value);
  };
  return std::string("{\"pattern\": \"") + row.pattern + "\", \"exchange\": \"" + row.exchange +
         "\"" + field("ranks", row.layout.ranks) + field("nodes", row.layout.nodes()) +
         field("descriptions", row.descriptions.most) +
         field("description_bytes", row.description_bytes.most) + field("data", row.data.most) +
         field("data_sum", row.data.sum) + field("agreements", row.agreements.most) +
         field("staging", row.staging.most) + ", \"meetings\": " + std::to_string(row.meetings) +
         "}\n";
}

}  // namespace

int main(int argc, char** argv) {
  std::ofstream out;
  int most = 4096;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0 && i + 1 < argc) out.open(argv[++i]);
    else most = std::atoi(argv[i]);
  }
  std::printf(
      "One collective write, 16 KiB of each rank, one aggregator a node.\nOf the rank that has "
      "most: messages with descriptions and their bytes, with "
      "data, for agreements;\nmeetings in shared memory; staging memory.\n\n"
      "%-8s %6s %6s  %-7s %6s %9s %8s %8s %6s %9s %9s %9s\n",
      "", "ranks", "nodes", "", "descr.", "bytes", "data", "(mean)", "agree", "meetings", "KiB",
      "seconds");
  for (const auto pattern : {Pattern::blocks, Pattern::column_strips})
    for (int ranks = 16; ranks <= most; ranks *= 4)
      for (const int nodes : {1, 4, 16, 64, 256}) {
        if (nodes > ranks || ranks / nodes > 256) continue;
        for (const Exchange exchange : {Exchange::node, Exchange::sparse}) {
          if (exchange == Exchange::node && nodes == ranks) continue;
          const Row row = simulate(pattern(ranks), {ranks, ranks / nodes}, exchange);
          print(row);
          if (out) out << json(row);
        }
      }
}
