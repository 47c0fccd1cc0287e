// The codecs by their libraries. Private to this module.
#pragma once

#include <penstock/error.hpp>

#include "formats/zarr/codec/codec.hpp"

namespace penstock {

[[noreturn]] inline void throw_damaged(const std::string& codec, const std::string& why) {
  throw Error(ErrorClass::format, codec + " cannot decode it: " + why);
}
[[noreturn]] inline void throw_not_encoded(const std::string& codec, const std::string& why) {
  throw Error(ErrorClass::internal, codec + " cannot encode a chunk: " + why);
}

std::unique_ptr<Codec> make_zstd(const CodecSettings& settings);
std::unique_ptr<Codec> make_gzip(const CodecSettings& settings);
/// The same with zlib's header instead of gzip's.
std::unique_ptr<Codec> make_deflate(const CodecSettings& settings);
std::unique_ptr<Codec> make_shuffle(const CodecSettings& settings);
std::unique_ptr<Codec> make_blosc(const CodecSettings& settings);
std::unique_ptr<Codec> make_crc32c();

}  // namespace penstock
