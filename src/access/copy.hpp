// Copying runs between memory, packed messages and the staging buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace penstock {

namespace detail {
template <std::size_t N>
inline void copy_fixed(std::byte* to, std::int64_t to_step, const std::byte* from,
                       std::int64_t from_step, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i, to += to_step, from += from_step)
    std::memcpy(to, from, N);  // N is known: one load and one store
}
}  // namespace detail

/// `count` runs of `run` bytes. Small runs of the common element sizes never call memcpy.
inline void copy_runs(std::byte* to, std::int64_t to_step, const std::byte* from,
                      std::int64_t from_step, std::int64_t run, std::int64_t count) {
  if (to_step == run && from_step == run) {
    run *= count;
    count = 1;
  }
  if (count > 1) {
    switch (run) {
      case 1: return detail::copy_fixed<1>(to, to_step, from, from_step, count);
      case 2: return detail::copy_fixed<2>(to, to_step, from, from_step, count);
      case 4: return detail::copy_fixed<4>(to, to_step, from, from_step, count);
      case 8: return detail::copy_fixed<8>(to, to_step, from, from_step, count);
      case 16: return detail::copy_fixed<16>(to, to_step, from, from_step, count);
      case 32: return detail::copy_fixed<32>(to, to_step, from, from_step, count);
      default: break;
    }
  }
  for (std::int64_t i = 0; i < count; ++i, to += to_step, from += from_step)
    std::memcpy(to, from, static_cast<std::size_t>(run));
}

}  // namespace penstock
