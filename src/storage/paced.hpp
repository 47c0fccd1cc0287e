// A model of a shared file system's speed on a fast local disk: device="paced:SPEC" in the hints.
//   SPEC = "" | NAME "=" VALUE { "," NAME "=" VALUE }, each name at most once
//   bandwidth=SIZE  bytes a second of all requests together (100M)
//   servers=N       share the bandwidth equally; rank R's requests go to server R modulo N (1)
//   latency=TIME    of each request, and of a sync; those of several requests overlap (0)
//   writers=N       concurrent write requests that are served at full speed (any number)
//   slowdown=X      fraction by which each further one slows writes down (0.2; needs writers)
//   variance=X      a request takes 1-X to 1+X times as long, at random (0)
//   seed=N          of the random numbers, which differ between ranks (0)
//   page_cache=1    requests are planned like those of a page cache: one above so slow a disk, once
//                   it has reached its limit of dirty pages (0)
//   SIZE as in other hints (64K, 100M, 1G), TIME a number with us, ms or s
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "storage/storage.hpp"

namespace penstock {

struct Pace {
  std::int64_t bandwidth = 100 << 20;  // bytes a second
  std::int64_t servers = 1;
  std::int64_t latency = 0;  // nanoseconds
  std::int64_t writers = 0;  // 0: any number
  double slowdown = 0.2, variance = 0;
  std::uint64_t seed = 0;
  bool page_cache = false;

  /// Throws Error(argument) if SPEC is malformed.
  static Pace parse(std::string_view spec);
  /// For messages: "100 MiB/s shared, 1 ms a request".
  std::string text() const;
  /// The random factor of a request's service time. `request` counts those of the rank.
  double variation(int rank, std::int64_t request) const noexcept;
  /// Nanoseconds that `bytes` of a request take. `writing`: for a write, the number of concurrent
  /// write requests, including this one; for a read 0.
  std::int64_t service(std::int64_t bytes, double variation, std::int64_t writing) const noexcept;
};

/// The state of the servers, in memory that threads and processes share. Zeroed memory is a valid
/// initial state.
struct PaceClock {
  static constexpr std::size_t most_servers = 64;
  /// When each becomes free: nanoseconds of CLOCK_MONOTONIC, the same in all processes.
  std::array<std::atomic<std::int64_t>, most_servers> next_free;
  std::atomic<std::int64_t> writing;  // write requests in progress, at any server
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "shared between processes");

/// `inner`, slowed down to `pace`: `inner` carries requests out, then the caller sleeps until the
/// model's completion time. Thread-safe if `inner` is.
std::unique_ptr<Storage> keep_pace(std::unique_ptr<Storage> inner, const Pace& pace,
                                   std::shared_ptr<PaceClock> clock, int rank);

}  // namespace penstock
