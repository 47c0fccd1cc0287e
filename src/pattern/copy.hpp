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

/// A real call of memcpy. GCC expands one of known bounded length as `rep movsq`, which takes 1.5
/// to 3 times as long for 100 to 1000 bytes.
inline void copy_short(std::byte* to, const std::byte* from, std::int64_t bytes) {
#if defined(__GNUC__)
  asm("" : "+r"(bytes));  // hides the bounds from the compiler
#endif
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

#if defined(__SSE2__)
inline __m128i load(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

template <bool past_cache>
inline void store(std::byte* to, __m128i value) {
  auto* const address = reinterpret_cast<__m128i*>(to);
  if constexpr (past_cache) _mm_stream_si128(address, value);
  else _mm_store_si128(address, value);
}
#endif

/// For runs longer than a cache line. Not memcpy: from some length on, the C library uses `rep
/// movsb`, which runs at a fifth of the speed if source and destination are aligned differently in
/// a cache line. NumPy arrays begin 16 bytes into one, staging buffers at a page.
///
/// `past_cache`: the destination is neither loaded into the cache nor read, and the source is
/// prefetched `ahead` bytes before it is read. Only whole lines: mixing stores past and through the
/// cache in one line takes 0.1 us.
template <bool past_cache>
inline void copy_long(std::byte* to, const std::byte* from, std::int64_t bytes,
                      std::int64_t ahead = 0) {
#if defined(__SSE2__)
  constexpr std::uintptr_t unit = past_cache ? 64 : 16;
  auto at = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(to) & (unit - 1));
  if (at > 0) copy_short(to, from, at);
  for (; at + 64 <= bytes; at += 64) {
    if constexpr (past_cache)
      _mm_prefetch(reinterpret_cast<const char*>(from + at + ahead), _MM_HINT_T0);
    const __m128i a = load(from + at), b = load(from + at + 16);
    const __m128i c = load(from + at + 32), d = load(from + at + 48);
    store<past_cache>(to + at, a);
    store<past_cache>(to + at + 16, b);
    store<past_cache>(to + at + 32, c);
    store<past_cache>(to + at + 48, d);
  }
  if (at < bytes) copy_short(to + at, from + at, bytes - at);
#else
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
#endif
}
constexpr std::int64_t long_run = 1024;
/// Prefetch distance: the next run if runs fit the L1 cache together, or this many bytes.
constexpr std::int64_t longest_fetched_run = 16384, fetched = 1024;
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
    if (run < detail::long_run) detail::copy_short(to, from, run);
    else detail::copy_long<false>(to, from, run);
  }
}

/// The same for a destination larger than the caches: stores would evict what is needed next, and
/// be evicted themselves before they are read.
inline void copy_runs_past_cache(std::byte* to, std::int64_t to_step, const std::byte* from,
                                 std::int64_t from_step, std::int64_t run, std::int64_t count) {
  if (run < detail::long_run) return copy_runs(to, to_step, from, from_step, run, count);
  const bool next_run = run <= detail::longest_fetched_run;
  for (std::int64_t i = 0; i < count; ++i, to += to_step, from += from_step)
    detail::copy_long<true>(to, from, run, next_run && i + 1 < count ? from_step : detail::fetched);
#if defined(__SSE2__)
  _mm_sfence();  // orders the stores before what another thread or process sees next
#endif
}
/// Per call.
constexpr std::int64_t larger_than_caches = std::int64_t{2} << 20;

}  // namespace penstock
