// A new file that takes the place of an old one: its process may end at each stage.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include <penstock/error.hpp>

#include "storage/facts.hpp"
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

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

unsigned mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777u;
}

std::size_t files_in(const TempFolder& folder) {
  const std::filesystem::directory_iterator begin(folder.path()), end;
  return static_cast<std::size_t>(std::distance(begin, end));
}

/// Runs `work` in a separate process, which is killed at its end.
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
    Replacement replacement(path);
    replacement.write(bytes_of("new"));
    EXPECT_EQ(content(replacement.path()), "new");
    EXPECT_EQ(content(path), "old");
    EXPECT_EQ(files_in(folder), 2u);
    replacement.sync();
    replacement.commit();
    replacement.sync_folder();
  }
  EXPECT_EQ(content(path), "new");
  EXPECT_EQ(files_in(folder), 1u);
  EXPECT_EQ(mode_of(path), 0604u);
}

TEST(Replacement, GoesWithoutACommit) {
  const TempFolder folder;
  const std::string path = folder.file("f");
  { const Replacement replacement(path); }
  EXPECT_EQ(files_in(folder), 0u);
}

TEST(Replacement, AProcessThatIsKilledLeavesTheOldFileOrTheNewOne) {
  for (int stage = 0; stage < 3; ++stage) {
    const TempFolder folder;
    const std::string path = folder.file("f");
    put(path, "old");
    killed_after([&] {
      auto* const replacement = new Replacement(path);
      if (stage > 0) put(replacement->path(), "new");
      if (stage > 1) replacement->commit();
    });
    EXPECT_EQ(content(path), stage > 1 ? "new" : "old") << stage;
    EXPECT_EQ(files_in(folder), stage > 1 ? 1u : 2u) << stage;
    int forgotten = 0;
    remove_leftovers(path, [&](std::uint64_t) { ++forgotten; });
    EXPECT_EQ(files_in(folder), 1u) << stage;
    EXPECT_EQ(forgotten, stage > 1 ? 0 : 1) << stage;
  }
}

TEST(Replacement, AForkedChildRemovesNothing) {
  const TempFolder folder;
  put(folder.file("f"), "old");
  auto next = std::make_unique<Replacement>(folder.file("f"));
  next->write(bytes_of("new"));
  const pid_t child = ::fork();
  if (child == 0) {
    next.reset();
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(content(next->path()), "new");
  next->commit();
  EXPECT_EQ(content(folder.file("f")), "new");
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(Replacement, WhatSomebodyStillWritesIsNoLeftover) {
  const TempFolder folder;
  const std::string path = folder.file("f");
  Replacement first(path), second(path);
  remove_leftovers(path);
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
  Replacement replacement(path);
  put(replacement.path(), "new");
  replacement.commit();
  EXPECT_EQ(content(path), "new");
}

TEST(Replacement, ARenameThatFailsSaysThatNothingHasChanged) {
  const TempFolder folder;
  const std::string path = folder.file("f");
  Replacement replacement(path);
  std::filesystem::create_directory(path);  // meanwhile, by another program
  try {
    replacement.commit();
    ADD_FAILURE() << "a folder was replaced";
  } catch (const Error& error) {
    EXPECT_EQ(error.error_number(), EISDIR);
    EXPECT_NE(std::string(error.what()).find("is left as it was"), std::string::npos)
        << error.what();
  }
}

TEST(Replacement, ItsNameIsLongAndOthersAreNot) {
  const TempFolder folder;
  const std::string path = folder.file("f");
  std::set<std::string> names;
  constexpr std::size_t many = 200, random = 12;
  for (std::size_t i = 0; i < many; ++i) {
    const Replacement replacement(path);
    const std::string name = replacement.path();
    names.insert(name.substr(name.size() - random));
  }
  EXPECT_EQ(names.size(), many);
}

TEST(Replacement, ALinkIsReplacedAndNotFollowed) {
  const TempFolder folder;
  const std::string path = folder.file("f"), victim = folder.file("victim");
  put(victim, "precious");
  std::filesystem::create_symlink(victim, path);
  replace_file(path, bytes_of("new"));
  EXPECT_EQ(content(victim), "precious");
  EXPECT_FALSE(std::filesystem::is_symlink(path));
  EXPECT_EQ(content(path), "new");
}

TEST(Replacement, TwoThatReplaceOneFileDoNotMixTheirBytes) {
  const TempFolder folder;
  const std::string path = folder.file("f");
  const std::string texts[] = {std::string(100000, 'a'), std::string(70000, 'b')};
  std::vector<std::thread> writers;
  for (const std::string& text : texts)
    writers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        remove_leftovers(path);
        replace_file(path, bytes_of(text));
      }
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_TRUE(content(path) == texts[0] || content(path) == texts[1]);
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(Replacement, AFileInOneCallKeepsTheModeAndMakesFolders) {
  const TempFolder folder;
  const std::string path = folder.file("a/b/f");
  EXPECT_THROW(replace_file(path, bytes_of("1")), Error);
  replace_file(path, bytes_of("1"), {.makes_folders = true});
  EXPECT_EQ(content(path), "1");
  ::chmod(path.c_str(), 0640);
  replace_file(path, bytes_of("22"));
  EXPECT_EQ(mode_of(path), 0640u);
  const std::string record = folder.file("record");
  ::chmod(path.c_str(), 0750);
  replace_file(record, bytes_of("x"), {.like = path});
  EXPECT_EQ(mode_of(record), 0640u);  // a data file: not executable
}

/// An unfinished replacement, under a name modified by `change`.
std::string left_over(const std::string& path, const std::function<void(std::string&)>& change) {
  std::string old_name;
  {
    const Replacement replacement(path);
    old_name = replacement.path();
  }
  change(old_name);
  put(old_name, "left over");
  return old_name;
}

TEST(Replacement, AFileWhoseWritersLockIsSeenElsewhereStays) {
  const TempFolder folder;
  const std::string path = folder.file("f");
  constexpr std::size_t device_at = 20, boot_at = 32;  // from the end
  const auto other = [](std::size_t at) {
    return [at](std::string& name) {
      char& letter = name[name.size() - at];
      letter = letter == '0' ? '1' : '0';
    };
  };
  const std::string here = left_over(path, [](std::string&) {});
  const std::string other_mount = left_over(path, other(device_at));
  const std::string before_restart = left_over(path, other(boot_at));
  remove_leftovers(path);
  EXPECT_FALSE(std::filesystem::exists(here));
  EXPECT_TRUE(std::filesystem::exists(other_mount));
  const int fd = ::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY);
  EXPECT_EQ(std::filesystem::exists(before_restart), is_shared_by_hosts(find_file_system_type(fd)));
  ::close(fd);
}

TEST(Replacement, LeftoversOfAFolder) {
  const TempFolder folder;
  const std::string first = left_over(folder.file("f"), [](std::string&) {});
  const std::string second = left_over(folder.file("g"), [](std::string&) {});
  const std::string no_file = left_over(folder.file("h"), [](std::string&) {});
  std::filesystem::remove(no_file);
  std::filesystem::create_symlink(first, no_file);
  const Replacement written(folder.file("f"));
  put(folder.file(".f.penstock-short"), "another's");
  remove_leftovers(folder.file("f"));
  EXPECT_FALSE(std::filesystem::exists(first));
  EXPECT_TRUE(std::filesystem::exists(second));
  remove_leftovers_in(folder.path());
  EXPECT_EQ(files_in(folder), 3u);
  EXPECT_TRUE(std::filesystem::is_symlink(no_file));
  EXPECT_TRUE(std::filesystem::exists(written.path()));
}

TEST(Replacement, ForProgramsLinksAreFollowed) {
  const TempFolder folder;
  put(folder.file("real"), "old");
  std::filesystem::create_symlink("real", folder.file("link"));
  std::filesystem::create_symlink("nowhere", folder.file("dangling"));
  EXPECT_EQ(find_replaceable(folder.file("link")), folder.file("real"));
  EXPECT_EQ(find_replaceable(folder.file("dangling")), folder.file("nowhere"));
  EXPECT_THROW(find_replaceable(folder.path()), Error);
  EXPECT_THROW(find_replaceable("/dev/null"), Error);
}

}  // namespace
}  // namespace penstock
