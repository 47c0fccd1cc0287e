#include "formats/element_kind.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>

#include <penstock/element_type.hpp>

namespace penstock {
namespace {

template <class T>
std::vector<T> through(const std::string& file, const std::vector<T>& values, bool& fits) {
  const ElementKind memory = *element_kind(dtype_of<T>()), stored = *element_kind(file);
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(values.size())};
  const std::vector<std::int64_t> stride{sizeof(T)}, file_stride{stored.size};
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(stored.size));
  std::vector<T> back(values.size());
  fits = convert(shape, {reinterpret_cast<const std::byte*>(values.data()), stride, memory},
                 {bytes.data(), file_stride, stored});
  convert(shape, {bytes.data(), file_stride, stored},
          {reinterpret_cast<std::byte*>(back.data()), stride, memory});
  return back;
}

TEST(ElementKind, NamesOfTypes) {
  EXPECT_EQ(with_byte_order("f4"), dtype_of<float>());
  EXPECT_EQ(with_byte_order("u1"), "|u1");
  EXPECT_EQ(dtype_of<bool>(), "|b1");
  EXPECT_EQ(dtype_of<std::byte>(), "");
  EXPECT_EQ(with_byte_order("c16"), dtype_of<std::complex<double>>());
  for (const char* other : {"<f2", "|S8", "[('a', '<f4')]", "", "<f", "<fx", "<M8"})
    EXPECT_FALSE(element_kind(other)) << other;
}

TEST(ElementKind, WhatConverts) {
  for (const auto& [from, to] : {std::pair("f8", "f4"),
                                 {"i8", "f4"},
                                 {"u8", "c8"},
                                 {"c16", "c8"},
                                 {"i4", "i8"},
                                 {"u4", "i8"},
                                 {"b1", "u1"},
                                 {"<f4", ">f4"}})
    EXPECT_TRUE(converts(from, to)) << from << " to " << to;
  for (const auto& [from, to] : {std::pair("f8", "i8"),
                                 {"i8", "i4"},
                                 {"c8", "f8"},
                                 {"i4", "u8"},
                                 {"u8", "i8"},
                                 {"u1", "b1"},
                                 {"f4", "|S4"},
                                 {"i1", "b1"}})
    EXPECT_FALSE(converts(from, to)) << from << " to " << to;
  EXPECT_TRUE(converts("|S4", "|S4"));
}

TEST(ElementKind, ValuesAndByteOrders) {
  bool fits = false;
  EXPECT_EQ(through<double>("<f4", {1.5, -2.0, 1e30}, fits),
            (std::vector{1.5, -2.0, double(1e30f)}));
  EXPECT_TRUE(fits);
  EXPECT_EQ(through<std::complex<double>>(">c8", {{1.5, -2.5}}, fits)[0],
            (std::complex<double>(1.5, -2.5)));
  EXPECT_TRUE(fits);
  const std::int32_t value = 0x01020304;
  std::byte stored[8] = {};
  const std::vector<std::int64_t> one{1}, stride{4}, wide{8};
  convert(one, {reinterpret_cast<const std::byte*>(&value), stride, *element_kind("<i4")},
          {stored, wide, *element_kind(">i8")});
  const std::byte expected[8] = {{},           {},           {},           {},
                                 std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  EXPECT_EQ(std::memcmp(stored, expected, 8), 0);
}

/// Bytes of an element in the other byte order, each number of it by itself.
template <class T>
std::vector<std::byte> swapped(const T& value, std::size_t numbers) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  for (std::size_t i = 0; i < numbers; ++i) {
    const auto part = bytes.begin() + static_cast<std::ptrdiff_t>(i * sizeof value / numbers);
    std::reverse(part, part + static_cast<std::ptrdiff_t>(sizeof value / numbers));
  }
  return bytes;
}

template <class T>
void expect_stored_swapped(const T& value, std::size_t numbers = 1) {
  std::string dtype = dtype_of<T>();
  const ElementKind memory = *element_kind(dtype);
  if (sizeof value > numbers) dtype[0] = dtype[0] == '<' ? '>' : '<';
  std::vector<std::byte> stored(sizeof value);
  const std::vector<std::int64_t> one{1}, stride{sizeof value};
  convert(one, {reinterpret_cast<const std::byte*>(&value), stride, memory},
          {stored.data(), stride, *element_kind(dtype)});
  EXPECT_EQ(stored, swapped(value, numbers)) << dtype;
  T back{};
  convert(one, {stored.data(), stride, *element_kind(dtype)},
          {reinterpret_cast<std::byte*>(&back), stride, memory});
  EXPECT_EQ(back, value) << dtype;
}

TEST(ElementKind, EachTypeInTheOtherByteOrder) {
  expect_stored_swapped(true);
  expect_stored_swapped<std::int8_t>(-3);
  expect_stored_swapped<std::int16_t>(-0x0102);
  expect_stored_swapped<std::int32_t>(0x01020304);
  expect_stored_swapped<std::int64_t>(-0x0102030405060708);
  expect_stored_swapped<std::uint8_t>(200);
  expect_stored_swapped<std::uint16_t>(0xfedc);
  expect_stored_swapped<std::uint32_t>(0xfedcba98);
  expect_stored_swapped<std::uint64_t>(0xfedcba9876543210);
  expect_stored_swapped(1.7F);
  expect_stored_swapped(-1.7);
  expect_stored_swapped(std::complex<float>(1.7F, -2.9F), 2);
  expect_stored_swapped(std::complex<double>(1.7, -2.9), 2);
}

TEST(ElementKind, NumbersOutOfRangeAreTold) {
  bool fits = true;
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(through<double>("<f4", {1e300}, fits)[0], infinity);
  EXPECT_FALSE(fits);
  EXPECT_EQ(through<double>(">f4", {infinity}, fits)[0], infinity);
  EXPECT_TRUE(fits);
  through<std::complex<double>>("<c8", {{0, 1e300}}, fits);
  EXPECT_FALSE(fits);
}

TEST(ElementKind, AnyStrides) {
  const std::int16_t source[2][3] = {{1, 2, 3}, {4, 5, 6}};
  double target[3][2] = {};
  const std::vector<std::int64_t> shape{2, 3}, from{6, 2}, to{8, 16};
  EXPECT_TRUE(convert(shape,
                      {reinterpret_cast<const std::byte*>(source), from, *element_kind("<i2")},
                      {reinterpret_cast<std::byte*>(target), to, *element_kind("<f8")}));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) EXPECT_EQ(target[j][i], source[i][j]);
}

}  // namespace
}  // namespace penstock
