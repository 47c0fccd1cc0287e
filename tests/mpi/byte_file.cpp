// Files of bytes (src/file/byte_file.hpp): what other interfaces than arrays stand on. Collective
// and independent calls, posted ones, atomic ones, and reads that end with the file.
#include <atomic>
#include <deque>
#include <random>
#include <thread>

#include "byte_files.hpp"
#include "mpi/ballot.hpp"
#include "support/random.hpp"

namespace ps = penstock;
using namespace mpi_test;

namespace {

TEST_F(ByteFiles, ReadsEndWithTheFile) {
  for (const ps::Method method : {ps::Method::direct, ps::Method::sieved, ps::Method::gather,
                                  ps::Method::two_phase, ps::Method::extended})
    for (const ps::Company company : {ps::Company::collective, ps::Company::independent})
      for (const std::int64_t buffered : {0, 1 << 20}) {
        SCOPED_TRACE("method " + std::string(to_string(method)) + ", company " +
                     std::to_string(static_cast<int>(company)) + ", buffered " +
                     std::to_string(buffered));
        const ps::Hints hints = with_method(method, buffered);
        const auto file = open(hints);
        file->truncate(0, std::nullopt);
        // The last rank's bytes end the file, and may still be in its active buffer.
        Bytes data = filled(100, 1 + rank());
        file->transfer(request(ps::Direction::write, data, 100 * rank(), 100, 100, company));
        if (company == ps::Company::independent) meet();
        const std::int64_t end = 100 * size();
        for (const std::int64_t begin : {end - 70, end - 1, end, end + 70}) {
          const std::int64_t offset = begin + rank();
          Bytes back = filled(300, 99);
          const auto done =
              file->transfer(request(ps::Direction::read, back, offset, 7, 20, company));
          std::int64_t there = 0;
          for_each_byte(300, offset, 7, 20, [&](std::int64_t i, std::int64_t at) {
            const int expected = at >= end ? 99 : static_cast<int>(1 + at / 100);
            there += at < end;
            ASSERT_EQ(static_cast<int>(back[static_cast<std::size_t>(i)]), expected) << at;
          });
          EXPECT_EQ(done->bytes(), there);
        }
        file->close();
      }
}

/// A rank that reads after a barrier sees what other ranks of its node have buffered, and later
/// writes of the same bytes come later (MPI 4.1, section 14.6.1: accesses that are not concurrent).
TEST_F(ByteFiles, IndependentCallsSeeWhatOthersHaveBuffered) {
  ps::Hints hints;
  hints.device = "paced:bandwidth=200M,latency=200us";
  const auto file = open(hints);
  for (int round = 0; round < 8; ++round) {
    Bytes data = filled(20000, 1 + rank() + 10 * round);
    file->transfer(request(ps::Direction::write, data, 20000 * rank(), 20000, 20000,
                           ps::Company::independent));
    meet();
    const int next = (rank() + 1) % size();
    Bytes back = filled(20000, 0);
    file->transfer(
        request(ps::Direction::read, back, 20000 * next, 20000, 20000, ps::Company::independent));
    EXPECT_EQ(back, filled(20000, 1 + next + 10 * round));
    meet();
    // Another rank's bytes are overwritten; that rank's own pending ones must not come after that.
    file->transfer(request(ps::Direction::write, data, 20000 * rank(), 20000, 20000,
                           ps::Company::independent));
    meet();
    Bytes over = filled(20000, 200);
    file->transfer(
        request(ps::Direction::write, over, 20000 * next, 20000, 20000, ps::Company::independent));
    meet();
    file->transfer(
        request(ps::Direction::read, back, 20000 * rank(), 20000, 20000, ps::Company::independent));
    EXPECT_EQ(back, over);
    meet();
  }
  file->close();
}

/// The size includes bytes that another rank of the node has not written yet.
TEST_F(ByteFiles, TheSizeNowIsThatWithWhatOthersHaveBuffered) {
  ps::Hints hints;
  hints.device = "paced:bandwidth=200M,latency=100ms";
  const auto file = open(hints);
  Bytes data = filled(1000, 1);
  for (const std::int64_t offset : {0, 5000})  // the second one queues up behind the first
    if (rank() == size() - 1)
      file->transfer(
          request(ps::Direction::write, data, offset, 1000, 1000, ps::Company::independent));
  meet();
  EXPECT_EQ(file->size_now(), 6000);
  file->close();
}

/// Short texts travel with the ballots of the ranks, the rest of longer ones afterwards.
TEST_F(ByteFiles, WhatTheFirstRankTellsIsWhole) {
  const auto file = open();
  constexpr std::size_t room = ps::most_aboard - sizeof(std::uint64_t);
  for (const std::size_t length : {std::size_t{0}, room - 1, room, room + 1, room + 2, 3 * room}) {
    const std::string text(length, 'x');
    EXPECT_EQ(file->on_first_rank({{}, [&] { return text; }, false}, nullptr), text) << length;
  }
  file->close();
}

/// Who reads, changes and writes back more than his own bytes holds an exclusive lock.
TEST_F(ByteFiles, SimpleWritesHoldALock) {
  const auto file = open();
  meet();
  if (rank() == 0) {
    const auto other = ps::open_posix(path, ps::OpenFlag::read_write);
    int error = 0;
    auto lock = other->lock({0, 100}, ps::LockKind::exclusive, error);
    ASSERT_TRUE(lock);
    Bytes data = filled(10, 1);
    std::atomic<bool> written = false;
    std::jthread writer([&] {
      EXPECT_EQ(file->move_now(ps::Direction::write, data, 50), 10);
      written = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(written);
    lock.reset();
  }
  file->close();
}

/// After a failure in the background nothing is written before the failure has been reported.
TEST_F(ByteFiles, SimpleAccessesLeaveAFailureToBeReported) {
  ps::Hints hints = with_method(ps::Method::direct, 1 << 20);
  hints.device = "fault:write@0=EIO,rank=0";
  const auto file = open(hints);
  Bytes data = filled(100, 1), more = filled(10, 2);
  const auto write = [&](Bytes& bytes) {
    file->transfer(request(ps::Direction::write, bytes, 0, 100, 100, ps::Company::independent));
  };
  if (rank() == 0) {
    write(data);  // into the active buffer
    while (!file->is_closing_done()) std::this_thread::yield();
    for (const ps::Direction direction : {ps::Direction::write, ps::Direction::read})
      EXPECT_FALSE(file->move_now(direction, more, 50));
    EXPECT_THROW(write(data), ps::Error);
    EXPECT_EQ(file->move_now(ps::Direction::write, more, 50), 10);
  }
  file->close();
  EXPECT_EQ(std::filesystem::file_size(path), 60u);
}

/// What is buffered makes a file as long as it reaches: one that was shortened, and one whose
/// length nobody has said.
TEST_F(ByteFiles, HolesBeforeWhatIsBufferedAreZeros) {
  struct Units : ps::Contents {
    explicit Units(ps::FileUnits of_file) : of_file(std::move(of_file)) {}
    ps::FileUnits units() const override { return of_file; }
    ps::FileUnits of_file;
  };
  Units of_some_length({.slabs = {}, .all = {0, 10000}}), open_ended({.open_ended = true});
  ps::Hints hints;
  hints.device = "paced:bandwidth=200M,latency=100ms";
  for (Units* const contents : {&of_some_length, &open_ended}) {
    ps::ByteFile file(ps::background_of_process(), ps::Communicator(MPI_COMM_WORLD), path,
                      ps::OpenFlag::create, *contents, hints);
    file.truncate(0, std::nullopt);
    Bytes data = filled(100, 1), back = filled(100, 9);
    for (const std::int64_t offset : {1000, 5000})  // the second one queues up behind the first
      file.transfer(request(ps::Direction::write, data, offset + 100 * rank(), 100, 100,
                            ps::Company::collective));
    file.transfer(request(ps::Direction::read, back, 4800, 100, 100, ps::Company::collective));
    EXPECT_EQ(back, filled(100, 0)) << contents->of_file.open_ended;
    file.close();
  }
}

TEST_F(ByteFiles, AtomicAccessesAreWholeOrNot) {
  const auto file = open();
  constexpr std::int64_t count = 50000;
  for (int round = 0; round < 20; ++round) {
    Bytes data = filled(count, 1 + rank());
    ps::ByteRequest write =
        request(ps::Direction::write, data, 0, 64, 80, ps::Company::independent);
    write.access.atomic = true;
    file->transfer(std::move(write));
    Bytes back = filled(count, 0);
    ps::ByteRequest read = request(ps::Direction::read, back, 0, 64, 80, ps::Company::independent);
    read.access.atomic = true;
    file->transfer(std::move(read));
    EXPECT_NE(back.front(), std::byte{0});
    EXPECT_EQ(back, Bytes(count, back.front())) << "a mixture of two writes";
  }
  file->close();
}

/// Every rank posts several calls without waiting, and waits for them in its own order.
TEST_F(ByteFiles, PostedCallsEndInAnyOrder) {
  for (const ps::Method method : {ps::Method::automatic, ps::Method::extended, ps::Method::direct})
    for (const std::int64_t buffered : {0, 1 << 20}) {
      const auto file = open(with_method(method, buffered));
      constexpr std::int64_t count = 3000;
      std::deque<Bytes> data;
      std::deque<std::shared_ptr<ps::ByteFile::Begun>> posted;
      for (int call = 0; call < 5; ++call) {
        data.push_back(filled(count, 1 + call * 20 + rank()));
        posted.push_back(file->post(request(ps::Direction::write, data.back(),
                                            call * count * size() + rank() * 10, 10, 10 * size(),
                                            ps::Company::collective)));
      }
      std::mt19937 order(static_cast<unsigned>(rank()));
      std::shuffle(posted.begin(), posted.end(), order);
      while (!file->has_ended(*posted.front())) std::this_thread::yield();
      for (const auto& call : posted) file->end(*call);
      for (int call = 0; call < 5; ++call) {
        Bytes back = filled(count * size(), 0);
        file->transfer(request(ps::Direction::read, back, call * count * size(), count * size(),
                               count * size(), ps::Company::collective));
        for_each_byte(count * size(), 0, 1, 1, [&](std::int64_t i, std::int64_t) {
          ASSERT_EQ(static_cast<int>(back[static_cast<std::size_t>(i)]),
                    1 + call * 20 + i / 10 % size());
        });
      }
      file->close();
    }
}

/// Random collective and independent calls, drawn from one seed by all ranks: the content of the
/// file is known after each.
TEST_F(ByteFiles, RandomCallsAgainstAModel) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ps::test::Random r{std::mt19937_64(seed)};
    ps::Hints hints;
    hints.active_buffer_size = r.in(0, 2) * 20000;
    if (r.in(0, 2) == 0) hints.device = "paced:bandwidth=1G,latency=50us";
    const auto file = open(hints);
    file->truncate(0, std::nullopt);
    Bytes model;
    for (int step = 0; step < 12; ++step) {
      const bool writes = model.empty() || r.in(0, 1) == 0;
      const bool together = r.in(0, 1) == 0;
      const auto company = together ? ps::Company::collective : ps::Company::independent;
      const auto busy = r.in(0, size() - 1);
      for (int other = 0; other < size(); ++other) {
        const std::int64_t run = r.in(1, 30), offset = r.in(0, 4000),
                           step_bytes = run + r.in(0, 40);
        const std::int64_t count = together || other == busy ? r.in(0, 2000) : 0;
        Bytes mine = filled(count, 1 + static_cast<int>(r.in(0, 200)));
        if (writes) {
          for_each_byte(count, offset, run, step_bytes, [&](std::int64_t i, std::int64_t at) {
            if (at >= static_cast<std::int64_t>(model.size()))
              model.resize(static_cast<std::size_t>(at) + 1);
            model[static_cast<std::size_t>(at)] = mine[static_cast<std::size_t>(i)];
          });
        }
        if (other != rank() || (!together && other != busy)) continue;
        const Bytes before = mine;
        file->transfer(request(writes ? ps::Direction::write : ps::Direction::read, mine, offset,
                               run, step_bytes, company));
        if (writes) continue;
        for_each_byte(count, offset, run, step_bytes, [&](std::int64_t i, std::int64_t at) {
          const bool there = at < static_cast<std::int64_t>(model.size());
          ASSERT_EQ(mine[static_cast<std::size_t>(i)], there ? model[static_cast<std::size_t>(at)]
                                                             : before[static_cast<std::size_t>(i)])
              << "step " << step << " at " << at;
        });
      }
      meet();
    }
    EXPECT_EQ(file->size(), static_cast<std::int64_t>(model.size()));
    file->close();
  }
}

}  // namespace

int main(int argc, char** argv) {
  return mpi_test::main(argc, argv);
}
