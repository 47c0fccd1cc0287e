#include "trace.hpp"

#include <array>
#include <iomanip>
#include <sstream>
#include <vector>

namespace jeans {
namespace {

/// All operations, in one order.
template <class AnyTrace>
auto tallies(AnyTrace& trace) {
  return std::array{&trace.open, &trace.close, &trace.read, &trace.write, &trace.communication};
}
constexpr std::array<const char*, 5> names{"open", "close", "read", "write", "communication"};

std::string json_of(const Tally& tally) {
  std::ostringstream out;
  out << std::setprecision(9) << "{\"count\": " << tally.count << ", \"bytes\": " << tally.bytes
      << ", \"seconds\": " << tally.seconds << ", \"sizes\": {";
  const char* comma = "";
  for (const auto& [size, count] : tally.sizes) {
    out << comma << '"' << size << "\": " << count;
    comma = ", ";
  }
  out << "}}";
  return out.str();
}

/// Collective: sizes of all ranks, on rank 0.
void sum_sizes(MPI_Comm comm, const std::map<std::int64_t, std::int64_t>& mine,
               std::map<std::int64_t, std::int64_t>& total) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  std::vector<std::int64_t> pairs;
  for (const auto& [size, count] : mine) pairs.insert(pairs.end(), {size, count});
  const int words = static_cast<int>(pairs.size());
  std::vector<int> counts(ranks), places(ranks);
  MPI_Gather(&words, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm);
  int all = 0;
  for (int r = 0; r < ranks; ++r) {
    places[r] = all;
    all += counts[r];
  }
  std::vector<std::int64_t> gathered(rank == 0 ? all : 0);
  MPI_Gatherv(pairs.data(), words, MPI_INT64_T, gathered.data(), counts.data(), places.data(),
              MPI_INT64_T, 0, comm);
  for (std::size_t i = 0; i < gathered.size(); i += 2) total[gathered[i]] += gathered[i + 1];
}

}  // namespace

void Tally::add(std::int64_t operations, std::int64_t of_bytes, double in_seconds) {
  count += operations;
  bytes += of_bytes;
  seconds += in_seconds;
}

void Trace::add(const penstock::Statistics& done) {
  const std::int64_t operations = done.reads + done.writes;
  const double share = operations > 0 ? done.time_storage / static_cast<double>(operations) : 0;
  read.add(done.reads, done.bytes_read, share * static_cast<double>(done.reads));
  write.add(done.writes, done.bytes_written, share * static_cast<double>(done.writes));
  communication.add(done.messages, done.bytes_sent, done.time_exchange + done.time_copy);
}

void Trace::add_call(const penstock::Statistics& call) {
  add(call);
  // Those of one call are equal, except for a shorter last one.
  if (call.reads > 0) read.sizes[call.bytes_read / call.reads] += call.reads;
  if (call.writes > 0) write.sizes[call.bytes_written / call.writes] += call.writes;
}

Trace Trace::sum(MPI_Comm comm) const {
  Trace total = *this;
  const auto mine = tallies(*this);
  const auto sums = tallies(total);
  for (std::size_t t = 0; t < mine.size(); ++t) {
    *sums[t] = {};
    MPI_Reduce(&mine[t]->count, &sums[t]->count, 1, MPI_INT64_T, MPI_SUM, 0, comm);
    MPI_Reduce(&mine[t]->bytes, &sums[t]->bytes, 1, MPI_INT64_T, MPI_SUM, 0, comm);
    MPI_Reduce(&mine[t]->seconds, &sums[t]->seconds, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
    sum_sizes(comm, mine[t]->sizes, sums[t]->sizes);
  }
  MPI_Reduce(&visible, &total.visible, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
  return total;
}

std::string Trace::json() const {
  std::ostringstream out;
  const auto all = tallies(*this);
  for (std::size_t t = 0; t < all.size(); ++t)
    out << '"' << names[t] << "\": " << json_of(*all[t]) << ", ";
  out << std::setprecision(9) << "\"visible\": " << visible << ", \"dumps\": " << dumps;
  return out.str();
}

}  // namespace jeans
