// TeamArenas: the active buffers of a node's ranks, as this process sees them. Mappings are kept
// for the life of the process: files come and go, active buffers stay.
#pragma once

#include <string>
#include <vector>

#include "background/active_buffer.hpp"
#include "mpi/team.hpp"

namespace penstock {

class TeamArenas {
 public:
  /// Collective over the team. `own`: this process's. False, and `why`, where this rank cannot have
  /// them all.
  /// `slot`: of the team's meetings.
  Task<bool> fit(Team& team, int slot, ActiveBuffer& own, std::string& why);
  bool there() const noexcept { return !bases_.empty(); }
  std::byte* base(int local_rank) const noexcept {
    return bases_[static_cast<std::size_t>(local_rank)];
  }

 private:
  std::vector<std::byte*> bases_;  // by local rank
};

}  // namespace penstock
