// HDF5's filter 2: the first bytes of all elements, then the second ones...
#include <algorithm>

#include "formats/zarr/codec/kinds.hpp"

namespace penstock {
namespace {

class Shuffle final : public Codec {
 public:
  explicit Shuffle(int size) : size_(static_cast<std::size_t>(size)) {}

  Bytes encode(std::span<const std::byte> plain) const override {
    Bytes coded(plain.size());
    each(plain.size(),
         [&](std::size_t element, std::size_t plane) { coded[plane] = plain[element]; });
    return coded;
  }
  Bytes decode(std::span<const std::byte> coded, std::int64_t) const override {
    Bytes plain(coded.size());
    each(coded.size(),
         [&](std::size_t element, std::size_t plane) { plain[element] = coded[plane]; });
    return plain;
  }

 private:
  /// Moves each byte of whole elements between its place there and in its plane; remaining bytes
  /// stay in place.
  template <class Move>
  void each(std::size_t bytes, Move&& move) const {
    constexpr std::size_t block = 2048;  // elements at a time, which stay in the L1 cache
    const std::size_t count = bytes / size_;
    for (std::size_t begin = 0; begin < count; begin += block)
      for (std::size_t b = 0; b < size_; ++b)
        for (std::size_t i = begin; i < std::min(begin + block, count); ++i)
          move(i * size_ + b, b * count + i);
    for (std::size_t rest = count * size_; rest < bytes; ++rest) move(rest, rest);
  }

  std::size_t size_;
};

}  // namespace

std::unique_ptr<Codec> make_shuffle(const CodecSettings& settings) {
  if (settings.type_size < 1)
    throw Error(ErrorClass::argument, "codec 'shuffle': elements must have a byte at least");
  return std::make_unique<Shuffle>(settings.type_size);
}

}  // namespace penstock
