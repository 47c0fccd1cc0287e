#include "formats/zarr/codec/kinds.hpp"

namespace penstock {
namespace {

/// For a codec whose library was not found at build time.
[[maybe_unused]] std::unique_ptr<Codec> refuse(const std::string& name,
                                               const std::string& package) {
  throw Error(ErrorClass::argument, "codec '" + name +
                                        "' needs a library that this Penstock was "
                                        "built without; install it (Debian: " +
                                        package + ") and build Penstock again");
}

}  // namespace

std::unique_ptr<Codec> make_filter(const CodecSettings& settings) {
  if (settings.name == "shuffle") return make_shuffle(settings);
#ifdef PENSTOCK_HAVE_ZLIB
  if (settings.name == "deflate") return make_deflate(settings);
#else
  if (settings.name == "deflate") return refuse("deflate", "zlib1g-dev");
#endif
  return make_codec(settings);
}

std::unique_ptr<Codec> make_codec(const CodecSettings& settings) {
  if (settings.name == "crc32c") return make_crc32c();
#ifdef PENSTOCK_HAVE_ZSTD
  if (settings.name == "zstd") return make_zstd(settings);
#else
  if (settings.name == "zstd") return refuse("zstd", "libzstd-dev");
#endif
#ifdef PENSTOCK_HAVE_ZLIB
  if (settings.name == "gzip") return make_gzip(settings);
#else
  if (settings.name == "gzip") return refuse("gzip", "zlib1g-dev");
#endif
#ifdef PENSTOCK_HAVE_BLOSC
  if (settings.name == "blosc") return make_blosc(settings);
#else
  if (settings.name == "blosc") return refuse("blosc", "libblosc-dev");
#endif
  throw Error(ErrorClass::argument,
              "codec '" + settings.name +
                  "' is not one of Penstock's, which are zstd, blosc, gzip and crc32c; write the "
                  "array with one of these (zarr-python can copy it)");
}

}  // namespace penstock
