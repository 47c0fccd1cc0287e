// Codecs: what is encoded is decoded again, also if other programs have encoded it.
#include "formats/zarr/codec/codec.hpp"

#include <gtest/gtest.h>

#include <optional>

#include <penstock/error.hpp>

#include "storage_temp_folder.hpp"

namespace penstock {
namespace {

class Codecs : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      codec_ = make_codec({.name = GetParam(), .level = 3});
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  static Bytes bytes(std::size_t size) {
    const auto plain = test::pattern(size);
    return {plain.begin(), plain.end()};
  }

  std::unique_ptr<Codec> codec_;
};

TEST_P(Codecs, GiveBackWhatTheyGot) {
  for (const std::size_t size : {1, 2, 7, 8, 9, 255, 4096, 100'001}) {
    const Bytes plain = bytes(size), coded = codec_->encode(plain);
    EXPECT_EQ(codec_->decode(coded, std::ssize(plain)), plain) << size;
  }
}

/// An encoded chunk that was truncated, or has a changed byte, either is reported as damaged or
/// decodes to no more than was asked for.
TEST_P(Codecs, OfDamagedBytesTheyGiveNoMoreThanWasAskedFor) {
  const Bytes plain = bytes(999), coded = codec_->encode(plain);
  for (std::size_t at = 0; at < coded.size(); at += 1 + coded.size() / 200)
    for (const bool cut : {true, false}) {
      Bytes damaged = coded;
      if (cut) damaged.resize(at);
      else damaged[at] ^= std::byte{0x55};
      try {
        EXPECT_LE(codec_->decode(damaged, 999).size(), std::max<std::size_t>(999, at));
      } catch (const Error& error) {
        EXPECT_EQ(error.error_class(), ErrorClass::format);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Names, Codecs, testing::Values("zstd", "gzip", "blosc", "crc32c"));

using Gzip = Codecs;

/// RFC 1952: members follow each other without gaps, and their contents are concatenated.
TEST_P(Gzip, MembersOfOneFileFollowEachOther) {
  for (const std::vector<std::size_t>& sizes :
       {std::vector<std::size_t>{5, 900}, {900, 5}, {1, 1, 1}, {0, 7}, {300, 0, 300}}) {
    Bytes plain, coded;
    for (const std::size_t size : sizes) {
      const Bytes part = bytes(size), member = codec_->encode(part);
      plain.insert(plain.end(), part.begin(), part.end());
      coded.insert(coded.end(), member.begin(), member.end());
    }
    EXPECT_EQ(codec_->decode(coded, std::ssize(plain)), plain);
    EXPECT_THROW(codec_->decode(coded, std::ssize(plain) - 1), Error);
  }
}

INSTANTIATE_TEST_SUITE_P(Members, Gzip, testing::Values("gzip"));

}  // namespace
}  // namespace penstock
