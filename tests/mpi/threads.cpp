// Threads of the program, and forked children: different files concurrently, one file one call at a
// time. With --serialized: MPI allows one thread at a time.
#include "mpi_main.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <penstock/penstock.hpp>

#include "mpi/thread_use.hpp"

namespace ps = penstock;
using mpi_test::rank;
using mpi_test::size;

namespace {

constexpr std::int64_t columns = 1000;

std::string path_of(const std::string& name) {
  return mpi_test::folder() + "/" + name;
}

ps::ArraySpec spec_of(std::int64_t rows) {
  ps::ArraySpec spec;
  spec.shape = {rows, columns};
  spec.element_size = 4;
  return spec;
}

ps::Section row(std::int64_t number) {
  return {{number, number + 1}, {0, columns}};
}

std::vector<std::int32_t> values(int seed) {
  return std::vector<std::int32_t>(columns, 1000 * seed + rank());
}

/// Made and freed by one thread: all ranks must do that in the same order.
class Communicators {
 public:
  explicit Communicators(int count) : all_(static_cast<std::size_t>(count)) {
    for (MPI_Comm& comm : all_) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  }
  Communicators(const Communicators&) = delete;
  ~Communicators() {
    for (MPI_Comm& comm : all_) MPI_Comm_free(&comm);
  }
  MPI_Comm operator[](int i) const { return all_[static_cast<std::size_t>(i)]; }

 private:
  std::vector<MPI_Comm> all_;
};

/// Runs `work(i)` in this many threads. Exceptions, and failed expectations in them, fail the test.
template <class Work>
void in_threads(int count, Work work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&work, i] {
      try {
        work(i);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "thread " << i << ": " << error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

/// One life of a file, of which this process has a row: begin, query, wait, read, close.
void use(ps::ArrayFile file, std::int64_t own_row, int seed) {
  const std::vector<std::int32_t> first = values(seed), second = values(seed + 1);
  ps::Handle one = file.write_begin(first, row(own_row)),
             other = file.write_begin(second, row(own_row));
  static_cast<void>(one.test());
  one.copied();
  other.wait();
  one.wait();
  std::vector<std::int32_t> back(columns);
  file.read_begin(back, row(own_row)).wait();
  EXPECT_EQ(back, second);
  if (seed % 2 == 0) file.close();
  else file.close_begin().wait();
}

TEST(Threads, HaveFilesAndCommunicatorsOfTheirOwn) {
  constexpr int count = 3;
  const Communicators comms(count);
  in_threads(count, [&](int i) {
    for (int turn = 0; turn < 15; ++turn)
      use(ps::ArrayFile::open(comms[i], path_of("own" + std::to_string(i)), ps::Mode::create,
                              spec_of(size())),
          rank(), 100 * i + turn);
  });
}

TEST(Threads, HaveFilesOfThisProcess) {
  in_threads(4, [&](int i) {
    const std::string path = path_of("mine" + std::to_string(rank()) + "-" + std::to_string(i));
    for (int turn = 0; turn < 25; ++turn) {
      use(ps::ArrayFile::open(MPI_COMM_SELF, path, ps::Mode::create, spec_of(1)), 0, turn);
      if (size() == 1) use(ps::ArrayFile::open(path, ps::Mode::create, spec_of(1)), 0, turn);
    }
  });
}

TEST(Threads, ShareAFileOfThisProcess) {
  constexpr int count = 4;
  auto file = ps::ArrayFile::open(MPI_COMM_SELF, path_of("shared" + std::to_string(rank())),
                                  ps::Mode::create, spec_of(count));
  in_threads(count, [&](int i) {
    for (int turn = 0; turn < 25; ++turn) {
      const std::vector<std::int32_t> data = values(100 * i + turn);
      ps::Handle handle = file.write_begin(data, row(i), ps::Background::all);
      file.write(data, row(i));
      static_cast<void>(handle.test());
      handle.wait();
      std::vector<std::int32_t> back(columns);
      file.read(back, row(i));
      EXPECT_EQ(back, data);
      EXPECT_GE(file.statistics().bytes_written + file.last_call().bytes_read, 0);
    }
  });
  file.close();
}

/// While one thread makes collective calls, others query the file and operations in flight.
TEST(Threads, LookAtAFileThatIsInACall) {
  auto file =
      ps::ArrayFile::open(MPI_COMM_WORLD, path_of("looked at"), ps::Mode::create, spec_of(size()));
  const std::vector<std::int32_t> data = values(7);
  ps::Handle handle = file.write_begin(data, row(rank()));
  std::atomic<bool> over = false;
  std::thread looks([&] {
    while (!over) {
      static_cast<void>(handle.test());
      static_cast<void>(handle.copied(false));
      EXPECT_FALSE(file.closed());
      EXPECT_GE(file.statistics().bytes_written, 0);
    }
  });
  for (int turn = 0; turn < 30; ++turn) file.write(values(turn), row(rank()));
  handle.wait();
  over = true;
  looks.join();
  std::vector<std::int32_t> back(columns);
  file.read(back, row(rank()));
  EXPECT_EQ(back, values(29));
  file.close();
}

/// 0: `work` succeeded in the child.
template <class Work>
int in_a_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    ::_exit(work() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

template <class Call>
std::string refused(Call call) {
  try {
    call();
  } catch (const ps::Error& error) {
    return error.error_class() == ps::ErrorClass::state ? error.what() : "";
  }
  return {};
}

TEST(Children, LeaveTheirParentsFileAlone) {
  const std::string opened = "opened by process " + std::to_string(::getpid());
  std::optional file =
      ps::ArrayFile::open(MPI_COMM_WORLD, path_of("forked"), ps::Mode::create, spec_of(size()));
  const std::vector<std::int32_t> data = values(3);
  std::optional handle = file->write_begin(data, row(rank()));
  EXPECT_EQ(in_a_child([&] {
              const auto says = [&](auto call) {
                return refused(call).find(opened) != std::string::npos;
              };
              const bool all =
                  says([&] { file->write(data, row(rank())); }) && says([&] { file->sync(); }) &&
                  says([&] { static_cast<void>(file->statistics()); }) &&
                  says([&] { static_cast<void>(handle->test()); }) && says([&] { handle->wait(); });
              file->abandon();
              handle.reset();
              file.reset();
              return all;
            }),
            0);
  EXPECT_EQ(in_a_child([&] {
              return !refused([&] {
                        ps::ArrayFile::open(MPI_COMM_SELF, path_of("no"), ps::Mode::create,
                                            spec_of(1));
                      }).empty();
            }),
            0);
  handle->wait();
  file->write(values(4), row(rank()));
  std::vector<std::int32_t> back(columns);
  file->read(back, row(rank()));
  EXPECT_EQ(back, values(4));
  file->close();
}

/// Rank 0 is in a call of one file, to which the others come only after it has tried another one.
TEST(Serialized, ASecondThreadIsRefused) {
  ASSERT_GE(size(), 2);
  int level = 0;
  MPI_Query_thread(&level);
  if (level == MPI_THREAD_MULTIPLE) GTEST_SKIP() << "MPI has no other level";
  const auto open = [](const std::string& name) {
    return ps::ArrayFile::open(MPI_COMM_WORLD, path_of(name), ps::Mode::create, spec_of(size()));
  };
  auto first = open("first"), second = open("second");
  if (rank() == 0) {
    std::thread in_call([&] { first.sync(); });
    while (ps::MpiUse::attempt()) std::this_thread::yield();
    const std::string words = refused([&] { second.sync(); });
    EXPECT_NE(words.find("second': another thread"), std::string::npos) << words;
    EXPECT_NE(words.find(ps::thread_level_name(level)), std::string::npos) << words;
    EXPECT_NE(words.find("MPI_THREAD_MULTIPLE"), std::string::npos) << words;
    EXPECT_EQ(second.statistics().bytes_written, 0);  // needs no MPI
    std::ofstream(path_of("go")) << "go";
    in_call.join();
  } else {
    while (!std::filesystem::exists(path_of("go")))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    first.sync();
  }
  second.write(values(1), row(rank()));
  second.close();
  first.close();
}

}  // namespace

int main(int argc, char** argv) {
  const bool serialized = argc > 1 && std::string_view(argv[1]) == "--serialized";
  GTEST_FLAG_SET(filter, serialized ? "Serialized.*" : "-Serialized.*");
  return mpi_test::main(argc, argv, serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE);
}
