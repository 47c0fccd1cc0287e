// Headers of .npy files.
#include "formats/npy/npy.hpp"

#include "fuzz.hpp"

namespace ps = penstock;

namespace {

constexpr std::string_view words[] = {"\x93NUMPY",
                                      "{'descr': ",
                                      "'fortran_order': ",
                                      "'shape': ",
                                      "(",
                                      ")",
                                      "[",
                                      "]",
                                      "True",
                                      "False",
                                      "'<f8'",
                                      "'|S",
                                      "[('a', '<i4'), ",
                                      "((",
                                      "\\u",
                                      "\\N{",
                                      "\\x",
                                      "L",
                                      "0x",
                                      "'''",
                                      "\"",
                                      "\\777",
                                      "u'",
                                      "b'",
                                      "[ns]"};

void check_round_trip(const ps::npy::Header& header) {
  if (header.shape.empty()) return;  // none of Penstock's own arrays is like that
  const std::vector<std::byte> made = ps::npy::format(header);
  const ps::npy::Header again = ps::npy::parse(made);
  ps::fuzz::require(again.shape == header.shape && again.order == header.order &&
                        again.element_size == header.element_size &&
                        ps::npy::canonical(again.descr) == ps::npy::canonical(header.descr),
                    "a header that is written differs from the one that was read");
}

}  // namespace

std::span<const std::string_view> fuzz_words() {
  return words;
}

void fuzz_one(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  constexpr auto format = ps::ErrorClass::format;
  ps::npy::Header header;
  const auto read = [&] {
    const std::int64_t needed = ps::npy::header_size(bytes);
    ps::fuzz::require(needed <= 1 << 20, "a header of more than 1 MiB");
    header = ps::npy::parse(bytes);
  };
  if (ps::fuzz::accepted(read, {format, ps::ErrorClass::argument}))
    ps::fuzz::accepted([&] { check_round_trip(header); }, {});
  const std::string descr(ps::fuzz::text_of(data, std::min<std::size_t>(size, 200)));
  ps::fuzz::accepted([&] { ps::npy::element_size_of(descr); }, {format, ps::ErrorClass::argument});
}
