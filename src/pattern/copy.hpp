// Copying runs between memory, packed messages and the staging buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace penstock {

namespace detail {
template <std::size_t N>
inline void copy_fixed(std::byte* to, std::int64_t to_step, const std::byte* from,
                       std::int64_t from_step, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i, to += to_step, from += from_step)
    std::memcpy(to, from, N);  // N is known: one load and one store
}

/// For longer runs. Not memcpy: from some length on, the C library uses `rep movsb`, which runs at
/// a fifth of the speed where source and destination lie differently in a cache line. Arrays of
/// NumPy begin 16 bytes into one, staging buffers at a page.
///
/// `past_cache`: the destination is not brought into the cache, nor read first.
template <bool past_cache>
inline void copy_long(std::byte* to, const std::byte* from, std::int64_t bytes) {
#if defined(__SSE2__)
  const auto lead = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(to) & 15);
  std::memcpy(to, from, static_cast<std::size_t>(lead));
  const auto store = [](std::byte* address, __m128i value) {
    if constexpr (past_cache) _mm_stream_si128(reinterpret_cast<__m128i*>(address), value);
    else _mm_store_si128(reinterpret_cast<__m128i*>(address), value);
  };
  std::int64_t at = lead;
  for (; at + 64 <= bytes; at += 64) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + 16));
    const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + 32));
    const __m128i d = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + 48));
    store(to + at, a);
    store(to + at + 16, b);
    store(to + at + 32, c);
    store(to + at + 48, d);
  }
  std::memcpy(to + at, from + at, static_cast<std::size_t>(bytes - at));
#else
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
#endif
}
constexpr std::int64_t long_run = 1024;
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
      case 12: return detail::copy_fixed<12>(to, to_step, from, from_step, count);
      case 24: return detail::copy_fixed<24>(to, to_step, from, from_step, count);
      case 32: return detail::copy_fixed<32>(to, to_step, from, from_step, count);
      case 48: return detail::copy_fixed<48>(to, to_step, from, from_step, count);
      case 64: return detail::copy_fixed<64>(to, to_step, from, from_step, count);
      case 96: return detail::copy_fixed<96>(to, to_step, from, from_step, count);
      case 128: return detail::copy_fixed<128>(to, to_step, from, from_step, count);
      default: break;
    }
  }
  for (std::int64_t i = 0; i < count; ++i, to += to_step, from += from_step) {
    if (run < detail::long_run) std::memcpy(to, from, static_cast<std::size_t>(run));
    else detail::copy_long<false>(to, from, run);
  }
}

/// The same for a destination that is larger than the caches: what is written now would push out
/// what is needed next, and be pushed out itself before anybody reads it.
inline void copy_runs_past_cache(std::byte* to, std::int64_t to_step, const std::byte* from,
                                 std::int64_t from_step, std::int64_t run, std::int64_t count) {
  if (run < detail::long_run) return copy_runs(to, to_step, from, from_step, run, count);
  for (std::int64_t i = 0; i < count; ++i, to += to_step, from += from_step)
    detail::copy_long<true>(to, from, run);
#if defined(__SSE2__)
  _mm_sfence();  // what another thread or process sees next comes after these
#endif
}
/// From this many bytes of one call on.
constexpr std::int64_t larger_than_caches = std::int64_t{2} << 20;

}  // namespace penstock
