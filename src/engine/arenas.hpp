// TeamArenas: the active buffers of a node's ranks, as mapped in this process. Mappings last as
// long as the process, since active buffers outlive files.
#pragma once

#include <string>
#include <vector>

#include "background/active_buffer.hpp"
#include "mpi/team.hpp"

namespace penstock {

class TeamArenas {
 public:
  /// Collective over the team. `own`: this process's buffer. Returns false and sets `why` if this
  /// rank cannot map all of them. `slot`: of the team's meetings.
  Task<bool> fit(Team& team, int slot, ActiveBuffer& own, std::string& why);
  bool there() const noexcept { return !bases_.empty(); }
  std::byte* base(int local_rank) const noexcept {
    return bases_[static_cast<std::size_t>(local_rank)];
  }

 private:
  std::vector<std::byte*> bases_;  // by local rank
};

}  // namespace penstock
