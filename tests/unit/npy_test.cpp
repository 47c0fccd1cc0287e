#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include <penstock/error.hpp>

#include "formats/npy/npy.hpp"

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

/// A growing array keeps the size of its header.
TEST(Npy, HeadersHaveRoomForTheLongestShape) {
  for (const Order order : {Order::c, Order::fortran})
    for (std::size_t length = 1; length <= 64; ++length) {  // whatever remains of the last 64 bytes
      const std::string descr = "[('" + std::string(length, 'x') + "', '<f8')]";
      const auto header = [&](std::int64_t slowest) {
        const bool c = order == Order::c;
        return npy::Header{descr, 8, order, {c ? slowest : 7, c ? 7 : slowest}, 0};
      };
      const auto bytes = npy::format(header(0));
      const std::int64_t most = std::numeric_limits<std::int64_t>::max() / 7 / 8;
      const auto grown = npy::format(header(most), std::ssize(bytes));
      EXPECT_EQ(grown.size(), bytes.size());
      EXPECT_EQ(npy::parse(grown).shape, header(most).shape);
    }
}

/// The length of a header has two bytes in version 1, and four from version 2 on.
TEST(Npy, HeadersOfAnyLengthSurviveTheRoundTrip) {
  for (std::size_t length = 65300; length < 65700; length += 13) {
    const std::string descr = "[('" + std::string(length, 'x') + "', '<f8')]";
    const auto bytes = npy::format({descr, 8, Order::c, {3, 4}, 0});
    const npy::Header header = npy::parse(bytes);
    EXPECT_EQ(header.header_size, std::ssize(bytes)) << length;
    EXPECT_EQ(header.descr, descr) << length;
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
  for (const char* descr : {"|O", "", "<f", "q", "[('a',)]", "<x4", "<f3", "<i4[s]", "<M8[x]",
                            "[('a', '<f4', -1)]", "('<f8', 2)"})
    EXPECT_THROW(npy::element_size_of(descr), Error) << descr;
}

npy::Header parsed(const std::string& descr, const std::string& shape) {
  return npy::parse(
      with_dict("{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + "}"));
}

TEST(Npy, ReadsLiteralsAsPythonDoes) {
  for (const char* shape : {"(True,)", "('4',)", "((4,),)", "(4:4)", "{4:4}", "[4]", "(4)", "(-1,)",
                            "(4.0,)", "(2 3)", "(2,,)", "(,)", "(02,)", "(9223372036854775808,)"})
    EXPECT_THROW(parsed("'<f8'", shape), Error) << shape;
  for (const char* shape : {"(2, 3)", "(2L, 0x3,)", "((2), 3 # three\n)", "((+2, 0b11))"})
    EXPECT_EQ(parsed("'<f8'", shape).shape, (std::vector<std::int64_t>{2, 3})) << shape;
  EXPECT_EQ(parsed("'<' \"f8\"", "(2,)").descr, "<f8");
  EXPECT_EQ(parsed("'<f4', 'descr': '\\x3cf8'", "(2,)").descr, "<f8");  // the last of two
}

TEST(Npy, NamesMayHaveAnyCharacter) {
  // A header of version 1 is in Latin-1.
  EXPECT_EQ(parsed("[('\xe9', '<f8')]", "(2,)").descr, "[('\u00e9', '<f8')]");
  EXPECT_EQ(parsed("[('\\u4e00', '<f8', (2L,))]", "(2,)").descr, "[('\u4e00', '<f8', (2,))]");
  EXPECT_EQ(parsed("[('\\ud800', '<f8')]", "(2,)").descr, "[('\\ud800', '<f8')]");
  for (const auto& [descr, version] :
       {std::pair("[('a', '<f8')]", 1), {"[('\u00e9', '<f8')]", 1}, {"[('\u4e00', '<f8')]", 3}}) {
    const auto bytes = npy::format({descr, 8, Order::c, {3}, 0});
    EXPECT_EQ(std::to_integer<int>(bytes[6]), version) << descr;
    EXPECT_EQ(npy::parse(bytes).descr, descr);
  }
  auto damaged = npy::format({"[('\u4e00', '<f8')]", 8, Order::c, {3}, 0});
  *std::find(damaged.begin(), damaged.end(), std::byte{0xe4}) = std::byte{0xff};
  EXPECT_THROW(npy::parse(damaged), Error);
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
