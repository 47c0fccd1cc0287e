// Attributes: a JSON object in a file beside the array's, or in zarr.json.
#include "formats/zarr/array.hpp"
#include "fuzz.hpp"

namespace ps = penstock;

namespace {

constexpr std::string_view words[] = {"{\"a\":",
                                      "}",
                                      "[",
                                      "]",
                                      "\"",
                                      ",",
                                      "null",
                                      "true",
                                      "1e999",
                                      "-0.0",
                                      "\\ud800",
                                      "\\u0000",
                                      "NaN",
                                      "18446744073709551616",
                                      "\xef\xbb\xbf",
                                      "\xc3\x28",
                                      "/*",
                                      "{\"a\":[[[[[[[[[[[[",
                                      "\\n"};

}  // namespace

std::span<const std::string_view> fuzz_words() {
  return words;
}

void fuzz_one(const std::uint8_t* data, std::size_t size) {
  const std::string text(ps::fuzz::text_of(data, size));
  constexpr auto argument = ps::ErrorClass::argument;
  if (!ps::fuzz::accepted([&] { ps::zarr::check_attributes(text); }, {argument})) return;
  ps::ArraySpec spec;
  spec.shape = {4, 6};
  spec.dtype = "<f8";
  spec.chunks.attributes = text;
  const auto there_and_back = [&] {
    const ps::zarr::Array made = ps::zarr::make(spec);
    const ps::zarr::Array read = ps::zarr::parse(ps::zarr::document_of(made));
    ps::fuzz::require(read.attributes == made.attributes || made.attributes == "{}",
                      "attributes that are written differ from those that are read");
  };
  ps::fuzz::accepted(there_and_back, {});
}
