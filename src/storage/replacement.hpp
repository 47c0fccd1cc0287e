// Replacement: a new file that takes the place of another, or of none, as a whole or not at all.
// Whatever replaces a file in Penstock does it this way.
//
//   1. It is made beside the other, as ".NAME.penstock-" and 32 letters that nobody can guess,
//   where
//      nothing has that name yet. It has the permissions of the other one.
//   2. The descriptor that it was made with holds a lock on a byte far behind its data, until it is
//      in place: somebody writes it.
//   3. commit() renames it, which the file system does in one step.
//   4. Without a commit the destructor removes it. What a process that was killed has left behind
//      is removed by remove_leftovers().
//
// A file of such a name is left over where its lock is free and this process would see it held. The
// first letters of the name say where the lock was taken: in which mount, since which start of the
// machine. Locks of one mount are seen by all its processes. Those of another are not always: of
// another host, for one, or of another FUSE mount; its files stay. But on a file system that one
// machine alone has, no writer has survived a new start of the machine.
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
  std::string like = {};       // whose permissions it gets; empty: those of the file it replaces
  bool makes_folders = false;  // that it needs
  bool synced = false;         // its bytes are on the device before it is in place
};

class Replacement {
 public:
  /// `target`: what it replaces; a link there is replaced itself. Throws Error(storage); then there
  /// is no new file, as after all that follows, and `target` is as it was.
  explicit Replacement(std::string target, const ReplacementOptions& options = {});
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement();

  /// Of the new file, until commit().
  const std::string& path() const noexcept { return path_; }
  std::uint64_t inode() const noexcept { return made_.st_ino; }
  /// From its first byte on.
  void write(std::span<const std::byte> content);
  /// Returns when its bytes are on the device.
  void sync();
  void commit() { commit_as(target_); }
  /// In the place of another one in the same folder.
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
  std::optional<struct stat> model_;  // whose permissions it gets
  struct stat made_ {};
  std::shared_ptr<Descriptor> file_;  // holds its lock; null: committed
  int process_;                       // that made it: a forked child removes nothing
};

/// All of it at once.
void replace_file(const std::string& path, std::span<const std::byte> content,
                  const ReplacementOptions& options = {});

/// Where symbolic links at `path` lead: the file that a program wants replaced, there or not.
/// Throws Error(storage) for what could not be written in place either, as a folder or a protected
/// file.
std::string find_replaceable(const std::string& path);

/// Called with the inode of a file that is left over, before that is removed.
using Forget = std::function<void(std::uint64_t inode)>;
/// Removes what is left over of replacements of this file.
void remove_leftovers(const std::string& target, const Forget& forget = {});
/// The same of all files in a folder.
void remove_leftovers_in(const std::string& folder);

}  // namespace penstock
