#include <blosc.h>

#include "formats/zarr/codec/kinds.hpp"

namespace penstock {
namespace {

class Blosc final : public Codec {
 public:
  explicit Blosc(CodecSettings settings) : settings_(std::move(settings)) {}

  Bytes encode(std::span<const std::byte> plain) const override {
    if (plain.size() > BLOSC_MAX_BUFFERSIZE)
      throw_not_encoded("blosc", "it takes at most 2 GiB at a time");
    Bytes coded(plain.size() + BLOSC_MAX_OVERHEAD);
    const int size = blosc_compress_ctx(
        settings_.level, settings_.shuffle, static_cast<std::size_t>(settings_.type_size),
        plain.size(), plain.data(), coded.data(), coded.size(), settings_.compressor.c_str(),
        static_cast<std::size_t>(settings_.block_size), /*numinternalthreads=*/1);
    if (size <= 0) throw_not_encoded("blosc", "code " + std::to_string(size));
    coded.resize(static_cast<std::size_t>(size));
    return coded;
  }

  Bytes decode(std::span<const std::byte> coded, std::int64_t most) const override {
    std::size_t size = 0;
    if (blosc_cbuffer_validate(coded.data(), coded.size(), &size) != 0)
      throw_damaged("blosc", "it has no header of blosc, or is cut short");
    if (size > static_cast<std::size_t>(most))
      throw_damaged("blosc", "it has " + std::to_string(size) + " bytes decoded, where " +
                                 std::to_string(most) + " were expected");
    Bytes plain(size);
    const int got = blosc_decompress_ctx(coded.data(), plain.data(), size, 1);
    if (got < 0 || static_cast<std::size_t>(got) != size)
      throw_damaged("blosc", "code " + std::to_string(got));
    return plain;
  }

 private:
  CodecSettings settings_;
};

}  // namespace

std::unique_ptr<Codec> make_blosc(const CodecSettings& settings) {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorClass::argument, "codec 'blosc': " + what);
  };
  if (blosc_compname_to_compcode(settings.compressor.c_str()) < 0)
    refuse("cname '" + settings.compressor +
           "' is not in the libblosc of this Penstock, which has " + blosc_list_compressors());
  if (settings.level < 0 || settings.level > 9)
    refuse("clevel must be from 0 to 9, not " + std::to_string(settings.level));
  if (settings.type_size < 1) refuse("typesize must be at least 1");
  if (settings.block_size < 0) refuse("blocksize must not be negative");
  CodecSettings own = settings;
  if (own.type_size > BLOSC_MAX_TYPESIZE) own.type_size = 1;
  return std::make_unique<Blosc>(own);
}

}  // namespace penstock
