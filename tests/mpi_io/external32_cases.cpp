// external32: values with known bytes, and long doubles against the compiler's binary128.
#include "mpi_io/external32.hpp"

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>

#include "type_cases.hpp"

namespace penstock {
namespace {

template <class Value>
std::string hex_in_file(MPI_Datatype type, const Value& value) {
  const auto layout = layout_of(type);
  std::vector<std::byte> packed(static_cast<std::size_t>(layout->elements.totals().external));
  Value copy = value;
  pack_external32(memory_map(&copy, 1, *layout), layout->elements, packed.data());
  std::string text;
  for (const std::byte b : packed) {
    constexpr const char* digits = "0123456789abcdef";
    text += digits[std::to_integer<int>(b >> 4)];
    text += digits[std::to_integer<int>(b & std::byte{15})];
  }
  Value back{};
  unpack_external32(packed, memory_map(&back, 1, *layout), layout->elements);
  if constexpr (std::is_floating_point_v<Value>)
    EXPECT_TRUE(back == value || (std::isnan(back) && std::isnan(value)));
  else EXPECT_EQ(back, value);
  return text;
}

TEST(External32, HasTheStandardsSizesAndOrder) {
  EXPECT_EQ(hex_in_file(MPI_INT, 0x01020304), "01020304");
  EXPECT_EQ(hex_in_file(MPI_SHORT, static_cast<short>(-2)), "fffe");
  EXPECT_EQ(hex_in_file(MPI_LONG, -2L), "fffffffe");
  EXPECT_EQ(hex_in_file(MPI_UNSIGNED_LONG, 0xfffffffeUL), "fffffffe");
  EXPECT_EQ(hex_in_file(MPI_LONG_LONG, -2LL), "fffffffffffffffe");
  EXPECT_EQ(hex_in_file(MPI_WCHAR, L'A'), "0041");
  EXPECT_EQ(hex_in_file(MPI_C_BOOL, true), "01");
  EXPECT_EQ(hex_in_file(MPI_DOUBLE, -1.5), "bff8000000000000");
  EXPECT_EQ(hex_in_file(MPI_FLOAT, 1.0F), "3f800000");
  EXPECT_EQ(hex_in_file(MPI_BYTE, 'x'), "78");
}

TEST(External32, RefusesWhatDoesNotFit) {
  std::byte packed[16];
  const auto layout = layout_of(MPI_LONG), natural = layout_of(MPI_UNSIGNED_LONG);
  for (const long value : {1L << 31, -(1L << 31) - 1, 1L << 40}) {
    long copy = value;
    EXPECT_THROW(pack_external32(memory_map(&copy, 1, *layout), layout->elements, packed),
                 ConversionError);
  }
  unsigned long large = 1UL << 32;
  EXPECT_THROW(pack_external32(memory_map(&large, 1, *natural), natural->elements, packed),
               ConversionError);
  EXPECT_EQ(hex_in_file(MPI_LONG, (1L << 31) - 1), "7fffffff");
  EXPECT_EQ(hex_in_file(MPI_LONG, -(1L << 31)), "80000000");
  EXPECT_THROW(to_external32(unknown_type(3), 1, packed, packed + 8), ConversionError);
}

#if defined(__SIZEOF_FLOAT128__) && LDBL_MANT_DIG == 64
/// Against the compiler's own binary128.
TEST(External32, KeepsLongDoubles) {
  using Limits = std::numeric_limits<long double>;
  const BasicType type{BasicType::Family::extended, 1, 16, 16};
  for (const long double value :
       {0.0L, -0.0L, 1.0L / 7, -1e300L * 1e300L, Limits::max(), Limits::min(), Limits::denorm_min(),
        Limits::min() / 3, Limits::infinity(), -Limits::infinity()}) {
    const __float128 quad = value;
    std::byte wanted[16], packed[16], native[16];
    std::memcpy(wanted, &quad, 16);
    std::reverse(wanted, wanted + 16);
    std::memcpy(native, &value, 16);
    to_external32(type, 1, native, packed);
    EXPECT_EQ(std::memcmp(wanted, packed, 16), 0) << value;
    long double back = 0;
    from_external32(type, 1, packed, reinterpret_cast<std::byte*>(&back));
    EXPECT_EQ(back, value);
    EXPECT_EQ(std::signbit(back), std::signbit(value));
  }
  hex_in_file(MPI_LONG_DOUBLE, Limits::quiet_NaN());
}

TEST(External32, RoundsToLongDoubles) {
  const BasicType type{BasicType::Family::extended, 1, 16, 16};
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::uint64_t words[2] = {random(), random()};
    if (i % 3 == 0) words[0] &= ~((std::uint64_t{1} << 49) - 1);                           // exact
    if (i % 3 == 1) words[0] = (words[0] & ~((std::uint64_t{1} << 49) - 1)) | 1ULL << 48;  // a tie
    if (i % 5 == 0) words[1] &= ~(std::uint64_t{0x7fff} << 48);                          // denormal
    if (i % 7 == 0) words[1] |= 0xffffffffffffULL, words[0] |= ~std::uint64_t{0} << 49;  // carries
    __float128 quad;
    std::memcpy(&quad, words, 16);
    std::byte packed[16];
    std::memcpy(packed, words, 16);
    std::reverse(packed, packed + 16);
    long double back = 0;
    from_external32(type, 1, packed, reinterpret_cast<std::byte*>(&back));
    const auto wanted = static_cast<long double>(quad);
    EXPECT_TRUE(back == wanted || (std::isnan(back) && std::isnan(wanted))) << back << wanted;
  }
}
#endif

TEST(External32, TakesPartsOfStreams) {
  struct Both {
    double value;
    long index;
  };
  Type type;
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {offsetof(Both, value), offsetof(Both, index)};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_LONG};
  MPI_Type_create_struct(2, lengths, places, types, &type);
  constexpr std::int64_t count = 20000;  // several chunks
  const auto layout = layout_of(type);
  const Elements stream = Elements::repeat(layout->elements, count);
  EXPECT_EQ(stream.totals(), (Elements::Totals{2 * count, 16 * count, 12 * count}));
  std::vector<Both> values(count), back(count, Both{-1, -1});
  for (std::int64_t i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)] = {static_cast<double>(i) / 3, -i};
  std::vector<std::byte> packed(12 * count);
  pack_external32(memory_map(values.data(), count, *layout), stream, packed.data());
  // 15,000 complete ones, a double, and a part of an index.
  const auto done = unpack_external32(std::span(packed).first(12 * 15000 + 8 + 3),
                                      memory_map(back.data(), count, *layout), stream);
  EXPECT_EQ(done, (Elements::Totals{30001, 16 * 15000 + 8, 12 * 15000 + 8}));
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(back[i].value, i <= 15000 ? values[i].value : -1);
    EXPECT_EQ(back[i].index, i < 15000 ? values[i].index : -1);
  }
}

}  // namespace
}  // namespace penstock
