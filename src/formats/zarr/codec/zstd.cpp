#include <zstd.h>

#include "formats/zarr/codec/kinds.hpp"

namespace penstock {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

class Zstd final : public Codec {
 public:
  explicit Zstd(const CodecSettings& settings)
      : level_(settings.level), checksum_(settings.checksum) {}

  Bytes encode(std::span<const std::byte> plain) const override {
    thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
    ZSTD_CCtx_reset(context.get(), ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level_);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, checksum_ ? 1 : 0);
    Bytes coded(ZSTD_compressBound(plain.size()));
    const std::size_t size =
        ZSTD_compress2(context.get(), coded.data(), coded.size(), plain.data(), plain.size());
    if (ZSTD_isError(size)) throw_not_encoded("zstd", ZSTD_getErrorName(size));
    coded.resize(size);
    return coded;
  }

  Bytes decode(std::span<const std::byte> coded, std::int64_t most) const override {
    thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
    Bytes plain(static_cast<std::size_t>(most));
    const std::size_t size =
        ZSTD_decompressDCtx(context.get(), plain.data(), plain.size(), coded.data(), coded.size());
    if (ZSTD_isError(size)) throw_damaged("zstd", ZSTD_getErrorName(size));
    plain.resize(size);
    return plain;
  }

 private:
  int level_;
  bool checksum_;
};

}  // namespace

std::unique_ptr<Codec> make_zstd(const CodecSettings& settings) {
  if (settings.level < ZSTD_minCLevel() || settings.level > ZSTD_maxCLevel())
    throw Error(ErrorClass::argument,
                "codec 'zstd': level must be from " + std::to_string(ZSTD_minCLevel()) + " to " +
                    std::to_string(ZSTD_maxCLevel()) + ", not " + std::to_string(settings.level));
  return std::make_unique<Zstd>(settings);
}

}  // namespace penstock
