// Heap allocations of a call of one rank that moves a single byte through the page cache. Each is a
// fixed cost of every call.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <vector>

#include <penstock/penstock.hpp>

#include "storage_temp_folder.hpp"

namespace {

thread_local int allocations = 0;

void* allocate(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// Not inline: if only one of a pair is, the compiler reports a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  return allocate(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace penstock {
namespace {

/// For one call in the middle of many: the first ones fill caches, and occasionally a queue grows.
template <class Call>
int allocations_of(Call&& call) {
  std::vector<int> counts(101);
  for (int& count : counts) {
    const int before = allocations;
    call();
    count = allocations - before;
  }
  std::ranges::nth_element(counts, counts.begin() + 50);
  return counts[50];
}

class CallCost : public testing::Test {
 protected:
  void TearDown() override { file_.close(); }
  static ArraySpec bytes() {
    ArraySpec spec;
    spec.shape = {4096};
    spec.element_size = 1;
    return spec;
  }
  void write() {
    const Part<WriteView> part{section_, {&byte_, {}, {}, 1, 1}};
    file_.write({&part, 1}, &hints_);
  }
  void read() {
    const Part<ReadView> part{section_, {&byte_, {}, {}, 1, 1}};
    file_.read({&part, 1}, &hints_);
  }

  const test::TempFolder folder_;
  ArrayFile file_ = ArrayFile::open(folder_.file("bytes"), Mode::create, bytes());
  const Section section_{{100, 101}};
  std::byte byte_{1};
  Hints hints_;
};

TEST_F(CallCost, ABufferedWriteOfAByteAllocatesLittle) {
  EXPECT_LE(allocations_of([&] { write(); }), 22);
}

TEST_F(CallCost, AWriteOfAByteAllocatesLittle) {
  hints_.active_buffer_size = 0;
  EXPECT_LE(allocations_of([&] { write(); }), 20);
}

TEST_F(CallCost, AReadOfAByteAllocatesLittle) {
  write();
  EXPECT_LE(allocations_of([&] { read(); }), 19);
}

}  // namespace
}  // namespace penstock
