#include "mpi_io/external32.hpp"

#include <algorithm>
#include <vector>

#include "pattern/stream_copy.hpp"

namespace penstock {
namespace {

using Totals = Elements::Totals;

constexpr std::int64_t chunk_bytes = 64 << 10;  // must exceed the largest element

/// Copies between memory and a buffer with its packed bytes.
void copy_native(const MemoryMap& memory, const Totals& from, const Totals& to, std::byte* packed,
                 Direction direction) {
  const FilePattern stream = FilePattern::run({0, memory.size()});
  copy_packed(stream, memory, from.native, to.native, packed, direction);
}

/// Calls visit(from, to) for complete elements up to `end`, in chunks.
template <class Visit>
void for_each_chunk(const Elements& stream, const Totals& end, Visit&& visit) {
  for (Totals from; from.count < end.count;) {
    Totals to = stream.within(from.native + chunk_bytes, Elements::Unit::native);
    if (to.count > end.count) to = end;
    visit(static_cast<const Totals&>(from), static_cast<const Totals&>(to));
    from = to;
  }
}

}  // namespace

void pack_external32(const MemoryMap& memory, const Elements& stream, std::byte* packed) {
  std::vector<std::byte> native(static_cast<std::size_t>(std::min(chunk_bytes, memory.size())));
  for_each_chunk(stream, stream.totals(), [&](const Totals& from, const Totals& to) {
    copy_native(memory, from, to, native.data(), Direction::write);
    const std::byte* at = native.data();
    stream.for_each(from.count, to.count, [&](const BasicType& type, std::int64_t count) {
      to_external32(type, count, at, packed);
      at += count * type.native_size();
      packed += count * type.external_size();
    });
  });
}

Totals unpack_external32(std::span<const std::byte> packed, const MemoryMap& memory,
                         const Elements& stream) {
  const Totals whole = stream.within(std::ssize(packed), Elements::Unit::external);
  std::vector<std::byte> native(static_cast<std::size_t>(std::min(chunk_bytes, memory.size())));
  const std::byte* external = packed.data();
  for_each_chunk(stream, whole, [&](const Totals& from, const Totals& to) {
    std::byte* at = native.data();
    stream.for_each(from.count, to.count, [&](const BasicType& type, std::int64_t count) {
      from_external32(type, count, external, at);
      at += count * type.native_size();
      external += count * type.external_size();
    });
    copy_native(memory, from, to, native.data(), Direction::read);
  });
  return whole;
}

}  // namespace penstock
