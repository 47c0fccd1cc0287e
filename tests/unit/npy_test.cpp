#include <gtest/gtest.h>

#include <cstring>

#include <penstock/error.hpp>

#include "file/npy.hpp"

using namespace penstock;

namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::vector<std::byte> with_dict(const std::string& dict) {
  std::string text = std::string("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(dict.size() & 0xff);
  text += static_cast<char>(dict.size() >> 8);
  return bytes_of(text + dict);
}

TEST(Npy, HeadersSurviveTheRoundTrip) {
  for (const Order order : {Order::c, Order::fortran})
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{5}, std::vector<std::int64_t>{3, 4},
          std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8},
          std::vector<std::int64_t>{5000000000, 0}}) {
      const auto bytes = npy::format({"<f8", 8, order, shape, 0});
      EXPECT_EQ(bytes.size() % 64, 0u);
      const npy::Header header = npy::parse(bytes);
      EXPECT_EQ(header.shape, shape);
      EXPECT_EQ(header.order, order);
      EXPECT_EQ(header.descr, "<f8");
      EXPECT_EQ(header.element_size, 8);
      EXPECT_EQ(header.header_size, static_cast<std::int64_t>(bytes.size()));
    }
}

TEST(Npy, KnowsTheSizeOfTypes) {
  EXPECT_EQ(npy::element_size_of("<f4"), 4);
  EXPECT_EQ(npy::element_size_of("|b1"), 1);
  EXPECT_EQ(npy::element_size_of("<U7"), 28);
  EXPECT_EQ(npy::element_size_of("|S13"), 13);
  EXPECT_EQ(npy::element_size_of("<M8[ns]"), 8);
  EXPECT_EQ(npy::element_size_of("|V65536"), 65536);
  EXPECT_EQ(npy::element_size_of("[('a', '<f4'), ('b', '<i2', (3, 2)), ('c', [('d', '|u1')])]"),
            17);
  EXPECT_EQ(npy::element_size_of("[('', '|V3'), ('x', '>c16')]"), 19);
  for (const char* descr : {"|O", "", "<f", "q", "[('a',)]", "<x4"})
    EXPECT_THROW(npy::element_size_of(descr), Error) << descr;
}

TEST(Npy, RefusesForeignAndDamagedHeaders) {
  const auto parse = [](const std::vector<std::byte>& bytes) { return npy::parse(bytes); };
  EXPECT_THROW(parse(bytes_of("not an npy file at all")), Error);
  EXPECT_THROW(parse(bytes_of("\x93NUMPY")), Error);
  for (const char* dict :
       {"", "{", "{'descr': '<f8'}", "{'descr': '<f8', 'fortran_order': 3, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'x': 1}", "[1, 2]",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} x",
        "((((((((((((((((((((((((((((((((((((((((((((("})
    EXPECT_THROW(parse(with_dict(dict)), Error) << dict;
  EXPECT_EQ(parse(with_dict("{\"shape\": (2L, 3L), 'descr': '<f8', 'fortran_order': True}")).shape,
            (std::vector<std::int64_t>{2, 3}));
  auto cut = npy::format({"<f8", 8, Order::c, {3}, 0});
  cut.resize(40);
  EXPECT_THROW(npy::parse(cut), Error);
}

}  // namespace
