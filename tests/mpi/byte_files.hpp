// Files of bytes that all ranks open, and requests for their bytes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "file/byte_file.hpp"
#include "file/process.hpp"
#include "mpi_main.hpp"

namespace ps = penstock;
namespace mpi_test {

using Bytes = std::vector<std::byte>;

struct OpenEnded : ps::Contents {
  ps::FileUnits units() const override { return {.open_ended = true}; }
};

class ByteFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    path = folder() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    if (rank() == 0) std::filesystem::remove(path);
    meet();
  }
  static void meet() { barrier(); }

  std::unique_ptr<ps::ByteFile> open(const ps::Hints& hints = {}) const {
    OpenEnded contents;
    return std::make_unique<ps::ByteFile>(ps::background_of_process(),
                                          ps::Communicator(MPI_COMM_WORLD), path,
                                          ps::OpenFlag::create, contents, hints);
  }

  std::string path;
};

/// `bytes` in memory as one run, at each of `count` places in the file.
inline ps::ByteRequest request(ps::Direction direction, Bytes& bytes, std::int64_t offset,
                               std::int64_t run, std::int64_t step, ps::Company company) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  ps::ByteRequest request;
  request.company = company;
  request.access.direction = direction;
  if (bytes.empty()) return request;
  ps::Nest nest = ps::Nest::repeat(ps::Nest::run(0, run), (size + run - 1) / run, step);
  request.access.file = ps::Footprint({ps::FilePattern(nest.cut(0, size).moved(offset))});
  request.access.memory.emplace_back(bytes.data(), ps::Nest::run(0, size));
  return request;
}

/// The same as the model has it.
template <class Visit>
void for_each_byte(std::int64_t count, std::int64_t offset, std::int64_t run, std::int64_t step,
                   Visit&& visit) {
  for (std::int64_t i = 0; i < count; ++i) visit(i, offset + i / run * step + i % run);
}

inline Bytes filled(std::int64_t count, int value) {
  return Bytes(static_cast<std::size_t>(count), static_cast<std::byte>(value));
}

inline ps::Hints with_method(ps::Method method, std::int64_t buffered) {
  ps::Hints hints;
  hints.method = method;
  hints.active_buffer_size = buffered;
  hints.buffer_size = 4096;
  return hints;
}

}  // namespace mpi_test
