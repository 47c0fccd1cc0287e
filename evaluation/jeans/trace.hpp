// A run's I/O: every open, close, read and write, and their communication.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include <mpi.h>

#include <penstock/penstock.hpp>

namespace jeans {

/// Operations of one kind.
struct Tally {
  std::int64_t count = 0, bytes = 0;
  double seconds = 0;
  std::map<std::int64_t, std::int64_t> sizes;  ///< how many of which size, in bytes, if known

  void add(std::int64_t operations, std::int64_t of_bytes, double in_seconds);
};

/// Seconds since it was made.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Of one rank; sum() makes it that of all.
struct Trace {
  Tally open, close;    ///< of files, by all ranks together
  Tally read, write;    ///< system calls
  Tally communication;  ///< messages between ranks for reads and writes; copying is in its time
  double visible = 0;   ///< seconds of the program's time in reads and writes of any kind
  std::int64_t dumps = 0;

  /// Adds a file's statistics.
  void add(const penstock::Statistics& done);
  /// Adds those of one call, without background work: sizes are known, too.
  void add_call(const penstock::Statistics& call);
  /// Collective: on rank 0 the sum over the ranks, including sizes.
  Trace sum(MPI_Comm comm) const;
  std::string json() const;
};

}  // namespace jeans
