// A shared file system's pace on a fast local disk: device="paced:SPEC" in the hints.
//   SPEC = "" | NAME "=" VALUE { "," NAME "=" VALUE }, each name at most once
//   bandwidth=SIZE  bytes a second of all requests together (100M)
//   servers=N       that have an equal part of the bandwidth each; rank R's requests go to server R
//                   modulo N (1)
//   latency=TIME    of each request, and of a sync; those of several requests overlap (0)
//   writers=N       write requests that may be under way at a time at full speed (any number)
//   slowdown=X      fraction by which each one more makes writes take longer (0.2; needs writers)
//   variance=X      a request takes 1-X to 1+X times as long, by chance (0)
//   seed=N          of that chance, which is another one on each rank (0)
//   page_cache=1    requests are planned like those of a page cache: that of a machine with so slow
//                   a disk, once it has all the dirty pages that it wants to have (0)
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

  /// Throws Error(argument) for a SPEC that cannot be read.
  static Pace parse(std::string_view spec);
  /// "100 MiB/s shared, 1 ms a request".
  std::string text() const;
  /// What chance multiplies the service time of a request by. `request` counts those of the rank.
  double variation(int rank, std::int64_t request) const noexcept;
  /// Nanoseconds that `bytes` of a request take. `writing`: for a write, the write requests under
  /// way, with it; for a read 0.
  std::int64_t service(std::int64_t bytes, double variation, std::int64_t writing) const noexcept;
};

/// The servers that requests queue up for, in memory that threads and processes share. Zeroed
/// memory is servers that nobody has asked yet.
struct PaceClock {
  static constexpr std::size_t most_servers = 64;
  /// When each is free: nanoseconds of CLOCK_MONOTONIC, alike in all processes.
  std::array<std::atomic<std::int64_t>, most_servers> next_free;
  std::atomic<std::int64_t> writing;  // write requests under way, at any of them
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "shared between processes");

/// `inner`, as slow as `pace` has it: requests are carried out by `inner`, then the caller sleeps
/// until the model has them done. Adds no state that threads could not share.
std::unique_ptr<Storage> keep_pace(std::unique_ptr<Storage> inner, const Pace& pace,
                                   std::shared_ptr<PaceClock> clock, int rank);

}  // namespace penstock
