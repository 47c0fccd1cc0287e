// Faults injected on one rank in one round: every rank must get the same error class, within
// seconds, and the file must still be usable.
#include "../mpi/mpi_main.hpp"

#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>

#include <penstock/penstock.hpp>

namespace ps = penstock;
using mpi_test::rank;
using mpi_test::size;

namespace {

const std::vector<ps::Method> all_methods{ps::Method::direct,   ps::Method::sieved,
                                          ps::Method::gather,   ps::Method::two_phase,
                                          ps::Method::extended, ps::Method::automatic};

std::string path_of(const std::string& name) {
  return mpi_test::folder() + "/" + name;
}

ps::ArraySpec spec_of(std::vector<std::int64_t> shape, std::int64_t element_size) {
  ps::ArraySpec spec;
  spec.shape = std::move(shape);
  spec.element_size = element_size;
  spec.container = ps::Container::raw;
  return spec;
}

/// The error of `call` on this rank; checks that all ranks got the same class and message.
std::optional<ps::Error> error_everywhere(const std::function<void()>& call) {
  std::optional<ps::Error> error;
  const auto begin = std::chrono::steady_clock::now();
  try {
    call();
  } catch (const ps::Error& thrown) {
    error = thrown;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  const int cls = error ? static_cast<int>(error->error_class()) : 0;
  int low = 0, high = 0;
  MPI_Allreduce(&cls, &low, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&cls, &high, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  EXPECT_EQ(low, high) << "ranks got different error classes";
  return error;
}

constexpr std::int64_t edge = 96;

/// Columns in turn: with small buffers every method has several rounds, windows and runs.
ps::Section interleaved() {
  return ps::Section{{0, edge}, {rank(), edge, std::max(2, size())}};
}

class Faults : public testing::TestWithParam<std::tuple<ps::Method, std::string, int, bool>> {};

TEST_P(Faults, EndInTheSameErrorEverywhere) {
  const auto [method, what, at, buffered] = GetParam();
  const bool reads = what.starts_with("read");
  const int victim = method == ps::Method::gather ? 0 : size() / 2;
  ps::Hints hints;
  hints.method = method;
  hints.buffer_size = 2048;
  hints.aggregators = size();
  if (method == ps::Method::gather) hints.aggregators = 0;
  if (!buffered) hints.active_buffer_size = 0;
  const auto spec = spec_of({edge, edge}, 4);
  ps::ArrayFile::open(MPI_COMM_WORLD, path_of("fault"), ps::Mode::create, spec).close();
  ps::Hints faulty = hints;
  const std::size_t equals = what.find('=');
  faulty.device = "fault:" + what.substr(0, equals) + "@" + std::to_string(at) + "+" +
                  what.substr(equals) + ",rank=" + std::to_string(victim);
  auto file =
      ps::ArrayFile::open(MPI_COMM_WORLD, path_of("fault"), ps::Mode::read_write, spec, faulty);
  const ps::Section mine = interleaved();
  std::vector<std::int32_t> data(static_cast<std::size_t>(mine.element_count()), rank());
  const bool later = buffered && !reads;
  if (later) file.write(data, mine);  // the next call has to report it
  const auto error = error_everywhere([&] {
    if (later) file.sync();
    else if (reads) file.read(data, mine);
    else file.write(data, mine);
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->error_class(), ps::ErrorClass::storage);
  EXPECT_EQ(error->rank(), victim);
  EXPECT_EQ(error->path(), path_of("fault"));
  EXPECT_GE(error->offset(), 0);
  EXPECT_EQ(error->error_number(), what.ends_with("EIO") ? EIO : ENOSPC);
  const std::string text = error->what();
  if (size() > 1) {
    EXPECT_TRUE(text.starts_with("rank " + std::to_string(victim))) << text;
  }
  EXPECT_NE(text.find("stopped after"), std::string::npos) << text;
  EXPECT_EQ(text.find("for write 1 of the file") != std::string::npos, later) << text;
  file.close();
  // The ranks are still in step: the next call, on a healthy file, works.
  auto again =
      ps::ArrayFile::open(MPI_COMM_WORLD, path_of("fault"), ps::Mode::read_write, spec, hints);
  again.write(data, mine);
  std::vector<std::int32_t> back(data.size());
  again.read(back, mine);
  EXPECT_EQ(back, data);
  again.close();
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Faults,
                         testing::Combine(testing::ValuesIn(all_methods),
                                          testing::Values("write=EIO", "write=ENOSPC", "read=EIO"),
                                          testing::Values(0, 2), testing::Bool()),
                         [](const auto& info) {
                           std::string name = std::string(ps::to_string(std::get<0>(info.param))) +
                                              "_" + std::get<1>(info.param) + "_" +
                                              std::to_string(std::get<2>(info.param)) +
                                              (std::get<3>(info.param) ? "_buffered" : "");
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

TEST(Interruptions, ShortTransfersAndSignalsLoseNothing) {
  for (const bool buffered : {false, true})
    for (const ps::Method method : all_methods)
      for (const char* fault : {"write@*=short,read@*=short",
                                "write@0=EINTR,write@2=EINTR,read@0=EINTR,read@1=short"}) {
        ps::Hints hints;
        hints.method = method;
        hints.buffer_size = 1024;
        hints.active_buffer_size = buffered ? 1500 : 0;
        hints.device = std::string("fault:") + fault;
        auto file = ps::ArrayFile::open(MPI_COMM_WORLD, path_of("short"), ps::Mode::create,
                                        spec_of({edge, edge}, 4), hints);
        const ps::Section mine = interleaved();
        std::vector<std::int32_t> data(static_cast<std::size_t>(mine.element_count()));
        for (std::size_t i = 0; i < data.size(); ++i)
          data[i] = static_cast<std::int32_t>(i) * 31 + rank();
        file.write(data, mine);
        std::vector<std::int32_t> back(data.size());
        file.read(back, mine);
        EXPECT_EQ(back, data) << ps::to_string(method) << " " << fault;
        file.close();
      }
}

TEST(Sync, EndsInTheSameErrorEverywhere) {
  const int victim = size() / 2;
  ps::Hints hints;
  hints.device = "fault:sync@0=EIO,rank=" + std::to_string(victim);
  auto file = ps::ArrayFile::open(MPI_COMM_WORLD, path_of("sync"), ps::Mode::create,
                                  spec_of({edge, edge}, 4), hints);
  const ps::Section mine = interleaved();
  file.write(std::vector<std::int32_t>(static_cast<std::size_t>(mine.element_count())), mine);
  const auto error = error_everywhere([&] { file.sync(); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->error_class(), ps::ErrorClass::storage);
  EXPECT_EQ(error->rank(), victim);
  EXPECT_EQ(error->error_number(), EIO);
  EXPECT_FALSE(error_everywhere([&] { file.sync(); }));
  file.close();
}

TEST(Locks, WithoutThemWritesStayExact) {
  for (const bool buffered : {false, true}) {
    ps::Hints hints;
    hints.method = ps::Method::extended;
    if (!buffered) hints.active_buffer_size = 0;
    hints.device = "fault:lock@*=ENOLCK";
    auto file = ps::ArrayFile::open(MPI_COMM_WORLD, path_of("nolocks"), ps::Mode::create,
                                    spec_of({edge, edge * 2}, 4), hints);
    const ps::Section mine{{0, edge}, {rank() * 2, edge * 2, 2 * size()}};
    file.write(std::vector<std::int32_t>(static_cast<std::size_t>(mine.element_count()), 1), mine);
    file.sync();  // the background's counts are complete
    EXPECT_EQ(file.statistics().bytes_read, 0) << "a read-modify-write without a lock is not safe";
    file.close();
  }
}

// ---- bad input: the same clear error on every rank, and the file is unchanged

class BadInput : public testing::Test {
 protected:
  void SetUp() override {
    spec_ = spec_of({16, 16}, 4);
    file_.emplace(ps::ArrayFile::open(MPI_COMM_WORLD, path_of("bad"), ps::Mode::create, spec_));
    if (rank() == 0) file_->write(std::vector<std::int32_t>(256, 7), ps::Section{{0, 16}, {0, 16}});
    else file_->write(std::vector<std::int32_t>(), ps::Section());
  }
  void TearDown() override {
    if (!file_->closed()) file_->close();
    mpi_test::barrier();
    std::ifstream in(path_of("bad"), std::ios::binary);
    std::vector<std::int32_t> values(257);
    in.read(reinterpret_cast<char*>(values.data()), 257 * 4);
    EXPECT_EQ(in.gcount(), 1024);
    EXPECT_EQ(std::count(values.begin(), values.end(), 7), 256) << "the file was changed";
    mpi_test::barrier();
  }
  void expect(ps::ErrorClass cls, const std::string& words, const std::function<void()>& call) {
    const auto error = error_everywhere(call);
    ASSERT_TRUE(error) << "no error; expected: " << words;
    EXPECT_EQ(error->error_class(), cls);
    EXPECT_NE(std::string(error->what()).find(words), std::string::npos) << error->what();
  }
  int last() const { return size() - 1; }
  bool victim() const { return rank() == last(); }

  ps::ArraySpec spec_;
  std::optional<ps::ArrayFile> file_;
  std::vector<std::int32_t> data_ = std::vector<std::int32_t>(256, 1);
};

TEST_F(BadInput, SectionsOnOneRank) {
  const auto write = [&](ps::Section bad) {
    return [this, bad] { file_->write(data_, victim() ? bad : ps::Section{{0, 16}, {0, 16}}); };
  };
  using C = ps::ErrorClass;
  expect(C::section, "stride 0", write(ps::Section{{0, 16, 0}, {0, 16}}));
  expect(C::section, "stride -2", write(ps::Section{{0, 16}, {0, 16, -2}}));
  expect(C::section, "upper bound is below", write(ps::Section{{9, 3}, {0, 16}}));
  expect(C::section, "out of the array", write(ps::Section{{0, 17}, {0, 16}}));
  expect(C::section, "1 dimensions", write(ps::Section{{0, 16}}));
}

TEST_F(BadInput, BuffersAndHintsOnOneRank) {
  using C = ps::ErrorClass;
  std::vector<std::int32_t> small(10);
  expect(C::argument, "buffer is too small", [&] {
    file_->write(victim() ? small : data_, ps::Section{{0, 16}, {0, 16}});
  });
  expect(C::argument, "buffer is too small", [&] {
    file_->read(victim() ? small : data_, ps::Section{{0, 16}, {0, 16}});
  });
  const std::vector<double> wide(256);
  expect(C::argument, "elements of 8 bytes, the file of 4", [&] {
    file_->write(wide, ps::Section{{0, 16}, {0, 16}});
  });
  ps::Hints hints;
  hints.buffer_size = 2;
  expect(C::argument, "buffer_size", [&] {
    file_->write(data_, ps::Section{{0, 16}, {0, 16}}, victim() ? &hints : nullptr);
  });
  ps::Hints many;
  many.aggregators = size() + 1;
  expect(C::argument, "aggregators", [&] {
    file_->write(data_, ps::Section{{0, 16}, {0, 16}}, &many);
  });
}

TEST_F(BadInput, DisagreementsNameTheArgumentAndTheRank) {
  if (size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  using C = ps::ErrorClass;
  ps::Hints other;
  other.method = ps::Method::gather;
  expect(C::disagreement, "method", [&] {
    file_->write(data_, ps::Section{{0, 16}, {0, 16}}, victim() ? &other : nullptr);
  });
  expect(C::disagreement, "rank " + std::to_string(last()), [&] {
    file_->write(data_, ps::Section{{0, 16}, {0, 16}}, victim() ? &other : nullptr);
  });
  expect(C::disagreement, "the operation", [&] {
    if (victim()) file_->read(data_, ps::Section{{0, 16}, {0, 16}});
    else file_->write(data_, ps::Section{{0, 16}, {0, 16}});
  });
  const auto open = [&](const ps::ArraySpec& spec, ps::Mode mode = ps::Mode::create) {
    return [=, this] {
      ps::ArrayFile::open(MPI_COMM_WORLD, path_of("bad"), mode, victim() ? spec : spec_);
    };
  };
  expect(C::disagreement, "shape", open(spec_of({16, 17}, 4)));
  expect(C::disagreement, "dtype", open(spec_of({16, 16}, 8)));
  ps::ArraySpec offset = spec_;
  offset.offset = 4;
  expect(C::disagreement, "offset", open(offset));
  expect(C::disagreement, "path", [&] {
    ps::ArrayFile::open(MPI_COMM_WORLD, path_of(victim() ? "other" : "bad"), ps::Mode::create,
                        spec_);
  });
}

TEST_F(BadInput, FilesThatCannotBeOpened) {
  using C = ps::ErrorClass;
  expect(C::storage, "No such file",
         [&] { ps::ArrayFile::open(MPI_COMM_WORLD, path_of("no/such"), ps::Mode::create, spec_); });
  expect(C::storage, "No such file",
         [&] { ps::ArrayFile::open(MPI_COMM_WORLD, path_of("absent"), ps::Mode::read, spec_); });
  expect(C::format, "too short", [&] {
    ps::ArrayFile::open(MPI_COMM_WORLD, path_of("bad"), ps::Mode::read, spec_of({17, 16}, 4));
  });
  expect(C::argument, "shape is needed",
         [&] { ps::ArrayFile::open(MPI_COMM_WORLD, path_of("bad"), ps::Mode::read, {}); });
  expect(C::argument, "1 to 65536", [&] {
    ps::ArrayFile::open(MPI_COMM_WORLD, path_of("bad"), ps::Mode::create, spec_of({4}, 70000));
  });
  ps::Hints bad;
  bad.device = victim() ? "nonsense" : "";
  expect(C::argument, "device", [&] {
    ps::ArrayFile::open(MPI_COMM_WORLD, path_of("bad"), ps::Mode::create, spec_, bad);
  });
}

TEST_F(BadInput, CommunicatorsThatWereFreed) {
  MPI_Comm freed;
  MPI_Comm_dup(MPI_COMM_WORLD, &freed);
  MPI_Comm_free(&freed);
  expect(ps::ErrorClass::argument, "MPI_COMM_NULL",
         [&] { ps::ArrayFile::open(freed, path_of("bad"), ps::Mode::create, spec_); });
}

TEST_F(BadInput, WritingToAFileOpenForReading) {
  auto file = ps::ArrayFile::open(MPI_COMM_WORLD, path_of("bad"), ps::Mode::read, spec_);
  expect(ps::ErrorClass::state, "reading only", [&] {
    file.write(data_, ps::Section{{0, 16}, {0, 16}});
  });
  file.close();
  expect(ps::ErrorClass::state, "is closed", [&] {
    file.read(data_, ps::Section{{0, 16}, {0, 16}});
  });
}

}  // namespace

int main(int argc, char** argv) {
  return mpi_test::main(argc, argv);
}
