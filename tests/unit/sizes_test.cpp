#include <gtest/gtest.h>

#include <penstock/error.hpp>
#include <penstock/hints.hpp>

using namespace penstock;

namespace {

TEST(Bytes, AreReadWithUnits) {
  EXPECT_EQ(parse_bytes("64"), 64);
  EXPECT_EQ(parse_bytes("64K"), 65536);
  EXPECT_EQ(parse_bytes("4MiB"), 4 << 20);
  EXPECT_EQ(parse_bytes("2g"), std::int64_t{2} << 30);
  for (const char* text : {"", "K", "-1", "1.5M", "4X", "99999999999G"})
    EXPECT_THROW(parse_bytes(text), Error) << text;
}

}  // namespace
