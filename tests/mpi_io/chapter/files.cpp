// Whole files: opening and closing, sizes, hints, Fortran handles (MPI 4.1, section 14.2).
#include <filesystem>

#include "chapter.hpp"

using namespace chapter;

namespace {

MPI_Offset size_of(MPI_File file) {
  MPI_Offset bytes = -1;
  EXPECT_MPI(MPI_File_get_size(file, &bytes));
  return bytes;
}

TEST(Files, SizeIsSetAndPreallocated) {
  File file("sized");
  EXPECT_EQ(size_of(file), 0);
  EXPECT_MPI(MPI_File_set_size(file, 1000));
  EXPECT_EQ(size_of(file), 1000);
  EXPECT_MPI(MPI_File_preallocate(file, 5000));
  EXPECT_EQ(size_of(file), 5000);
  EXPECT_MPI(MPI_File_preallocate(file, 10));  // never shortens it
  EXPECT_EQ(size_of(file), 5000);
  barrier();
  const char last = 'z';
  if (rank() == 0) EXPECT_MPI(MPI_File_write_at(file, 6999, &last, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  barrier();
  EXPECT_EQ(size_of(file), 7000);
  barrier();
  EXPECT_MPI(MPI_File_set_size(file, 3));
  EXPECT_EQ(size_of(file), 3);
  file.close();
  barrier();
  EXPECT_EQ(content(file.path).size(), 3U);
}

TEST(Files, SizeIsCutBelowWhatIsBuffered) {
  File file("cut");
  const std::vector<char> mine(100000, 'x');
  EXPECT_MPI(
      MPI_File_write_at(file, rank() * 100000, mine.data(), 100000, MPI_CHAR, MPI_STATUS_IGNORE));
  barrier();
  EXPECT_MPI(MPI_File_set_size(file, 10));
  EXPECT_EQ(size_of(file), 10);
  file.close();
  barrier();
  EXPECT_EQ(content(file.path).size(), 10U);
}

TEST(Files, GroupAndModeAreTold) {
  const int amode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_UNIQUE_OPEN;
  const File file("reported", amode);
  int reported = 0, same = MPI_UNEQUAL;
  EXPECT_MPI(MPI_File_get_amode(file, &reported));
  EXPECT_EQ(reported, amode);
  MPI_Group group, world;
  EXPECT_MPI(MPI_File_get_group(file, &group));
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_compare(group, world, &same);
  EXPECT_EQ(same, MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

TEST(Files, AreDeletedOnCloseAndByName) {
  const int amode = MPI_MODE_RDWR | MPI_MODE_CREATE;
  File temporary("temporary", amode | MPI_MODE_DELETE_ON_CLOSE);
  const int one = 1;
  EXPECT_MPI(MPI_File_write_at_all(temporary, rank() * 4, &one, 1, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT_TRUE(exists(temporary.path));
  barrier();
  temporary.close();
  barrier();
  EXPECT_FALSE(exists(temporary.path));
  File kept("kept", amode);
  kept.close();
  barrier();
  if (rank() == 0) EXPECT_MPI(MPI_File_delete(kept.path.c_str(), MPI_INFO_NULL));
  barrier();
  EXPECT_FALSE(exists(kept.path));
  EXPECT_CLASS(MPI_File_delete(kept.path.c_str(), MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
}

TEST(Files, AreMadeOnceOnly) {
  File file("once", MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL);
  file.close();
  barrier();
  MPI_File again = MPI_FILE_NULL;
  EXPECT_CLASS(
      MPI_File_open(MPI_COMM_WORLD, file.path.c_str(),
                    MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &again),
      MPI_ERR_FILE_EXISTS);
  EXPECT_EQ(again, MPI_FILE_NULL);
}

TEST(Files, NameMayHaveAPrefixOfAFileSystem) {
  MPI_File file = MPI_FILE_NULL;
  const std::string path = path_of("prefixed");
  EXPECT_MPI(MPI_File_open(MPI_COMM_WORLD, ("ufs:" + path).c_str(),
                           MPI_MODE_WRONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
  EXPECT_MPI(MPI_File_close(&file));
  EXPECT_EQ(file, MPI_FILE_NULL);
  EXPECT_TRUE(exists(path));
  barrier();
}

/// Two files of different ranks, and files of single ranks, at the same time.
TEST(Files, OfPartsOfTheRanks) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &half);
  int within = 0, ranks = 0;
  MPI_Comm_rank(half, &within);
  MPI_Comm_size(half, &ranks);
  const int amode = MPI_MODE_RDWR | MPI_MODE_CREATE;
  File together("half" + std::to_string(rank() % 2), amode, MPI_INFO_NULL, half);
  File alone("alone" + std::to_string(rank()), amode, MPI_INFO_NULL, MPI_COMM_SELF);
  const int mine = rank();
  EXPECT_MPI(MPI_File_write_at(alone, 0, &mine, 1, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT_MPI(MPI_File_write_at_all(together, within * 4, &mine, 1, MPI_INT, MPI_STATUS_IGNORE));
  together.close();
  alone.close();
  barrier();
  EXPECT_EQ(values<int>(alone.path), std::vector<int>{rank()});
  ASSERT_EQ(std::ssize(values<int>(together.path)), ranks);
  EXPECT_EQ(values<int>(together.path)[within], rank());
  MPI_Comm_free(&half);
}

TEST(Files, HaveNumbersInFortran) {
  const File a("a"), b("b");
#ifndef MPI_ABI_VERSION  // the header of the standard ABI has no Fortran
  EXPECT_NE(MPI_File_c2f(a), MPI_File_c2f(b));
  EXPECT_EQ(MPI_File_f2c(MPI_File_c2f(a)), a.handle);
  EXPECT_EQ(MPI_File_f2c(MPI_File_c2f(b)), b.handle);
  EXPECT_EQ(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)), MPI_FILE_NULL);
  EXPECT_EQ(MPI_File_f2c(123456), MPI_FILE_NULL);
#endif
#if MPI_VERSION >= 5
  EXPECT_NE(MPI_File_toint(a), MPI_File_toint(b));
  EXPECT_EQ(MPI_File_fromint(MPI_File_toint(b)), b.handle);
  EXPECT_EQ(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)), MPI_FILE_NULL);
#endif
}

TEST(Files, ExtentsAreThoseOfTheRepresentation) {
  const File file("extents");
  MPI_Aint extent = 0;
  EXPECT_MPI(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent));
  EXPECT_EQ(extent, 8);
  const Type every(cyclic_ints(0, 5));
  EXPECT_MPI(MPI_File_get_type_extent(file, every, &extent));
  EXPECT_EQ(extent, 20);
#if MPI_VERSION >= 4
  MPI_Count wide = 0;
  EXPECT_MPI(MPI_File_get_type_extent_c(file, every, &wide));
  EXPECT_EQ(wide, 20);
#endif
}

TEST(Hints, AreTakenAndTold) {
  const Info info{{"cb_nodes", "1"},
                  {"cb_buffer_size", "1048576"},
                  {"romio_cb_write", "enable"},
                  {"romio_ds_write", "disable"},
                  {"access_style", "write_once"},
                  {"penstock_exchange", "sparse"}};
  const File file("hints", MPI_MODE_RDWR | MPI_MODE_CREATE, info);
  EXPECT_EQ(hint(file, "cb_nodes"), "1");
  EXPECT_EQ(hint(file, "penstock_aggregator_ranks"), "0");
  EXPECT_EQ(hint(file, "cb_buffer_size"), "1048576");
  EXPECT_EQ(hint(file, "romio_cb_write"), "enable");
  EXPECT_EQ(hint(file, "romio_ds_write"), "disable");
  EXPECT_EQ(hint(file, "access_style"), "write_once");
  EXPECT_EQ(hint(file, "penstock_exchange"), "sparse");
  const Info other{{"romio_cb_write", "disable"}};
  EXPECT_MPI(MPI_File_set_info(file, other));
  EXPECT_EQ(hint(file, "romio_cb_write"), "disable");
  EXPECT_EQ(hint(file, "cb_nodes"), "1");
  const Info third{{"romio_ds_write", "enable"}};
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", third));
  EXPECT_EQ(hint(file, "romio_ds_write"), "enable");
}

/// As in the other interfaces: hints that are not given stay, and "auto" can be given.
TEST(Hints, ThatAreGivenLaterTakeThePlaceOfTheseAlone) {
  const Info info{{"penstock_method", "gather"}, {"penstock_buffer_size", "1M"}};
  const File file("later", MPI_MODE_RDWR | MPI_MODE_CREATE, info);
  const Info other{{"penstock_aggregators", "1"}, {"penstock_buffer_size", "64K"}};
  EXPECT_MPI(MPI_File_set_info(file, other));
  EXPECT_EQ(hint(file, "penstock_method"), "gather");
  EXPECT_EQ(hint(file, "penstock_buffer_size"), "65536");
  const Info automatic{{"penstock_method", "auto"}};
  EXPECT_MPI(MPI_File_set_info(file, automatic));
  EXPECT_EQ(hint(file, "penstock_method"), "auto");
  EXPECT_EQ(hint(file, "penstock_buffer_size"), "65536");
}

TEST(Hints, MoreAggregatorsThanRanksAreNoError) {
  const Info info{{"cb_nodes", "100000"}};
  const File file("many_aggregators", MPI_MODE_RDWR | MPI_MODE_CREATE, info);
  EXPECT_LE(std::stoi(hint(file, "cb_nodes")), size());
  const int mine = rank();
  EXPECT_MPI(MPI_File_write_at_all(file, rank() * 4, &mine, 1, MPI_INT, MPI_STATUS_IGNORE));
}

/// A meaningless value of another library's hint is ignored; of Penstock's own it is refused.
TEST(Hints, ThatCannotBeRead) {
  const Info foreign{{"cb_nodes", "several"}, {"romio_cb_write", "maybe"}};
  { const File file("foreign", MPI_MODE_RDWR | MPI_MODE_CREATE, foreign); }
  const Info own{{"penstock_method", "best"}};
  MPI_File file = MPI_FILE_NULL;
  EXPECT_CLASS(MPI_File_open(MPI_COMM_WORLD, path_of("own").c_str(),
                             MPI_MODE_RDWR | MPI_MODE_CREATE, own, &file),
               MPI_ERR_INFO);
  const File open("open");
  EXPECT_CLASS(MPI_File_set_info(open, own), MPI_ERR_INFO);
}

/// The output on standard error while `work` runs.
template <class Work>
std::string said(Work&& work) {
  testing::internal::CaptureStderr();
  work();
  return testing::internal::GetCapturedStderr();
}

/// Unknown names are reported once, those of other libraries never.
TEST(Hints, UnknownOneIsWarnedOfOnce) {
  const Info info{
      {"penstock_no_such_thing", "1"}, {"cb_nodse", "2"},        {"bufer_size", "1M"},
      {"romio_no_indep_rw", "true"},   {"striping_factor", "4"}, {"nc_header_align_size", "4096"},
      {"ind_rd_buffer_size", "65536"}};
  const auto open = [&] { const File file("unknown", MPI_MODE_RDWR | MPI_MODE_CREATE, info); };
  const std::string first = said(open), second = said(open);
  for (const char* const words :
       {"penstock_no_such_thing is not known (", "cb_nodse is not known; did you mean cb_nodes?",
        "bufer_size is not known; did you mean penstock_buffer_size?"})
    EXPECT_EQ(first.find(words) != std::string::npos, rank() == 0) << first;
  for (const char* const name : {"romio", "striping", "nc_header", "ind_rd"})
    EXPECT_EQ(first.find(name), std::string::npos) << first;
  EXPECT_EQ(second, "");
}

TEST(Hints, OfTheEnvironment) {
  setenv("PENSTOCK_HINTS", "romio_cb_write=enable; buffer_size = 2M ;;cb_nodes=1 ; ", 1);
  {
    const File file("environment");
    EXPECT_EQ(hint(file, "romio_cb_write"), "enable");
    EXPECT_EQ(hint(file, "cb_buffer_size"), "2097152");
    const Info info{{"romio_cb_write", "disable"}};
    const File other("environment", MPI_MODE_RDWR, info);
    EXPECT_EQ(hint(other, "romio_cb_write"), "disable");
    EXPECT_EQ(hint(other, "cb_nodes"), "1");
  }
  for (const char* const hints : {"nonsense", "cb_nodes=1;=2", "bufer_size=2M", "cb_nodse=1"}) {
    setenv("PENSTOCK_HINTS", hints, 1);
    MPI_File file = MPI_FILE_NULL;
    EXPECT_CLASS(MPI_File_open(MPI_COMM_WORLD, path_of("environment").c_str(), MPI_MODE_RDWR,
                               MPI_INFO_NULL, &file),
                 MPI_ERR_INFO);
  }
  unsetenv("PENSTOCK_HINTS");
}

/// A file with hints for all files, as in ROMIO; MPI_Info and PENSTOCK_HINTS override it.
class HintFile : public testing::Test {
 protected:
  void TearDown() override {
    unsetenv("ROMIO_HINTS");
    unsetenv("PENSTOCK_HINTS");
  }
  static void name(const std::string& file, const std::string& text) {
    make_file(path_of(file), std::vector<char>(text.begin(), text.end()));
    setenv("ROMIO_HINTS", path_of(file).c_str(), 1);
  }
};

TEST_F(HintFile, IsRead) {
  name("hints_of_romio",
       "# of the machine\n\ncb_nodes 1\n  romio_ds_write\tdisable \nind_rd_buffer_size 49\n"
       "striping_factor 8\npenstock_exchange sparse\nromio_no_indep_rw true\n");
  const Info info{{"romio_cb_read", "disable"}, {"striping_factor", "4"}};
  const File file("hinted", read_write, info);
  EXPECT_EQ(hint(file, "cb_nodes"), "1");
  EXPECT_EQ(hint(file, "romio_ds_write"), "disable");
  EXPECT_EQ(hint(file, "ind_rd_buffer_size"), "49");
  EXPECT_EQ(hint(file, "penstock_exchange"), "sparse");
  EXPECT_EQ(hint(file, "romio_no_indep_rw"), "true");
  EXPECT_EQ(hint(file, "romio_cb_read"), "enable") << "there are no independent calls";
  EXPECT_EQ(hint(file, "striping_factor"), "4") << "MPI_Info comes first";
  setenv("PENSTOCK_HINTS", "romio_ds_write=enable", 1);
  const File other("hinted");
  EXPECT_EQ(hint(other, "romio_ds_write"), "enable");
  EXPECT_EQ(hint(other, "striping_factor"), "8");
  const Info later{{"cb_buffer_size", "65536"}};
  EXPECT_MPI(MPI_File_set_info(file, later));
  EXPECT_EQ(hint(file, "striping_factor"), "4") << "it is read by open alone";
}

TEST_F(HintFile, SlipsAreReportedOnce) {
  name("hints_with_slips", "cb_nodez 1\ncb_buffer_size\nromio_ds_write enable now\n");
  const auto open = [] { const File file("slips"); };
  const std::string first = said(open), second = said(open);
  for (const char* const words :
       {"cb_nodez is not known; did you mean cb_nodes?",
        "hints_with_slips (ROMIO_HINTS): line 2 is",
        "hints_with_slips (ROMIO_HINTS): line 3 is not of the form: name value"})
    EXPECT_EQ(first.find(words) != std::string::npos, rank() == 0) << first;
  EXPECT_EQ(second, "");
}

TEST_F(HintFile, IsNotThereOrNoFile) {
  for (const std::string& path : {path_of("missing_hints"), mpi_test::folder()}) {
    setenv("ROMIO_HINTS", path.c_str(), 1);
    const std::string words = said([] { const File file("no_hints"); });
    EXPECT_EQ(words.find(path + " (ROMIO_HINTS)") != std::string::npos, rank() == 0) << words;
  }
}

TEST_F(HintFile, HasAValueOfPenstocksOwnThatCannotBeRead) {
  name("hints_that_are_wrong", "penstock_method best\n");
  MPI_File file = MPI_FILE_NULL;
  EXPECT_CLASS(
      MPI_File_open(MPI_COMM_WORLD, path_of("x").c_str(), read_write, MPI_INFO_NULL, &file),
      MPI_ERR_INFO);
}

/// Hints of the environment are overridden by those of open, and set_info changes neither.
TEST_F(HintFile, AndTheEnvironmentStayBelowWhatOpenWasGiven) {
  setenv("PENSTOCK_HINTS", "romio_cb_write=enable", 1);
  const Info info{{"romio_cb_write", "disable"}}, other{{"cb_nodes", "1"}};
  const File file("below", read_write, info);
  EXPECT_MPI(MPI_File_set_info(file, other));
  EXPECT_EQ(hint(file, "romio_cb_write"), "disable");
}

}  // namespace
