// Codec: encodes and decodes bytes, as the codecs of Zarr 3. Immutable, so thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace penstock {

/// Default-initialises: resizing does not set zeros, since the memory is written before it is read.
template <class T>
struct Uninitialized : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = Uninitialized<U>;
  };
  template <class U>
  void construct(U* address) noexcept {
    ::new (static_cast<void*>(address)) U;
  }
  template <class U, class... Arguments>
  void construct(U* address, Arguments&&... arguments) {
    ::new (static_cast<void*>(address)) U(std::forward<Arguments>(arguments)...);
  }
};
using Bytes = std::vector<std::byte, Uninitialized<std::byte>>;

/// Settings of a codec, named as in the specification.
struct CodecSettings {
  std::string name;                 // zstd, gzip, blosc, crc32c; for HDF5 also deflate and shuffle
  int level = 0;                    // zstd, gzip, blosc, deflate
  bool checksum = false;            // zstd
  std::string compressor = "zstd";  // blosc: "cname"
  int shuffle = 0;                  // blosc: 0 none, 1 bytes, 2 bits
  int type_size = 1;                // blosc, shuffle: bytes of an element
  int block_size = 0;               // blosc: bytes; 0: automatic
};

class Codec {
 public:
  virtual ~Codec() = default;
  virtual Bytes encode(std::span<const std::byte> plain) const = 0;
  /// Throws Error(format) for bytes that it has not made, or that decode to more than `most`.
  virtual Bytes decode(std::span<const std::byte> coded, std::int64_t most) const = 0;
};

/// Throws Error(argument) for a codec that is unknown or not built in, or whose settings are out of
/// range.
std::unique_ptr<Codec> make_codec(const CodecSettings& settings);

/// The same for HDF5's filters: zstd, blosc, deflate and shuffle.
std::unique_ptr<Codec> make_filter(const CodecSettings& settings);

}  // namespace penstock
