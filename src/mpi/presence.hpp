// Presence: what a process shows to the other ranks of its node before they have any memory in
// common, which is before the first file of a communicator is open: which file it opens. Read only
// where a rank has waited for long.
//
// It is a page in a memfd, found among the open files of the processes that the same launcher has
// started. So nothing has a name, and nothing stays behind. Where processes cannot be looked into
// (other users, PID namespaces), nothing is known of them.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::presence {

/// While one exists, this process shows that it opens `path`, as the first file of a communicator.
class Opening {
 public:
  explicit Opening(const std::string& path) noexcept;
  Opening(const Opening&) = delete;
  ~Opening();
};

/// This process was refused to open a file without a communicator.
void show_refusal() noexcept;

/// What a process of the node shows.
struct Seen {
  int world_rank = 0;
  std::int64_t process = 0;
  bool refused = false;
  std::string opens;  // empty: nothing
};

/// Of the processes of this program on this node, this one among them.
std::vector<Seen> look_around();

}  // namespace penstock::presence
