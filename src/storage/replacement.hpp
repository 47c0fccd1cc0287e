// Replacement: a new file that takes the place of an old one, as a whole or not at all.
//
//   1. It is made beside the old one, as ".NAME.penstock-XXXXXX", with its permissions.
//   2. A lock on a byte far behind its data says that somebody writes it. A file of such a name
//      without this lock is left over from a process that was killed: the next replacement of the
//      same file removes it.
//   3. commit(), once all data is on the device, renames it, which the file system does in one
//      step.
//   4. Without a commit the destructor removes it.
//
// Symbolic links are followed: the file that they lead to is replaced. Other hard links to the old
// file keep its content.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace penstock {

class Replacement {
 public:
  /// Called with the inode of a file that is left over, before that is removed.
  using Forget = std::function<void(std::uint64_t inode)>;

  /// Throws Error(storage); then there is no new file.
  Replacement(const std::string& target, const Forget& forget);
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement();

  /// Of the new file, until commit().
  const std::string& path() const noexcept { return path_; }
  std::uint64_t inode() const;
  /// Throws Error(storage); the old file is then as it was.
  void commit();
  /// After commit(): returns when the new name is on the device. Throws Error(storage).
  void sync_folder() const;

 private:
  struct NewFile;  // holds its lock
  void look_at_old();
  void remove_leftovers(const Forget& forget) const noexcept;
  void make();
  void take_over_permissions();

  std::string target_, folder_, prefix_, path_;
  std::optional<struct stat> old_;  // nothing: there is no old file
  std::unique_ptr<NewFile> file_;   // null: committed
  int process_;                     // that made it: a forked child removes nothing
};

/// For messages: what became of a file that was to be replaced.
std::string left_as_it_was(const std::string& path);

}  // namespace penstock
