// zarr.json: what is written is read back, for each type and fill value, in both byte orders.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include <penstock/error.hpp>

#include "formats/zarr/array.hpp"
#include "support/random.hpp"

namespace penstock {
namespace {

constexpr const char* types[] = {"b1", "i1", "i2", "i4", "i8", "u1", "u2",
                                 "u4", "u8", "f2", "f4", "f8", "c8", "c16"};

std::vector<std::byte> draw_fill(test::Random& r, const std::string& type, std::size_t size) {
  if (type == "b1") return {std::byte(r.in(0, 1))};
  std::vector<std::byte> fill(size);
  const std::int64_t kind = r.in(0, 2);  // zeros, all bits, anything: infinities and NaNs, too
  for (std::byte& byte : fill) byte = std::byte(kind == 0 ? 0 : kind == 1 ? 255 : r.in(0, 255));
  return fill;
}

std::string document_of(char order, const std::string& type, const std::vector<std::byte>& fill) {
  ArraySpec spec;
  spec.shape = {3};
  spec.element_size = std::ssize(fill);
  spec.dtype = (fill.size() == 1 ? '|' : order) + type;
  spec.chunks.fill_value = fill;
  return zarr::document_of(zarr::make(spec));
}

/// The fill value in the document's notation.
std::string shown_fill(const std::string& document) {
  const std::size_t begin = document.find("\"fill_value\"");
  return document.substr(begin, document.find("\"codecs\"") - begin);
}

/// Each number of an element by itself.
std::vector<std::byte> swapped(std::vector<std::byte> fill, std::size_t numbers) {
  const auto size = static_cast<std::ptrdiff_t>(fill.size() / numbers);
  for (auto at = fill.begin(); at != fill.end(); at += size) std::reverse(at, at + size);
  return fill;
}

TEST(ZarrMetadata, FillValuesOfAllTypesInBothByteOrders) {
  try {
    document_of('<', "i4", std::vector<std::byte>(4));
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();  // without a JSON library
  }
  test::Random r{std::mt19937_64(1)};
  for (const std::string type : types)
    for (int trial = 0; trial < 40; ++trial) {
      const auto size = static_cast<std::size_t>(std::stoi(type.substr(1)));
      const auto fill = draw_fill(r, type, size);
      const auto other = swapped(fill, type[0] == 'c' ? 2 : 1);
      const std::string little = document_of('<', type, fill), big = document_of('>', type, other);
      EXPECT_EQ(zarr::parse(little).fill, fill) << little;
      EXPECT_EQ(zarr::parse(big).fill, other) << big;
      EXPECT_EQ(shown_fill(little), shown_fill(big)) << type;
    }
}

}  // namespace
}  // namespace penstock
