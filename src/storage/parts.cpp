#include "storage/parts.hpp"

#include <algorithm>
#include <cstring>

namespace penstock {

std::int64_t size_of(Parts parts) noexcept {
  std::int64_t size = 0;
  for (const iovec& part : parts) size += static_cast<std::int64_t>(part.iov_len);
  return size;
}

std::int64_t append_slice(std::vector<iovec>& to, Parts parts, std::int64_t begin,
                          std::int64_t size, std::size_t most) {
  std::int64_t taken = 0;
  for (const iovec& part : parts) {
    const auto length = static_cast<std::int64_t>(part.iov_len);
    if (begin >= length) {
      begin -= length;
      continue;
    }
    if (taken == size || to.size() == most) break;
    const std::int64_t bytes = std::min(size - taken, length - begin);
    to.push_back({begin_of(part) + begin, static_cast<std::size_t>(bytes)});
    taken += bytes;
    begin = 0;
  }
  return taken;
}

std::span<iovec> without_first(std::span<iovec> parts, std::int64_t bytes) noexcept {
  while (!parts.empty() && bytes >= static_cast<std::int64_t>(parts.front().iov_len)) {
    bytes -= static_cast<std::int64_t>(parts.front().iov_len);
    parts = parts.subspan(1);
  }
  if (bytes > 0) {
    parts.front().iov_base = begin_of(parts.front()) + bytes;
    parts.front().iov_len -= static_cast<std::size_t>(bytes);
  }
  return parts;
}

void gather(Parts from, std::byte* to) noexcept {
  for (const iovec& part : from) {
    std::memcpy(to, part.iov_base, part.iov_len);
    to += part.iov_len;
  }
}

void scatter(const std::byte* from, std::int64_t bytes, Parts into) noexcept {
  for (const iovec& part : into) {
    const auto length = std::min(bytes, static_cast<std::int64_t>(part.iov_len));
    if (length <= 0) return;
    std::memcpy(part.iov_base, from, static_cast<std::size_t>(length));
    from += length;
    bytes -= length;
  }
}

bool are_aligned(Parts parts, std::int64_t alignment, std::int64_t block) noexcept {
  return std::ranges::all_of(parts, [&](const iovec& part) {
    return reinterpret_cast<std::uintptr_t>(part.iov_base) %
                   static_cast<std::uintptr_t>(alignment) ==
               0 &&
           part.iov_len % static_cast<std::size_t>(block) == 0;
  });
}

}  // namespace penstock
