// The kinds of storage, also stacked, and common parts of their tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <vector>

#include "../unit/storage_temp_folder.hpp"
#include "storage/storage.hpp"

namespace penstock::test {

using Bytes = std::vector<std::byte>;

inline constexpr std::int64_t giga = std::int64_t{1} << 30;

struct Kind {
  const char* name;
  // A kind that does not work here gives another storage and a notice.
  std::unique_ptr<Storage> (*open)(const std::string& path, std::string* notice);
  bool shares;  // two opens of one path are one file, and exclude each other by locks
};

void PrintTo(const Kind& kind, std::ostream* out);

std::span<const Kind> all_kinds();
/// Those where two opens of one path are one file.
std::vector<Kind> sharing_kinds();
std::string name_of_kind(const testing::TestParamInfo<Kind>& info);

class StorageConformance : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (!notice_.empty()) GTEST_SKIP() << notice_;
  }
  std::unique_ptr<Storage> open() {
    notice_.clear();
    return GetParam().open(path(), &notice_);
  }
  std::string path() const { return folder_.file("file"); }

  static Bytes read(Storage& storage, std::int64_t offset, std::size_t size) {
    Bytes into(size, std::byte{0xee});
    const Transfer got = read_fully(storage, into, offset);
    EXPECT_EQ(got.error, 0);
    into.resize(static_cast<std::size_t>(got.bytes));
    return into;
  }
  static void write(Storage& storage, const Bytes& bytes, std::int64_t offset) {
    const Transfer done = write_fully(storage, bytes, offset);
    EXPECT_EQ(done.error, 0);
    EXPECT_EQ(done.bytes, static_cast<std::int64_t>(bytes.size()));
  }

  TempFolder folder_;
  std::string notice_;
  std::unique_ptr<Storage> storage_ = open();
};

}  // namespace penstock::test
