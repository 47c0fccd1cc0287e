// Replacement: a new file that takes the place of another, or of none, as a whole or not at all.
// Penstock replaces all files this way.
//
//   1. The file is created beside the other, as ".NAME.penstock-" and 32 unguessable letters, under
//      a name that does not exist yet. It gets the permissions of the other one.
//   2. Until it is in place, its descriptor holds a lock on a byte far behind its data: the sign
//      that it is being written.
//   3. commit() renames it, which the file system does atomically.
//   4. Without a commit the destructor removes it. remove_leftovers() removes what killed processes
//      have left behind.
//
// A file of such a name is a leftover if its lock is free and this process would see it if it were
// held. The first letters of the name say where the lock was taken: in which mount, and since which
// boot. Locks of one mount are visible to all its processes. Those of another mount (another host,
// another FUSE mount) may not be; its files are kept. But on a file system that only one machine
// has, no writer survives a reboot.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace penstock {

class Descriptor;

struct ReplacementOptions {
  std::string like = {};       // the file whose permissions it gets; empty: the one it replaces
  bool makes_folders = false;  // creates missing folders
  bool synced = false;         // sync its bytes before it is put in place
};

class Replacement {
 public:
  /// `target`: what it replaces; a link there is replaced itself. Throws Error(storage); then, as
  /// after a failure of the other functions, there is no new file, and `target` is unchanged.
  explicit Replacement(std::string target, const ReplacementOptions& options = {});
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement();

  /// Of the new file, until commit().
  const std::string& path() const noexcept { return path_; }
  std::uint64_t inode() const noexcept { return made_.st_ino; }
  /// At its beginning.
  void write(std::span<const std::byte> content);
  /// Returns when its bytes are on the device.
  void sync();
  void commit() { commit_as(target_); }
  /// Replaces another file of the same folder.
  void commit_as(const std::string& name);
  /// After commit(): returns when the new name is on the device.
  void sync_folder() const;

 private:
  void look_at_model(const std::string& path, bool is_target);
  void find_place(bool makes_folders);
  void make();
  bool is_held();
  void take_over_permissions();
  [[noreturn]] void fail(const std::string& what, int number) const;

  std::string target_, folder_, prefix_, path_;
  std::optional<struct stat> model_;  // of the file whose permissions it gets
  struct stat made_ {};
  std::shared_ptr<Descriptor> file_;  // holds its lock; null: committed
  int process_;                       // the one that made it: a forked child removes nothing
};

/// Replaces a file in one call.
void replace_file(const std::string& path, std::span<const std::byte> content,
                  const ReplacementOptions& options = {});

/// What symbolic links at `path` lead to, which may not exist.
std::string behind_links(const std::string& path);
/// Follows symbolic links at `path` to the file that a program wants replaced, which may not exist.
/// Throws Error(storage) for what could not be written in place either, such as a folder or a
/// protected file.
std::string find_replaceable(const std::string& path);

/// Behind the name of a replacement: a folder that is to replace another one, while it is made
/// (replacement_place.hpp). It is removed with its leftover.
inline constexpr const char* folder_of_replacement = ".folder";

/// Called with the inode of a leftover before it is removed.
using Forget = std::function<void(std::uint64_t inode)>;
/// Removes the leftovers of replacements of this file.
void remove_leftovers(const std::string& target, const Forget& forget = {});
/// The same for all files in a folder.
void remove_leftovers_in(const std::string& folder);

}  // namespace penstock
