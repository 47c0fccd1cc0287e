// Common parts of programs that test against a model.
#pragma once

#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <penstock/penstock.hpp>

#include "support/random.hpp"

namespace ps = penstock;
using penstock::test::Random;
using Bytes = std::vector<unsigned char>;

struct Failure {
  std::string text;
};

/// A barrier without spinning: tests run with more ranks than cores.
inline void quiet_barrier(MPI_Comm comm) {
  MPI_Request request;
  MPI_Ibarrier(comm, &request);
  for (int done = 0; !done; sched_yield()) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

/// This host may have cached pages from before another host wrote the file.
inline bool is_on_several_hosts = false;

inline Bytes whole_file(const std::string& path) {
  if (is_on_several_hosts)
    if (const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC); fd >= 0) {
      ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
      ::close(fd);
    }
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

/// How a file is accessed. Through the page cache much is done at once; other devices use the I/O
/// threads, and a slow one lets later calls overtake.
inline std::string random_device(Random& r) {
  // At 200M a request costs as much as some hundred bytes: windows are moved in parts.
  return r.pick({"", "", "paced:bandwidth=200M", "paced:bandwidth=1000G,page_cache=1",
                 r.chance(20) ? "paced:bandwidth=40M" : "paced:bandwidth=1000G",
                 r.chance(20) ? "paced:bandwidth=40M,page_cache=1" : ""});
}

/// Those of a call.
inline ps::Hints random_hints(Random& r, int ranks, std::int64_t element_size) {
  ps::Hints h;
  h.method =
      r.pick({ps::Method::automatic, ps::Method::direct, ps::Method::sieved, ps::Method::gather,
              ps::Method::two_phase, ps::Method::extended, ps::Method::extended});
  h.domains = r.pick({ps::DomainRule::automatic, ps::DomainRule::static_, ps::DomainRule::dynamic,
                      ps::DomainRule::block_cyclic, ps::DomainRule::aligned});
  h.aggregators = r.in(0, ranks);
  h.buffer_size = std::max(element_size, r.pick<std::int64_t>({1, 7, 64, 300, 4096, 1 << 20}));
  h.stripe_size = r.pick<std::int64_t>({0, 13, 64, 500, 4096});
  h.sieve_writes =
      r.pick({ps::SieveWrites::automatic, ps::SieveWrites::always, ps::SieveWrites::never});
  h.exchange =
      r.pick({ps::Exchange::automatic, ps::Exchange::node, ps::Exchange::node, ps::Exchange::sparse,
              ps::Exchange::step1, ps::Exchange::step2, ps::Exchange::step3, ps::Exchange::step4,
              ps::Exchange::step5, ps::Exchange::alltoallw});
  h.pipeline = r.pick({ps::Pipeline::automatic, ps::Pipeline::automatic, ps::Pipeline::always,
                       ps::Pipeline::never});
  h.writers = r.pick<std::int64_t>({0, 0, 0, 1, 2});
  h.stagger = r.chance(3) ? 50 : 0;
  h.active_buffer_size = r.pick<std::int64_t>({0, 0, 1, 1000, 64 << 10, 64 << 20});
  return h;
}

/// Whether a case stresses node proxies: all of them with `--stress`, else one in five.
inline bool is_stressed(bool all, std::uint64_t number) {
  return all || number % 5 == 4;
}

/// Makes node proxies of several "nodes" likely: windows of a few bytes, few aggregators. Drawn
/// after everything else, so that cases without it are unchanged. `bytes`: of the array, which
/// windows cut into at most some thousand pieces.
inline void stress(Random& r, ps::Hints& h, int ranks, std::int64_t element_size,
                   std::int64_t bytes) {
  h.method = r.pick({ps::Method::extended, ps::Method::extended, ps::Method::two_phase});
  h.exchange = r.chance(80) ? ps::Exchange::node : ps::Exchange::automatic;
  h.domains = r.chance(60) ? ps::DomainRule::block_cyclic : ps::DomainRule::automatic;
  h.aggregators = r.in(1, std::min(3, ranks));
  h.buffer_size = std::max(element_size, r.in(1, 300));
  h.stripe_size = r.pick<std::int64_t>({0, 1, 13, 64});
  constexpr std::int64_t most_windows = 3000;
  h.buffer_size = std::max(h.buffer_size.value(), bytes / most_windows);
  if (h.stripe_size > 0) h.stripe_size = std::max(h.stripe_size.value(), bytes / most_windows);
}

inline std::int64_t few_ranks_per_node(Random& r) {
  return r.in(1, 3);
}

/// The command line of a model, and the command that replays a case.
struct Options {
  const char* program;
  std::uint64_t seed = 1, first = 0, cases;
  std::uint64_t repeat = 1;     // times each case
  int steps = 40;               // of a sequence
  int limit = 60;               // seconds for one case
  std::string folder = "/tmp";  // in which a folder is made for the file
  bool stress = false, replays = false;

  Options(const char* name, std::uint64_t default_cases, int argc, char** argv)
      : program(name), cases(default_cases) {
    for (int i = 1; i < argc; ++i) {
      const std::string option = argv[i];
      if (option == "--stress") {
        stress = true;
      } else if (i + 1 == argc) {
        refuse(option);
      } else {
        take(option, argv[++i]);
      }
    }
  }

  std::string replay(int ranks, std::uint64_t number, const std::string& more = "") const {
    return "replay: mpiexec -n " + std::to_string(ranks) + " " + program + more +
           (stress ? " --stress" : "") + (repeat > 1 ? " --repeat " + std::to_string(repeat) : "") +
           " --replay " + std::to_string(seed) + ":" + std::to_string(number) + "\n";
  }

 private:
  void take(const std::string& option, const char* value) {
    const auto number = [&] { return std::strtoull(value, nullptr, 10); };
    if (option == "--seed") seed = number();
    else if (option == "--cases") cases = number();
    else if (option == "--repeat") repeat = number();
    else if (option == "--steps") steps = std::atoi(value);
    else if (option == "--limit") limit = std::atoi(value);
    else if (option == "--folder") folder = value;
    else if (option == "--replay") {
      char* colon = nullptr;
      seed = std::strtoull(value, &colon, 10);
      if (*colon != ':') refuse(value);
      first = std::strtoull(colon + 1, nullptr, 10);
      cases = first + 1;
      replays = true;
    } else {
      refuse(option);
    }
  }
  [[noreturn]] void refuse(const std::string& what) const {
    std::fprintf(stderr, "%s: '%s' is not understood; see the head of its source\n", program,
                 what.c_str());
    std::exit(2);
  }
};

inline char what_hangs[400];

/// If ranks wait for each other for ever, the message has the case.
extern "C" inline void took_too_long(int) {
  static_cast<void>(!::write(2, what_hangs, std::strlen(what_hangs)));
  ::_exit(3);
}

/// From here on the case may take this many seconds; 0: for ever.
inline void watch(int rank, const std::string& replay, int limit) {
  std::snprintf(what_hangs, sizeof what_hangs, "FAILED on rank %d: the case did not end\n%s", rank,
                replay.c_str());
  std::signal(SIGALRM, took_too_long);
  alarm(static_cast<unsigned>(limit));
}

/// Rows and columns of a two-dimensional array.
inline ps::Section grid(ps::Range rows, ps::Range columns) {
  return ps::Section(std::vector<ps::Indices>{rows, columns});
}

inline ps::Range random_range(Random& r, std::int64_t extent) {
  const std::int64_t lower = r.in(0, extent - 1), upper = r.in(lower, extent);
  const std::int64_t stride = r.chance(60) ? 1 : r.in(1, 4);
  return {lower, upper, stride, r.chance(25) ? r.in(1, stride) : 1};
}

inline bool is_independent(ps::Method method) {
  return method == ps::Method::direct || method == ps::Method::sieved;
}

inline const char* name_of(const std::optional<ps::Background>& mode) {
  return !mode                              ? "blocking"
         : *mode == ps::Background::none    ? "none"
         : *mode == ps::Background::storage ? "storage"
                                            : "all";
}
