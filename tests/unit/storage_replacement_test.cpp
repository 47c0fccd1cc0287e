// A new file that takes the place of an old one: each stage at which its process may end.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include <penstock/error.hpp>

#include "storage/replacement.hpp"
#include "storage/storage.hpp"
#include "storage_temp_folder.hpp"

namespace penstock {
namespace {

using test::TempFolder;

void put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t files_in(const TempFolder& folder) {
  const std::filesystem::directory_iterator begin(folder.path()), end;
  return static_cast<std::size_t>(std::distance(begin, end));
}

void forget_nothing(std::uint64_t) {}

/// `work` in a process of its own, which is killed at its end.
void killed_after(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(Replacement, TakesThePlaceOnceItIsCommitted) {
  const TempFolder folder;
  const std::string path = folder.file("f");
  put(path, "old");
  ::chmod(path.c_str(), 0604);
  {
    Replacement replacement(path, forget_nothing);
    put(replacement.path(), "new");
    EXPECT_EQ(content(path), "old");
    EXPECT_EQ(files_in(folder), 2u);
    replacement.commit();
    replacement.sync_folder();
  }
  EXPECT_EQ(content(path), "new");
  EXPECT_EQ(files_in(folder), 1u);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0604u);
}

TEST(Replacement, GoesWithoutACommit) {
  const TempFolder folder;
  const std::string path = folder.file("f");
  { const Replacement replacement(path, forget_nothing); }
  EXPECT_EQ(files_in(folder), 0u);
}

TEST(Replacement, AProcessThatIsKilledLeavesTheOldFileOrTheNewOne) {
  for (int stage = 0; stage < 3; ++stage) {
    const TempFolder folder;
    const std::string path = folder.file("f");
    put(path, "old");
    killed_after([&] {
      auto* const replacement = new Replacement(path, forget_nothing);
      if (stage > 0) put(replacement->path(), "new");
      if (stage > 1) replacement->commit();
    });
    EXPECT_EQ(content(path), stage > 1 ? "new" : "old") << stage;
    EXPECT_EQ(files_in(folder), stage > 1 ? 1u : 2u) << stage;
    int forgotten = 0;
    {
      const Replacement next(path, [&](std::uint64_t) { ++forgotten; });
    }
    EXPECT_EQ(files_in(folder), 1u) << stage;
    EXPECT_EQ(forgotten, stage > 1 ? 0 : 1) << stage;
  }
}

TEST(Replacement, WhatSomebodyStillWritesIsNoLeftover) {
  const TempFolder folder;
  const std::string path = folder.file("f");
  Replacement first(path, forget_nothing), second(path, forget_nothing);
  EXPECT_EQ(files_in(folder), 2u);
  put(first.path(), "first");
  put(second.path(), "second");
  second.commit();
  first.commit();
  EXPECT_EQ(content(path), "first");
}

TEST(Replacement, ALongNameFits) {
  const TempFolder folder;
  const std::string path = folder.file(std::string(255, 'n'));
  Replacement replacement(path, forget_nothing);
  put(replacement.path(), "new");
  replacement.commit();
  EXPECT_EQ(content(path), "new");
}

TEST(Replacement, ARenameThatFailsSaysThatNothingHasChanged) {
  const TempFolder folder;
  const std::string path = folder.file("f");
  Replacement replacement(path, forget_nothing);
  std::filesystem::create_directory(path);  // meanwhile, by somebody else
  try {
    replacement.commit();
    ADD_FAILURE() << "a folder was replaced";
  } catch (const Error& error) {
    EXPECT_EQ(error.error_number(), EISDIR);
    EXPECT_NE(std::string(error.what()).find("is left as it was"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace penstock
