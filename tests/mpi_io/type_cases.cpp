// Layouts of datatypes, and buffers: cases with answers worked out by hand.
#include "type_cases.hpp"

#include <thread>

#include "mpi/mpi_main.hpp"
#include "random_types.hpp"

namespace penstock {
namespace {

TEST(Layout, PairsHaveTheirGap) {
  const auto layout = layout_of(MPI_SHORT_INT);
  EXPECT_EQ(layout->extent(), 8);
  EXPECT_EQ(places_of(*layout), (Places{0, 1, 4, 5, 6, 7}));
  EXPECT_EQ(layout->elements.totals(), (Elements::Totals{2, 6, 6}));
  EXPECT_EQ(layout_of(MPI_DOUBLE_INT)->extent(), 16);
  EXPECT_EQ(layout_of(MPI_DOUBLE_INT)->size(), 12);
}

TEST(Layout, IsKeptWithTheTypeAndForgottenWithIt) {
  std::weak_ptr<const TypeLayout> kept;
  {
    Type vector, copy;
    MPI_Type_vector(3, 1, 2, MPI_INT, &vector);
    kept = layout_of(vector);
    EXPECT_EQ(layout_of(vector), kept.lock());
    EXPECT_EQ(kept.use_count(), 1);
    MPI_Type_dup(vector, &copy);
    EXPECT_NE(layout_of(copy), kept.lock());
    // Types made from it keep the property.
    Type outer;
    MPI_Type_contiguous(2, vector, &outer);
    EXPECT_EQ(layout_of(outer)->size(), 24);
    EXPECT_FALSE(kept.expired());
  }
  EXPECT_TRUE(kept.expired());
  EXPECT_EQ(layout_of(MPI_INT), layout_of(MPI_INT));
  expect_error("MPI_DATATYPE_NULL", [] { layout_of(MPI_DATATYPE_NULL); });
}

TEST(Layout, ThreadsGetTheSame) {
  for (int round = 0; round < 50; ++round) {
    Type vector;
    MPI_Type_vector(3, 1, 2, MPI_INT, &vector);
    std::vector<std::shared_ptr<const TypeLayout>> found(4);
    std::vector<std::thread> threads;
    for (auto& layout : found) threads.emplace_back([&] { layout = layout_of(vector); });
    for (auto& thread : threads) thread.join();
    for (const auto& layout : found) EXPECT_EQ(layout, found[0]);
    EXPECT_NE(found[0], nullptr);
  }
}

TEST(Layout, CostsItsOwnSize) {
  Type column, nested, array, part, list;
  MPI_Type_vector(10'000'000, 1, 1000, MPI_DOUBLE, &column);
  EXPECT_EQ(layout_of(column)->nest.node()->runs, 10'000'000);
  EXPECT_LE(words_of(layout_of(column)->nest), 6U);
  MPI_Type_vector(1000, 1, 3, MPI_INT, &part);
  MPI_Type_create_hvector(1000, 1, 50000, part, &nested);
  EXPECT_LE(words_of(layout_of(nested)->nest), 9U);
  const int sizes[] = {1000, 1000, 1000, 1000}, counts[] = {10, 20, 30, 40};
  const int first[] = {1, 2, 3, 4};
  MPI_Type_create_subarray(4, sizes, counts, first, MPI_ORDER_C, MPI_DOUBLE, &array);
  EXPECT_EQ(layout_of(array)->extent(), 8'000'000'000'000);
  EXPECT_LE(words_of(layout_of(array)->nest), 12U);
  EXPECT_EQ(layout_of(array)->elements.node_count(), 1);
  std::vector<int> places;
  for (int i = 0; i < 5000; ++i) places.push_back(i * i);
  MPI_Type_create_indexed_block(5000, 1, places.data(), part, &list);
  EXPECT_LE(words_of(layout_of(list)->nest), 5010U);
}

TEST(Layout, OfTypesThatContainEachOtherTwiceCostsTheirNumber) {
  std::vector<MPI_Datatype> chain{MPI_INT};
  const int levels = type_test::is_open_mpi ? 10 : 24;  // as many as 2^24 ways down
  for (int i = 0; i < levels; ++i) {
    const int lengths[] = {1, 1};
    MPI_Datatype last = chain.back(), same = MPI_DATATYPE_NULL, next = MPI_DATATYPE_NULL;
    MPI_Type_dup(last, &same);
    const MPI_Aint places[] = {0, MPI_Aint{4} << i};
    const MPI_Datatype types[] = {last, last};
    MPI_Type_create_struct(2, lengths, places, types, &next);
    MPI_Type_free(&same);
    if (i > 0) MPI_Type_free(&chain.back());
    chain.back() = next;
  }
  EXPECT_EQ(layout_of(chain.back())->size(), 4 << levels);
  EXPECT_TRUE(layout_of(chain.back())->dense());
  MPI_Type_free(&chain.back());
}

TEST(Layout, OfManyFieldsOfOneTypeCostsTheirPlaces) {
  Type part, all;
  MPI_Type_vector(1000, 1, 3, MPI_INT, &part);
  std::vector<int> lengths(300, 1);
  std::vector<MPI_Aint> places;
  for (MPI_Aint i = 0; i < 300; ++i) places.push_back(i * i * 100000);
  const std::vector<MPI_Datatype> types(300, part);
  MPI_Type_create_struct(300, lengths.data(), places.data(), types.data(), &all);
  EXPECT_LE(words_of(layout_of(all)->nest), 310U);
  EXPECT_EQ(layout_of(all)->elements.node_count(), 1);
}

TEST(Layout, OfDarraysIsARepetition) {
  Type type;
  const int sizes[] = {1'000'003, 7}, kinds[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
  const int arguments[] = {10, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {3, 2};
  MPI_Type_create_darray(6, 3, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT, &type);
  const auto layout = layout_of(type);
  EXPECT_LE(words_of(layout->nest), 20U);
  // Process 3 is (1, 1): blocks 1, 4, ... of 10 rows, the last of them block 100,000 with 3 rows;
  // columns 4 to 6.
  EXPECT_EQ(layout->nest.place_of(0), (10 * 7 + 4) * 4);
  EXPECT_EQ(layout->size(), (33'333 * 10 + 3) * 3 * 4);
  EXPECT_EQ(layout->nest.hull().end, 1'000'003 * 7 * 4);
}

TEST(Layout, PastTwoGibibytes) {
  Type wide, many, twice;
  MPI_Type_contiguous(1 << 30, MPI_DOUBLE, &wide);
  MPI_Type_vector(1000, 1, 3, wide, &many);
  EXPECT_EQ(layout_of(wide)->size(), std::int64_t{8} << 30);
  const auto layout = layout_of(many);
  EXPECT_EQ(layout->size(), (std::int64_t{8} << 30) * 1000);
  EXPECT_EQ(layout->nest.place_of(layout->size() - 1), (std::int64_t{8} << 30) * 2998 - 1);
  EXPECT_EQ(layout->elements.totals().count, (std::int64_t{1} << 30) * 1000);
  expect_error("does not fit 64 bits",
               [&] { memory_map(nullptr, std::int64_t{1} << 40, *layout); });
#if MPI_VERSION >= 4
  MPI_Type_vector_c(std::int64_t{5} << 32, 2, 3, MPI_INT, &twice);
  EXPECT_EQ(layout_of(twice)->size(), (std::int64_t{5} << 32) * 8);
  EXPECT_LE(words_of(layout_of(twice)->nest), 6U);
#endif
}

TEST(Layout, BoundsThatAreSetPrevailInExternal32) {
  Type resized, both;
  MPI_Type_create_resized(MPI_INT, -8, 24, &resized);
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, 100};
  const MPI_Datatype types[] = {resized, MPI_DOUBLE};
  MPI_Type_create_struct(2, lengths, places, types, &both);
  const TypeLayout layout = decode(both, Representation::external32);
  EXPECT_EQ(layout.lower_bound(), -8);
  EXPECT_EQ(layout.extent(), 24);
  EXPECT_EQ(layout.nest.hull(), (Extent{0, 108}));
}

TEST(Layout, OfExternal32HasItsSteps) {
  Type vector, pairs;
  MPI_Type_vector(2, 2, 3, MPI_LONG, &vector);
  const TypeLayout layout = decode(vector, Representation::external32);
  EXPECT_EQ(places_of(layout), (Places{0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15, 16, 17, 18, 19}));
  EXPECT_EQ(layout.extent(), 20);
  EXPECT_EQ(decode(MPI_SHORT_INT, Representation::external32).extent(), 6);
  EXPECT_EQ(decode(MPI_WCHAR, Representation::external32).extent(), 2);
  EXPECT_EQ(decode(MPI_LONG_DOUBLE, Representation::external32).extent(), 16);
  EXPECT_EQ(decode(MPI_C_DOUBLE_COMPLEX, Representation::external32).extent(), 16);
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
TEST(Layout, OfAValueAndAnIndex) {
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair);
  ASSERT_NE(pair, MPI_DATATYPE_NULL);
  EXPECT_EQ(places_of(*layout_of(pair)), (Places{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  MPI_Type_get_value_index(MPI_SHORT, MPI_LONG, &pair);
  if (pair == MPI_DATATYPE_NULL) return;  // a library may lack it
  EXPECT_EQ(places_of(*layout_of(pair)), (Places{0, 1, 8, 9, 10, 11, 12, 13, 14, 15}));
}
#endif

TEST(Memory, FromTheBottomPlacesAreAddresses) {
  std::vector<int> here(10);
  Type type;
  MPI_Aint address = 0;
  MPI_Get_address(&here[2], &address);
  const int length = 3;
  MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &type);
  const MemoryMap map = memory_map(MPI_BOTTOM, 1, *layout_of(type));
  EXPECT_EQ(map.contiguous(0, 12), reinterpret_cast<std::byte*>(&here[2]));
  expect_error("count -1", [&] { memory_map(here.data(), -1, *layout_of(type)); });
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  return mpi_test::main(argc, argv, MPI_THREAD_MULTIPLE);
}
