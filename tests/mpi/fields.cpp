// Files of several arrays from C++: offsets of fields, conversions, handles, errors on all ranks.
#include "expect_error.hpp"
#include "mpi_main.hpp"

#include <complex>
#include <fstream>
#include <limits>
#include <numeric>

#include <penstock/fields_file.hpp>

namespace ps = penstock;
using mpi_test::rank;
using mpi_test::size;

namespace {

std::string path_of(const std::string& name) {
  return mpi_test::folder() + "/" + name;
}

const ps::FieldsSpec analysis{.fields = {{"header", {6}, "f4", {}},
                                         {"density", {8, 10}, "<f4", {}},
                                         {"steps", {4}, ">i8", {}}},
                              .order = ps::Order::fortran,
                              .offset = 0};

ps::FieldsFile open(const std::string& name, ps::Mode mode, const ps::FieldsSpec& spec = analysis) {
  return ps::FieldsFile::open(MPI_COMM_WORLD, path_of(name), mode, spec);
}

ps::Section share() {
  return ps::Distribution({8, 10}, size(), {{}, {}}).share(rank()).section;
}

template <class T>
std::vector<T> read_all(const std::string& name, std::int64_t offset, std::size_t count) {
  std::ifstream in(path_of(name), std::ios::binary);
  in.seekg(offset);
  std::vector<T> values(count);
  in.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
  EXPECT_TRUE(in.good());
  return values;
}

TEST(Fields, DoublesInMemoryAreSinglesInTheFile) {
  auto file = open("fields", ps::Mode::create);
  EXPECT_EQ(file.names(), (std::vector<std::string>{"header", "density", "steps"}));
  EXPECT_EQ(file["density"].data_offset(), 24);
  EXPECT_EQ(file.end_offset(), 24 + 320 + 32);
  const std::vector<double> mine(static_cast<std::size_t>(share().element_count()), rank() + 0.1);
  file["density"].write(mine, share());
  const std::vector<int> steps{1, 2, 3, 70000};
  file["steps"].write(steps, ps::Section{{0, 4}});
  std::vector<double> back(mine.size());
  file["density"].read(back, share());
  EXPECT_EQ(back, std::vector<double>(mine.size(),
                                      static_cast<double>(static_cast<float>(rank() + 0.1))));
  std::vector<std::complex<double>> wide(4);
  file["steps"].read(wide, ps::Section{{0, 4}});
  EXPECT_EQ(wide[3], std::complex<double>(70000));
  file.close();
  if (rank() == 0) {
    const auto bytes = read_all<unsigned char>("fields", 24 + 320, 32);
    EXPECT_EQ(bytes[31], 70000 % 256);  // the other byte order than that of most machines
    EXPECT_EQ(bytes[29], 70000 >> 16);
    EXPECT_EQ(read_all<float>("fields", 24, 1)[0], 0.1f);
  }
  mpi_test::barrier();
}

TEST(Fields, HandlesMayBeWaitedForInAnyOrderOrDropped) {
  for (const ps::Background background : {ps::Background::none, ps::Background::storage}) {
    auto file = open("handles", ps::Mode::create);
    const std::vector<double> mine(static_cast<std::size_t>(share().element_count()), rank() + 1);
    const std::vector<short> header{1, 2, 3, 4, 5, 6}, steps{4, 3, 2, 1};
    ps::Handle first = file["density"].write_begin(mine, share(), background);
    file["steps"].write_begin(steps, ps::Section{{0, 4}}, background);  // no wait
    ps::Handle last = file["header"].write_begin(header, ps::Section{{0, 6}}, background);
    last.wait();
    first.wait();
    std::vector<double> back(mine.size());
    std::vector<std::int64_t> read_steps(4);
    ps::Handle read = file["density"].read_begin(back, share(), background);
    ps::Handle other = file["steps"].read_begin(read_steps, ps::Section{{0, 4}}, background);
    EXPECT_FALSE(read.copied(false)) << "elements are not converted yet";
    other.wait();
    read.wait();
    EXPECT_TRUE(read.copied());
    EXPECT_EQ(back, mine);
    EXPECT_EQ(read_steps, (std::vector<std::int64_t>{4, 3, 2, 1}));
    file.close();
  }
}

TEST(Fields, StridedMemoryOfAnotherType) {
  auto file = open("strided", ps::Mode::create);
  std::vector<double> memory(8 * 10 * 3, -1);  // every third element, the last index fastest
  const ps::Section section = rank() == 0 ? ps::Section{{0, 8}, {0, 10}} : ps::Section{};
  for (int i = 0; i < 80; ++i) memory[i * 3] = i;
  ps::Part<ps::WriteView> part{
      section, {reinterpret_cast<const std::byte*>(memory.data()), {8, 10}, {240, 24}, 0, 0}};
  const std::span<const ps::Part<ps::WriteView>> parts(&part, rank() == 0 ? 1 : 0);
  file["density"].write(parts, ps::dtype_of<double>());
  file.close();
  if (rank() == 0) {
    const std::vector<float> found = read_all<float>("strided", 24, 80);
    for (int i = 0; i < 80; ++i) EXPECT_EQ(found[i], i / 8 + i % 8 * 10);
  }
  mpi_test::barrier();
}

TEST(Fields, WhatIsWrongIsToldAlike) {
  const int last = size() - 1;
  auto file = open("wrong", ps::Mode::create);
  const std::vector<double> numbers(6, 1.5);
  ps::expect_error(ps::ErrorClass::argument,
                   "has no field 'dens'; it has 'header', 'density', 'steps'", [&] {
                     file[rank() == last ? "dens" : "header"].write(numbers, ps::Section{{0, 6}});
                   });
  ps::expect_error(ps::ErrorClass::argument, "cannot hold without losing more than digits", [&] {
    file["steps"].write(std::vector<double>(4),
                        rank() == last ? ps::Section{{0, 4}} : ps::Section{});
  });
  ps::expect_error(ps::ErrorClass::argument, "too large", [&] {
    file["header"].write(std::vector<double>(6, rank() == last ? 1e300 : 1.0), ps::Section{{0, 6}});
  });
  std::vector<int> few(4);
  ps::expect_error(ps::ErrorClass::argument, "read them as >i8", [&] {
    file["steps"].read(few, ps::Section{{0, 4}});
  });
  if (size() > 1)
    ps::expect_error(ps::ErrorClass::disagreement, "field", [&] {
      file[rank() == last ? "header" : "steps"].write(std::vector<short>(), ps::Section{});
    });
  ps::expect_error(ps::ErrorClass::section, "", [&] {
    file["header"].write(numbers, ps::Section{{1, 7}});
  });
  file["header"].write(numbers, ps::Section{{0, 6}});  // the file is still usable
  file.close();
  ps::FieldsSpec overlapping{.fields = {{"a", {4}, "f4", {}}, {"b", {1}, "f4", 12}}};
  ps::expect_error(ps::ErrorClass::argument, "overlap",
                   [&] { open("wrong", ps::Mode::read, overlapping); });
  ps::FieldsSpec longer = analysis;
  longer.fields.push_back({"more", {1}, "u1", {}});
  ps::expect_error(ps::ErrorClass::format,
                   "'more' of shape (1) is bytes 376 to 377, the file has 376",
                   [&] { open("wrong", ps::Mode::read, longer); });
  auto grown = open("wrong", ps::Mode::read_write, longer);
  EXPECT_EQ(grown.file_size(), 377);
  grown.close();
}

TEST(Fields, AFileIsReplacedWhenItIsClosed) {
  const ps::Section whole{{0, 6}};
  const auto header_in = [] { return read_all<float>("replaced", 0, 1)[0]; };
  for (const float value : {1.0f, 2.0f, 3.0f}) {
    const bool commits = value < 3;
    {
      auto file = open("replaced", ps::Mode::replace);
      file["header"].write(std::vector<float>(6, value), whole);
      file.sync();
      if (value > 1) {
        EXPECT_EQ(header_in(), value - 1);
      }
      mpi_test::barrier();
      if (commits) file.close();
    }  // without close() it replaces nothing
    mpi_test::barrier();
    EXPECT_EQ(header_in(), commits ? value : value - 1);
    mpi_test::barrier();
  }
}

TEST(Fields, DomainsFollowTheFieldOfTheCall) {
  // Domains have whole rows, although a field before them shifts the rows and an even division of
  // the bytes would cut rows.
  constexpr std::int64_t columns = 1000;
  const std::int64_t rows = 4 * size() + 1;
  auto file = ps::FieldsFile::open(
      MPI_COMM_WORLD, path_of("domains"), ps::Mode::create,
      {.fields = {{"odd", {333}, "u1", {}}, {"rows", {rows, columns}, "u1", {}}}});
  ps::Hints hints = file.hints();
  hints.method = ps::Method::extended;
  hints.aggregators = size();
  hints.active_buffer_size = 0;
  const std::vector<std::uint8_t> all(static_cast<std::size_t>(rows * columns), 7);
  file["rows"].write(all, rank() == 0 ? ps::Section{{0, rows}, {0, columns}} : ps::Section{},
                     &hints);
  EXPECT_GT(file.last_call().bytes_written, 0);
  EXPECT_EQ(file.last_call().bytes_written % columns, 0) << "a domain cuts a row in two";
  file.close();
}

}  // namespace

int main(int argc, char** argv) {
  return mpi_test::main(argc, argv);
}
