// Presence: what a process shows to the other ranks of its node before they have shared memory,
// that is, before the first file of a communicator is open: which file it opens. Read only if a
// rank has waited for long.
//
// It is a page in a memfd, found among the open files of the processes that the same launcher has
// started. So it has no name and leaves nothing behind. Processes that cannot be inspected (other
// users, PID namespaces) remain unknown.
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

/// Shows that this process was refused to open a file without a communicator.
void show_refusal() noexcept;

/// What a process of the node shows.
struct Seen {
  int world_rank = 0;
  std::int64_t process = 0;
  bool refused = false;
  std::string opens;  // empty: nothing
};

/// The processes of this program on this node, including this one.
std::vector<Seen> look_around();

}  // namespace penstock::presence
