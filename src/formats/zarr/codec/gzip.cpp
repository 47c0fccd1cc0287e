#include <zlib.h>

#include <algorithm>
#include <limits>

#include "formats/zarr/codec/kinds.hpp"

namespace penstock {
namespace {

/// Header formats, encoded for zlib, with the largest window.
enum Header : int { zlib_header = 15, gzip_header = 15 + 16 };

Bytef* in_zlib(const std::byte* bytes) noexcept {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes));
}

std::string text_of(const z_stream& stream, int code) {
  return stream.msg != nullptr ? stream.msg : zError(code);
}

class Gzip final : public Codec {
 public:
  Gzip(const CodecSettings& settings, Header header)
      : name_(settings.name), level_(settings.level), header_(header) {
    if (level_ < 0 || level_ > 9)
      throw Error(ErrorClass::argument, "codec '" + name_ + "': level must be from 0 to 9, not " +
                                            std::to_string(level_));
  }

  Bytes encode(std::span<const std::byte> plain) const override {
    z_stream stream{};
    const int begun = deflateInit2(&stream, level_, Z_DEFLATED, header_, 8, Z_DEFAULT_STRATEGY);
    if (begun != Z_OK) throw_not_encoded(name_, text_of(stream, begun));
    Bytes coded(deflateBound(&stream, plain.size()));
    stream.next_in = in_zlib(plain.data());
    stream.avail_in = static_cast<uInt>(plain.size());
    stream.next_out = in_zlib(coded.data());
    stream.avail_out = static_cast<uInt>(coded.size());
    const int code = deflate(&stream, Z_FINISH);
    coded.resize(coded.size() - stream.avail_out);
    const std::string why = text_of(stream, code);
    deflateEnd(&stream);
    if (code != Z_STREAM_END) throw_not_encoded(name_, why);
    return coded;
  }

  /// gzip allows several members one after the other.
  Bytes decode(std::span<const std::byte> coded, std::int64_t most) const override {
    z_stream stream{};
    const int begun = inflateInit2(&stream, header_);
    if (begun != Z_OK) throw_damaged(name_, text_of(stream, begun));
    Bytes plain(static_cast<std::size_t>(most));
    stream.next_in = in_zlib(coded.data());
    stream.avail_in = static_cast<uInt>(coded.size());
    stream.next_out = in_zlib(plain.data());
    stream.avail_out = static_cast<uInt>(plain.size());
    int code = inflate(&stream, Z_FINISH);
    while (code == Z_STREAM_END && header_ == gzip_header && stream.avail_in > 0 &&
           inflateReset(&stream) == Z_OK)
      code = inflate(&stream, Z_FINISH);
    plain.resize(plain.size() - stream.avail_out);
    const std::string why =
        code == Z_BUF_ERROR ? "it is cut short, or too long" : text_of(stream, code);
    inflateEnd(&stream);
    if (code != Z_STREAM_END) throw_damaged(name_, why);
    return plain;
  }

 private:
  std::string name_;
  int level_;
  Header header_;
};

}  // namespace

std::unique_ptr<Codec> make_gzip(const CodecSettings& settings) {
  return std::make_unique<Gzip>(settings, gzip_header);
}

std::unique_ptr<Codec> make_deflate(const CodecSettings& settings) {
  return std::make_unique<Gzip>(settings, zlib_header);
}

}  // namespace penstock
