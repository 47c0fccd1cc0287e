// What the files of one communicator share (src/mpi/group.hpp), and what they must not.
#include "mpi_main.hpp"

#include <array>
#include <fstream>
#include <optional>
#include <random>
#include <thread>

#include <penstock/penstock.hpp>

#include "count_mpi.hpp"
#include "mpi/group.hpp"
#include "support/small_files.hpp"

namespace ps = penstock;
using mpi_test::rank;
using mpi_test::size;

namespace {

std::string path_of(const std::string& name) {
  return mpi_test::folder() + "/" + name;
}

ps::ArraySpec spec_of(MPI_Comm comm) {
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  ps::ArraySpec spec;
  spec.shape = {ranks, 100};
  spec.element_size = 4;
  return spec;
}

ps::ArrayFile open(MPI_Comm comm, const std::string& name, ps::Mode mode = ps::Mode::create,
                   const ps::Hints& hints = {}) {
  return ps::ArrayFile::open(comm, path_of(name), mode, spec_of(comm), hints);
}

ps::Section row(MPI_Comm comm) {
  int mine = 0;
  MPI_Comm_rank(comm, &mine);
  return {{mine, mine + 1}, {0, 100}};
}

std::vector<std::int32_t> values(int seed) {
  return std::vector<std::int32_t>(100, 1000 * seed + rank());
}

void write(ps::ArrayFile& file, MPI_Comm comm, int seed) {
  file.write(values(seed), row(comm));
}

void expect_content(ps::ArrayFile& file, MPI_Comm comm, int seed) {
  std::vector<std::int32_t> back(100);
  file.read(back, row(comm));
  EXPECT_EQ(back, values(seed));
}

/// Communicators and shared memory of this process.
struct Held {
  std::int64_t duplicates = count_mpi::duplicates;
  std::int64_t communicators = count_mpi::made - count_mpi::freed;
  std::int64_t segments = count_segments();

  static std::int64_t count_segments() {
    std::ifstream maps("/proc/self/maps");
    std::int64_t count = 0;
    for (std::string line; std::getline(maps, line);)
      count += line.find("/memfd:penstock-common") != std::string::npos;
    return count;
  }
  std::int64_t new_duplicates() const { return count_mpi::duplicates - duplicates; }
};

class Groups : public testing::Test {
 protected:
  void SetUp() override { MPI_Comm_dup(MPI_COMM_WORLD, &comm_); }
  void TearDown() override {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
    mpi_test::barrier();
  }
  /// With other ranks, this many; a single process needs no duplicate.
  static std::int64_t if_not_alone(std::int64_t count) { return size() > 1 ? count : 0; }

  MPI_Comm comm_ = MPI_COMM_NULL;
};

TEST_F(Groups, FilesInTurnHaveOneDuplicate) {
  const Held before;
  for (int i = 0; i < 20; ++i) {
    auto file = open(comm_, "turn");
    write(file, comm_, i);
    expect_content(file, comm_, i);
    file.close();
  }
  EXPECT_EQ(before.new_duplicates(), if_not_alone(1));
  EXPECT_LE(Held::count_segments() - before.segments,
            if_not_alone(2));  // opening and file endpoint
}

TEST_F(Groups, AnOpenNeedsFewMeetingsAndNoMessagesWithinANode) {
  open(comm_, "few").close();
  const std::int64_t collectives = count_mpi::collectives;
  std::int64_t meetings = ps::Team::meetings();
  const auto met = [&] {
    return ps::Team::meetings() - std::exchange(meetings, ps::Team::meetings());
  };
  auto file = open(comm_, "few");
  EXPECT_EQ(met(), if_not_alone(4));
  file.close();
  EXPECT_EQ(met(), if_not_alone(1));
  for (const ps::Mode mode : {ps::Mode::read, ps::Mode::read_write}) {
    file = open(comm_, "few", mode);
    EXPECT_EQ(met(), if_not_alone(3));
    file.close();
    EXPECT_EQ(met(), if_not_alone(1));
  }
  EXPECT_EQ(count_mpi::collectives - collectives, 0);
}

TEST_F(Groups, FilesThatAreOpenTogetherHaveLanesOfTheirOwn) {
  const Held before;
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<ps::ArrayFile> files;
    for (int i = 0; i < 4; ++i) files.push_back(open(comm_, "together" + std::to_string(i)));
    for (int i = 0; i < 4; ++i) write(files[static_cast<std::size_t>(i)], comm_, turn + i);
    for (int i : {2, 0, 3, 1}) {
      expect_content(files[static_cast<std::size_t>(i)], comm_, turn + i);
      files[static_cast<std::size_t>(i)].close();
    }
  }
  EXPECT_EQ(before.new_duplicates(), if_not_alone(4));
}

TEST_F(Groups, MoreFilesThanAreKept) {
  const Held before;
  constexpr int many = ps::Group::slots + 3;
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<ps::ArrayFile> files;
    for (int i = 0; i < many; ++i) files.push_back(open(comm_, "many" + std::to_string(i)));
    write(files.back(), comm_, 5);
    expect_content(files.back(), comm_, 5);
    for (ps::ArrayFile& file : files) file.close();
  }
  EXPECT_EQ(before.new_duplicates(), if_not_alone(many + 3));
  MPI_Comm_free(&comm_);
  EXPECT_EQ(Held().communicators, before.communicators - 1);  // comm_ itself was made before
}

TEST_F(Groups, TeamsOfAnotherSizeAreOtherLanes) {
  const Held before;
  for (int turn = 0; turn < 3; ++turn)
    for (const int most : {0, 1, 2, 3}) {
      ps::Hints hints;
      hints.ranks_per_node = most;
      auto file = open(comm_, "size", ps::Mode::create, hints);
      write(file, comm_, most);
      expect_content(file, comm_, most);
      file.close();
    }
  EXPECT_EQ(before.new_duplicates(), if_not_alone(4));
}

TEST_F(Groups, GoWithTheirCommunicators) {
  const Held before;
  for (int i = 0; i < 20; ++i) {
    MPI_Comm own;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    ps::Hints hints;
    hints.ranks_per_node = i % 3;
    auto file = open(own, "freed", ps::Mode::create, hints), other = open(own, "freed too");
    write(file, own, i);
    file.close();
    other.close();
    MPI_Comm_free(&own);
  }
  const Held after;
  EXPECT_EQ(after.communicators, before.communicators - 20);  // those made here are not counted
  EXPECT_EQ(after.segments, before.segments);
}

TEST_F(Groups, AFileOutlivesItsCommunicator) {
  const Held before;
  auto file = open(comm_, "outlives");
  MPI_Comm_free(&comm_);
  write(file, MPI_COMM_WORLD, 1);
  expect_content(file, MPI_COMM_WORLD, 1);
  file.close();
  EXPECT_EQ(Held().communicators, before.communicators - 1);
  EXPECT_EQ(Held().segments, before.segments);
}

TEST_F(Groups, DuplicatesOfTheUserHaveTheirOwn) {
  open(comm_, "first").close();
  const Held before;
  MPI_Comm second;
  MPI_Comm_dup(comm_, &second);
  open(second, "second").close();
  EXPECT_EQ(before.new_duplicates(), if_not_alone(1));
  MPI_Comm_free(&second);
  open(comm_, "first", ps::Mode::read).close();
  EXPECT_EQ(before.new_duplicates(), if_not_alone(1));
}

TEST_F(Groups, ALaneThatOneRankHasLeftIsNotUsedAgain) {
  if (size() == 1) GTEST_SKIP();
  for (const int most : {0, 2}) {
    ps::Hints hints;
    hints.ranks_per_node = most;
    const Held before;
    auto file = open(comm_, "left", ps::Mode::create, hints);
    if (rank() == size() - 1) {
      file.abandon();
    } else {
      try {
        write(file, comm_, 1);
        ADD_FAILURE() << "rank " << size() - 1 << " is gone";
      } catch (const ps::Error& error) {
        EXPECT_EQ(error.error_class(), ps::ErrorClass::state) << error.what();
      }
    }
    for (int i = 0; i < 3; ++i) {
      auto other = open(comm_, "left too", ps::Mode::create, hints);
      write(other, comm_, i);
      expect_content(other, comm_, i);
      other.close();
    }
    EXPECT_EQ(before.new_duplicates(), 2);
  }
}

TEST_F(Groups, ALaneThatAllHaveLeftIsNotUsedAgain) {
  const Held before;
  for (int i = 0; i < 3; ++i) {
    auto file = open(comm_, "all left");
    write(file, comm_, i);
  }
  auto file = open(comm_, "all left", ps::Mode::read);
  EXPECT_EQ(before.new_duplicates(), if_not_alone(4));
  expect_content(file, comm_, 2);
  file.close();
}

TEST_F(Groups, AnOpenThatFailsGivesItsLaneBack) {
  const Held before;
  for (int i = 0; i < 5; ++i) {
    EXPECT_THROW(open(comm_, "is not there", ps::Mode::read), ps::Error);
    EXPECT_THROW(open(comm_, rank() == size() - 1 ? "" : "nowhere"), ps::Error);
    open(comm_, "is there").close();
  }
  EXPECT_EQ(before.new_duplicates(), if_not_alone(1));
}

TEST_F(Groups, SplitCommunicatorsOpenTheirFilesAtATime) {
  MPI_Comm half;
  MPI_Comm_split(comm_, rank() % 2, 0, &half);
  const std::string name = "half" + std::to_string(rank() % 2);
  for (int i = 0; i < 5; ++i) {
    auto file = open(half, name), whole = open(comm_, "whole");
    write(file, half, i);
    write(whole, comm_, i);
    expect_content(file, half, i);
    expect_content(whole, comm_, i);
    whole.close();
    file.close();
  }
  MPI_Comm_free(&half);
}

/// Limits files to less than the memory that a node would share.
struct NoCommonMemory : ps::test::SmallFiles {
  NoCommonMemory() : SmallFiles(4096) {}
};

TEST_F(Groups, WithoutCommonMemoryFilesMeetByMessages) {
  const Held before;
  {
    const NoCommonMemory none;
    for (int i = 0; i < 3; ++i) {
      auto file = open(comm_, "messages"), other = open(comm_, "messages too");
      write(file, comm_, i);
      write(other, comm_, i + 1);
      expect_content(file, comm_, i);
      file.close();
      expect_content(other, comm_, i + 1);
      other.close();
    }
    EXPECT_EQ(before.new_duplicates(), if_not_alone(3));  // the opening endpoint needs one, too
    EXPECT_THROW(open(comm_, "is not there", ps::Mode::read), ps::Error);
    open(comm_, "messages").close();
    EXPECT_EQ(before.new_duplicates(), if_not_alone(3));
  }
  MPI_Comm_free(&comm_);
  EXPECT_EQ(Held().communicators, before.communicators - 1);
  EXPECT_EQ(Held().segments, before.segments);
}

TEST_F(Groups, ALaneForWhichThereIsNoMemory) {
  auto first = open(comm_, "with memory");
  auto second = [&] {
    const NoCommonMemory none;
    return open(comm_, "without memory");
  }();
  write(second, comm_, 2);
  write(first, comm_, 1);
  expect_content(first, comm_, 1);
  expect_content(second, comm_, 2);
  first.close();
  second.close();
}

TEST_F(Groups, AProcessAloneNeedsNoMpi) {
  const Held before;
  const std::int64_t collectives = count_mpi::collectives;
  auto file = open(MPI_COMM_SELF, "self" + std::to_string(rank()));
  write(file, MPI_COMM_SELF, 1);
  expect_content(file, MPI_COMM_SELF, 1);
  // Parts that overlap, by every exchange: the last one wins.
  for (int exchange = 0; exchange <= static_cast<int>(ps::Exchange::node); ++exchange) {
    ps::Hints hints;
    hints.method = ps::Method::extended;
    hints.exchange = static_cast<ps::Exchange>(exchange);
    const std::vector<std::int32_t> first = values(exchange + 2), second = values(exchange + 1);
    const auto part = [](const ps::Section& section, const std::vector<std::int32_t>& data) {
      const auto* const bytes = reinterpret_cast<const std::byte*>(data.data());
      return ps::Part<ps::WriteView>{section, {bytes, {}, {}, data.size() * 4, 4}};
    };
    const std::array parts{part({{0, 1}, {0, 60}}, first), part({{0, 1}, {20, 100}}, second)};
    file.write(parts, &hints);
    std::vector<std::int32_t> back(100), expected = second;
    std::copy_n(first.begin(), 20, expected.begin());
    file.read(back, {{0, 1}, {0, 100}});
    EXPECT_EQ(back, expected) << exchange;
  }
  file.close();
  EXPECT_EQ(before.new_duplicates(), 0);
  EXPECT_EQ(count_mpi::collectives, collectives);
}

/// Operations in threads of several files come in different orders on different ranks.
TEST_F(Groups, ThreadsOfSeveralFiles) {
  constexpr int count = 3;
  for (int turn = 0; turn < 5; ++turn) {
    std::vector<ps::ArrayFile> files;
    for (int i = 0; i < count; ++i) files.push_back(open(comm_, "thread" + std::to_string(i)));
    ps::Hints hints;
    hints.method = ps::Method::extended;
    hints.exchange = turn % 2 == 0 ? ps::Exchange::sparse : ps::Exchange::node;
    const auto begin = [&](int i, const std::vector<std::int32_t>& data) {
      return files[static_cast<std::size_t>(i)].write_begin(data, row(comm_), ps::Background::all,
                                                            &hints);
    };
    std::array<std::vector<std::int32_t>, count> data;
    std::array<std::optional<ps::Handle>, count> handles;
    for (int i = 0; i < count; ++i) {
      data[static_cast<std::size_t>(i)] = values(turn + i);
      begin(i, values(0)).wait();  // the first of a file is collective
    }
    for (int k = 0; k < count; ++k) {
      const int i = (k + rank()) % count;
      handles[static_cast<std::size_t>(i)] = begin(i, data[static_cast<std::size_t>(i)]);
    }
    for (std::optional<ps::Handle>& handle : handles) handle->wait();
    for (int i = 0; i < count; ++i) {
      expect_content(files[static_cast<std::size_t>(i)], comm_, turn + i);
      files[static_cast<std::size_t>(i)].close();
    }
  }
}

/// Ranks may free an endpoint at different times: one that is not idle on all ranks must not be
/// taken.
TEST_F(Groups, AFileIsClosedInAThreadWhileTheNextOneIsOpened) {
  std::mt19937 chance(static_cast<unsigned>(rank()));
  const auto dawdle = [&] { usleep(static_cast<useconds_t>(chance() % 3 * 400)); };
  const Held before;
  auto last = open(comm_, "closing");
  for (int i = 0; i < 40; ++i) {
    write(last, comm_, i);
    std::thread closing([&, pause = chance() % 3 * 400] {
      usleep(static_cast<useconds_t>(pause));
      last.close();
    });
    dawdle();
    auto next = open(comm_, "closing" + std::to_string(i));
    closing.join();
    last = std::move(next);
  }
  last.close();
  EXPECT_LE(before.new_duplicates(), if_not_alone(2));
}

}  // namespace

int main(int argc, char** argv) {
  return mpi_test::main(argc, argv, MPI_THREAD_MULTIPLE);
}
