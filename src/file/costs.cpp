#include "file/costs.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/buffer.hpp"
#include "pattern/copy.hpp"
#include "storage/mapped.hpp"

namespace penstock {
namespace {

struct Copies {
  double byte, run;  // seconds
};

/// Removes an array from the caches, as a program's array usually is when it is written. Only with
/// SSE2; on other machines copies are measured from the caches, and come out too fast.
void push_out([[maybe_unused]] const Buffer& array) {
#if defined(__SSE2__)
  constexpr std::int64_t cache_line = 64;
  for (std::int64_t at = 0; at < array.size(); at += cache_line) _mm_clflush(array.data() + at);
  _mm_mfence();
#endif
}

/// The lesser of two measurements: during one of them another process may have had the core.
template <class Work>
double least_seconds(const Buffer& array, Work&& work) {
  double least = 1;
  for (int i = 0; i < 2; ++i) {
    push_out(array);
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    least = std::min(least, taken.count());
  }
  return least;
}

/// Copies from a user's array, which is not in the caches, to a window, which is: as one run, and
/// every other run of 64 bytes. What the second takes beyond its bytes is the cost of its runs.
Copies measure_copies() {
  constexpr std::int64_t bytes = 1 << 20, run = 64, runs = bytes / run / 2;
  Buffer array(bytes, nullptr), window(bytes, nullptr);
  std::memset(array.data(), 1, static_cast<std::size_t>(bytes));
  std::memset(window.data(), 1, static_cast<std::size_t>(bytes));
  const double whole =
      least_seconds(array, [&] { copy_runs(window.data(), bytes, array.data(), bytes, bytes, 1); });
  const double in_runs = least_seconds(
      array, [&] { copy_runs(window.data(), run, array.data(), 2 * run, run, runs); });
  // A disturbed measurement must not change plans arbitrarily: no machine is taken to be more than
  // 8 times faster or slower than assumed.
  const Costs assumed;
  const auto believable = [](double measured, double usual) {
    return std::clamp(measured, usual / 8, usual * 8);
  };
  const double byte = believable(whole / bytes, assumed.copy_byte);
  return {byte, believable((in_runs - 0.5 * bytes * byte) / runs, assumed.run)};
}

}  // namespace

Costs costs_of(const std::optional<Pace>& pace, bool page_cache, bool measure) {
  Costs costs = Costs::assumed(page_cache);
  if (measure) {
    static const Copies copies = measure_copies();
    costs = costs.with_copies(copies.byte, copies.run);
  }
  if (!pace) return costs;
  // A request to a modelled device costs a call to the file system below plus the modelled latency.
  const double latency = static_cast<double>(pace->latency) * 1e-9;
  const Costs below = Costs::assumed(true);
  costs.call = below.call + latency;
  costs.contended_call = below.contended_call + latency;
  costs.storage_byte =
      std::max(1 / static_cast<double>(pace->bandwidth), page_cache ? costs.storage_byte : 0);
  costs.device_tells = true;
  return costs;
}

bool maps_files(const Hints& hints, std::string_view file_system) {
  constexpr std::string_view local[] = {"ext4", "xfs", "btrfs", "tmpfs"};
  return hints.storage == StorageKind::automatic && hints.device->empty() && may_map_files() &&
         std::ranges::find(local, file_system) != std::end(local);
}

Costs find_costs(const Hints& hints) {
  FileSystemFacts usual;  // there is no file yet to find them from
  usual.type = "ext4";
  usual.direct_alignment = 1;
  return find_costs(hints, usual);
}

Costs find_costs(const Hints& hints, const FileSystemFacts& facts) {
  const Device device = Device::parse(hints.device.value());
  const bool past = past_page_cache(hints, facts) || facts.several_caches;
  Costs costs = costs_of(device.pace, device.is_page_cache(past), true);
  costs.maps_files = !past && maps_files(hints, facts.type);
  return costs;
}

}  // namespace penstock
