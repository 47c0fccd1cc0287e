// Problems that users had with existing systems, as test cases (docs/DESIGN.md lists them).
#include "mpi_main.hpp"

#include <sys/resource.h>

#include <fstream>
#include <numeric>

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

ps::Hints with(ps::Method method, std::int64_t buffer = 1 << 20) {
  ps::Hints hints;
  hints.method = method;
  hints.buffer_size = buffer;
  return hints;
}

template <class T>
std::vector<T> content(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::vector<T> values(static_cast<std::size_t>(in.tellg()) / sizeof(T));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(values.data()),
          static_cast<std::streamsize>(values.size() * sizeof(T)));
  return values;
}

ps::ArrayFile create(const std::string& name, std::vector<std::int64_t> shape,
                     std::int64_t element_size, ps::Order order = ps::Order::c,
                     std::int64_t offset = 0, const ps::Hints& at_open = {}) {
  ps::ArraySpec spec;
  spec.shape = std::move(shape);
  spec.element_size = element_size;
  spec.order = order;
  spec.offset = offset;
  return ps::ArrayFile::open(MPI_COMM_WORLD, path_of(name), ps::Mode::create, spec, at_open);
}

TEST(Field, SixteenByteGapsInMemory) {  // mpich#6985
  for (const ps::Method method : all_methods) {
    auto file = create("gaps", {size() * 100}, 8);
    std::vector<std::int64_t> memory(300, -1);
    for (int i = 0; i < 100; ++i) memory[i * 3] = rank() * 100 + i;  // 8 bytes, then a gap of 16
    ps::Part<ps::WriteView> part{
        ps::Section{{rank() * 100, rank() * 100 + 100}},
        {reinterpret_cast<const std::byte*>(memory.data()), {100}, {24}, 0, 0}};
    const ps::Hints hints = with(method);
    file.write(std::span<const ps::Part<ps::WriteView>>(&part, 1), &hints);
    file.close();
    std::vector<std::int64_t> expected(size() * 100);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(content<std::int64_t>(path_of("gaps")), expected);
    mpi_test::barrier();
  }
}

TEST(Field, AColumnOfTenMillionRows) {  // mpich#2182: memory must not grow with the runs
  constexpr std::int64_t rows = 10'000'000;
  auto file = create("column", {rows, size()}, 1);
  std::vector<std::int8_t> column(rows), back(rows);
  for (std::int64_t i = 0; i < rows; ++i) column[i] = static_cast<std::int8_t>(i * 7 + rank());
  const ps::Section mine{{0, rows}, {rank(), rank() + 1}};
  ps::Hints hints = with(ps::Method::extended, 4 << 20);
  // A rank sees what the ranks of its node have buffered: their budgets count as its memory.
  for (const std::int64_t budget : {0, 1 << 20}) {
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    hints.active_buffer_size = budget;
    file.write(column, mine, &hints);
    file.read(back, mine, &hints);
    getrusage(RUSAGE_SELF, &after);
    EXPECT_EQ(column, back);
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 32 * 1024)
        << "KiB of memory for a request of a few words, and a budget of " << budget << " bytes";
    EXPECT_LE(file.statistics().staging_peak, 2 * hints.buffer_size);
    std::fill(back.begin(), back.end(), std::int8_t{0});
  }
  file.close();
}

TEST(Field, CountsAndOffsetsBeyondFourGigabytes) {  // mpich#7169 and others; the file is sparse
  constexpr std::int64_t length = std::int64_t{5} << 30;
  auto file = create("large", {length}, 1);
  const std::int64_t begin = length - 1000 * (rank() + 1);
  const std::vector<std::int8_t> data(1000, static_cast<std::int8_t>(rank() + 1));
  for (const ps::Method method : all_methods) {
    const ps::Hints hints = with(method);
    file.write(data, ps::Section{{begin, begin + 1000}}, &hints);
    std::vector<std::int8_t> back(1000);
    file.read(back, ps::Section{{begin, begin + 1000}}, &hints);
    EXPECT_EQ(back, data) << ps::to_string(method);
  }
  // A request described as 2^31 and more elements, of which few exist because of a stride.
  std::vector<std::int8_t> sparse(5, 9);
  file.write(sparse, rank() == 0 ? ps::Section{{0, length, length / 5}} : ps::Section{});
  std::vector<std::int8_t> back(5);
  file.read(back, ps::Section{{0, length, length / 5}});
  EXPECT_EQ(back, sparse);
  file.close();
}

TEST(Field, EmptyRanksFirstLastAndAllButOne) {  // ompi#7414, #7809, hdf5#1227, h5py#965
  for (const ps::Method method : all_methods)
    for (const int only : {0, size() - 1, size() / 2}) {
      auto file = create("uneven", {64, 64}, 4);
      std::vector<std::int32_t> data(64 * 64, only), nothing;
      const ps::Hints hints = with(method);
      const bool mine = rank() == only;
      file.write(mine ? data : nothing, mine ? ps::Section{{0, 64}, {0, 64}} : ps::Section{},
                 &hints);
      file.read(nothing, ps::Section{}, &hints);
      file.close();
      EXPECT_EQ(content<std::int32_t>(path_of("uneven")), data);
      mpi_test::barrier();
    }
}

TEST(Field, TwoGroupsWriteInterleavedBytesAtTheSameTime) {  // ompi#10546, darshan#1064
  if (size() < 2) GTEST_SKIP() << "needs two groups";
  constexpr std::int64_t rows = 256, columns = 64;
  const int color = rank() % 2;
  MPI_Comm group;
  MPI_Comm_split(MPI_COMM_WORLD, color, rank(), &group);
  int member = 0, members = 1;
  MPI_Comm_rank(group, &member);
  MPI_Comm_size(group, &members);
  create("groups", {rows, columns}, 1).close();
  ps::ArraySpec spec;
  spec.shape = {rows, columns};
  spec.element_size = 1;
  auto file = ps::ArrayFile::open(group, path_of("groups"), ps::Mode::read_write, spec);
  // Rows alternate between members, bytes between groups: each write is full of holes.
  const ps::Section mine{{member, rows, members}, {color, columns, 2}};
  for (int turn = 0; turn < 20; ++turn)
    for (const ps::Method method : {ps::Method::extended, ps::Method::sieved}) {
      ps::Hints hints = with(method, 512);
      hints.sieve_writes = ps::SieveWrites::always;
      file.write(std::vector<std::int8_t>(static_cast<std::size_t>(mine.element_count()),
                                          static_cast<std::int8_t>(turn * 2 + color + 1)),
                 mine, &hints);
    }
  file.close();
  mpi_test::barrier();
  const auto bytes = content<std::int8_t>(path_of("groups"));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    ASSERT_EQ(bytes[i], 19 * 2 + static_cast<int>(i % 2) + 1) << i;
  MPI_Comm_free(&group);
}

TEST(Field, WithoutSievingOnlyWantedBytesAreWritten) {
  auto file = create("exact", {1000 * size()}, 4);
  const std::vector<std::int32_t> data(250, 5);
  for (const ps::Method method :
       {ps::Method::sieved, ps::Method::gather, ps::Method::two_phase, ps::Method::extended}) {
    ps::Hints hints = with(method, 4096);
    hints.sieve_writes = ps::SieveWrites::never;
    hints.active_buffer_size = 0;  // a call's own counts exclude background work
    file.write(data, ps::Section{{rank() * 1000, rank() * 1000 + 1000, 4}}, &hints);
    const ps::Statistics mine = file.last_call();
    std::int64_t written = mine.bytes_written, all = 0;
    MPI_Allreduce(&written, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQ(all, 1000 * size()) << ps::to_string(method);
    EXPECT_EQ(mine.bytes_read, 0);
  }
  file.close();
}

TEST(Field, AWriteWithoutHolesReadsNothingAndWritesEachByteOnce) {
  auto file = create("whole", {128, 128}, 8);
  const ps::Distribution d({128, 128}, size(),
                           {ps::DimensionKind::parse("block"), ps::DimensionKind::parse("cyclic")});
  const ps::Section mine = d.share(rank()).section;
  const std::vector<double> data(static_cast<std::size_t>(mine.element_count()), rank());
  for (const ps::Method method :
       {ps::Method::gather, ps::Method::two_phase, ps::Method::extended}) {
    ps::Hints hints = with(method, 8192);
    hints.active_buffer_size = 0;
    file.write(data, mine, &hints);
    std::int64_t counts[2] = {file.last_call().bytes_read, file.last_call().bytes_written}, all[2];
    MPI_Allreduce(counts, all, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQ(all[0], 0);
    EXPECT_EQ(all[1], 128 * 128 * 8);
  }
  file.close();
}

TEST(Field, ACommonSectionIsReadOnce) {  // from a device: from the page cache, auto copies
  ps::Hints at_open;
  at_open.device = "paced:bandwidth=1000G";
  auto file = create("common", {256, 256}, 4, ps::Order::c, 0, at_open);
  const ps::Section common{{10, 200}, {20, 220}};
  std::vector<std::int32_t> data(190 * 200);
  for (const ps::Method method :
       {ps::Method::gather, ps::Method::two_phase, ps::Method::extended, ps::Method::automatic}) {
    const ps::Hints hints = with(method, 1 << 20);
    file.read(data, common, &hints);
    std::int64_t read = file.last_call().bytes_read, all = 0;
    MPI_Allreduce(&read, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_LE(all, (189 * 256 + 200) * 4) << ps::to_string(method);  // the section and its holes
  }
  file.close();
}

TEST(Field, HighestRankWinsWhereSectionsOverlap) {
  for (const ps::Method method :
       {ps::Method::gather, ps::Method::two_phase, ps::Method::extended, ps::Method::automatic}) {
    auto file = create("overlap", {100 + 10 * size()}, 4);
    const std::vector<std::int32_t> data(100, rank() + 1);
    const ps::Hints hints = with(method, 128);
    file.write(data, ps::Section{{rank() * 10, rank() * 10 + 100}}, &hints);
    file.close();
    const auto values = content<std::int32_t>(path_of("overlap"));
    for (int i = 0; i < 100 + 10 * (size() - 1); ++i)
      ASSERT_EQ(values[i], std::min(i / 10, size() - 1) + 1) << ps::to_string(method) << i;
    mpi_test::barrier();
  }
}

TEST(Field, TheLatticePattern) {  // mpich#7935: four dimensions, block in each, halo in memory
  const std::vector<std::int64_t> shape{8, 6, 10, 12};
  auto file = create("lattice", shape, 16, ps::Order::fortran);
  const ps::Distribution d(shape, size(), {{}, {}, {}, {}}, {}, {.width = {1}});
  const ps::Share share = d.share(rank());
  std::int64_t cells = 1;
  for (const auto n : share.local_shape) cells *= n;
  std::vector<std::int64_t> local(static_cast<std::size_t>(cells) * 2, rank() + 1),
      back(local.size(), 0);
  std::vector<std::int64_t> strides(4, 16);
  for (int k = 1; k < 4; ++k) strides[k] = strides[k - 1] * share.local_shape[k - 1];
  std::int64_t first = 0;
  for (int k = 0; k < 4; ++k) first += share.halo_before[k] * strides[k];
  ps::Part<ps::WriteView> out{
      share.section, {reinterpret_cast<const std::byte*>(local.data()) + first, {}, strides, 0, 0}};
  ps::Part<ps::ReadView> in{share.section,
                            {reinterpret_cast<std::byte*>(back.data()) + first, {}, strides, 0, 0}};
  file.write(std::span<const ps::Part<ps::WriteView>>(&out, 1));
  file.read(std::span<const ps::Part<ps::ReadView>>(&in, 1));
  file.close();
  EXPECT_EQ(std::count(back.begin(), back.end(), rank() + 1), share.section.element_count() * 2);
  const auto values = content<std::int64_t>(path_of("lattice"));
  EXPECT_EQ(std::count(values.begin(), values.end(), 0), 0);
}

TEST(Field, SelfAndSplitCommunicatorsAndNone) {
  for (const bool with_mpi : {true, false}) {
    ps::ArraySpec spec;
    spec.shape = {100};
    spec.element_size = 4;
    const std::string path = path_of("own" + std::to_string(rank()));
    const auto open = [&] {
      return with_mpi ? ps::ArrayFile::open(MPI_COMM_SELF, path, ps::Mode::create, spec)
                      : ps::ArrayFile::open(path, ps::Mode::create, spec);
    };
    if (!with_mpi && size() > 1) {  // several ranks without a communicator
      EXPECT_THROW(open(), ps::Error);
      continue;
    }
    auto file = open();
    file.write(std::vector<std::int32_t>(50, 3), ps::Section{{0, 100, 2}});
    file.close();
    EXPECT_EQ(content<std::int32_t>(path)[98], 3);
  }
}

/// Calls with the same settings that need different buffers: with holes, over several nodes,
/// without holes, directly into user memory.
void expect_bounded_memory(const std::string& name, const ps::Hints& hints) {
  const std::int64_t columns = 3 * 1111, rows = 2 * size() * (hints.buffer_size / columns + 2);
  auto file = ps::ArrayFile::open(
      MPI_COMM_WORLD, path_of(name), ps::Mode::create,
      {.shape = {rows, columns}, .element_size = 1, .dtype = {}, .order = {}, .offset = 77}, hints);
  const std::int64_t share = rows / size(), begin = rank() * share;
  std::vector<std::int8_t> data(static_cast<std::size_t>(rows * columns), 1);
  const std::vector<ps::Section> sections{
      {{0, rows}, {rank(), columns, 3}},          // overlap where there are more than 3 ranks
      {{begin, begin + share}, {0, columns}},     // dense
      {{rank(), rows, size()}, {1, columns, 3}},  // holes
      {{0, rows}, {rank() % 2, columns, 2}},      // overlap where there are more than 2
      {{begin, begin + share}, {0, columns, 2}}};
  for (std::size_t turn = 0; turn < 2 * sections.size(); ++turn) {
    const ps::Section& section = sections[turn % sections.size()];
    data.resize(static_cast<std::size_t>(section.element_count()));
    file.write(data, section);
    EXPECT_LE(file.last_call().staging_peak, 2 * hints.buffer_size)
        << "write " << turn << ", buffer " << hints.buffer_size;
    const ps::Section& other = sections[(turn * 3 + 1) % sections.size()];
    data.resize(static_cast<std::size_t>(other.element_count()));
    file.read(data, other);
    EXPECT_LE(file.last_call().staging_peak, 2 * hints.buffer_size)
        << "read " << turn << ", buffer " << hints.buffer_size;
  }
  file.close();
  mpi_test::barrier();
}

TEST(Field, StagingMemoryStaysBelowTwiceTheBuffer) {
  for (const std::int64_t buffer : {512, 4096, 128 << 10, 1 << 20})
    for (const ps::Exchange exchange : {ps::Exchange::node, ps::Exchange::sparse})
      for (const ps::Pipeline pipeline : {ps::Pipeline::automatic, ps::Pipeline::always}) {
        // Four windows instead of two are the only difference.
        const bool deep = exchange == ps::Exchange::node && pipeline == ps::Pipeline::automatic;
        if (buffer == 1 << 20 && !deep) continue;
        ps::Hints hints = with(ps::Method::extended, buffer);
        hints.exchange = exchange;
        hints.pipeline = pipeline;
        hints.ranks_per_node = 2;
        hints.sieve_writes = ps::SieveWrites::always;
        hints.active_buffer_size = 0;
        expect_bounded_memory("bounded", hints);
      }
}

/// A call has the hints of its file, overridden by those that it passes (docs/hints.md). The tests
/// of C, Fortran and Python have the same cases.
TEST(Field, HintsOfACallAreThoseOfItsFileButForWhatItGives) {
  ps::Hints of_file, other, extended, automatic, as_text, of_storage;
  of_file.set({{"method", "gather"}, {"buffer_size", "1M"}});
  other.aggregators = 1;
  other.buffer_size = 64 << 10;
  extended.method = ps::Method::extended;
  automatic.method = ps::Method::automatic;
  as_text.set({{"method", "auto"}});
  of_storage.storage = ps::StorageKind::direct;
  const ps::ArraySpec spec{.shape = {12, 10}, .element_size = 8};
  auto file = ps::ArrayFile::open(MPI_COMM_WORLD, mpi_test::folder() + "/call_hints",
                                  ps::Mode::create, spec, of_file);
  const std::vector<double> values(120, 1.0);
  const ps::Section all{{0, 12}, {0, 10}};
  const auto method = [&](const ps::Hints* hints) {
    file.write(values, all, hints);
    return file.last_method();
  };
  EXPECT_EQ(method(nullptr), ps::Method::gather);
  EXPECT_EQ(method(&other), ps::Method::gather);
  EXPECT_EQ(method(&extended), ps::Method::extended);
  EXPECT_NE(method(&automatic), ps::Method::gather);
  EXPECT_NE(method(&as_text), ps::Method::gather);
  EXPECT_EQ(method(nullptr), ps::Method::gather);
  EXPECT_EQ(file.hints().buffer_size, 1 << 20);
  EXPECT_THROW(file.write(values, all, &of_storage), ps::Error);
  file.close();
}

TEST(Field, SeveralArraysInOneFile) {
  std::int64_t end = 0;
  for (int array = 0; array < 3; ++array) {
    ps::ArraySpec spec;
    spec.shape = {10 + array, 8};
    spec.element_size = 4;
    spec.offset = end;
    auto file = ps::ArrayFile::open(MPI_COMM_WORLD, path_of("several"),
                                    array == 0 ? ps::Mode::create : ps::Mode::read_write, spec);
    const ps::Distribution d(spec.shape, size(), {{}, {}});
    const ps::Section mine = d.share(rank()).section;
    file.write(std::vector<std::int32_t>(static_cast<std::size_t>(mine.element_count()), array),
               mine);
    end = file.end_offset();
    file.close();
  }
  EXPECT_EQ(content<std::int32_t>(path_of("several")).size(), (10u + 11 + 12) * 8);
  EXPECT_EQ(content<std::int32_t>(path_of("several"))[10 * 8], 1);
}

}  // namespace

int main(int argc, char** argv) {
  return mpi_test::main(argc, argv);
}
