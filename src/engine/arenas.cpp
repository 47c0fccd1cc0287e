#include "engine/arenas.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

namespace penstock {
namespace {

/// An arena of another process, mapped once however many files use it.
std::byte* map_once(const LentFile& file) {
  static std::mutex mutex;
  // Never destroyed: a thread of the program may still write at exit.
  static auto& known = *new std::map<std::pair<std::uint64_t, std::uint64_t>, ArenaView>;
  const int descriptor = file.open();
  if (descriptor < 0) return nullptr;
  const std::lock_guard guard(mutex);
  ArenaView& view = known[{file.device, file.inode}];
  if (view.base == nullptr) view = Arena::map(descriptor);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return view.base;
}

}  // namespace

Task<bool> TeamArenas::fit(Team& team, int slot, ActiveBuffer& own, std::string& why) {
  const bool opened = own.open_arena();
  if (!opened) why = std::string("no memory for the active buffer: ") + std::strerror(errno);
  team.own_mailbox().arena = LentFile::of(opened ? own.arena_descriptor() : -1);
  co_await team.meet(slot);
  std::vector<std::byte*> bases;
  bool all = opened;
  for (int local_rank = 0; local_rank < team.size() && all; ++local_rank) {
    const LentFile& file = team.mailbox(local_rank).arena;
    const bool lent = file.descriptor >= 0;
    bases.push_back(local_rank == team.rank() ? own.arena_base() : lent ? map_once(file) : nullptr);
    if (bases.back() != nullptr) continue;
    all = false;
    why = std::string("cannot reach the active buffer of another rank: ") +
          (lent ? why_not_lent(errno) : "it is memory of its process alone (ulimit -f)");
  }
  co_await team.meet(slot);  // no descriptor may change before all ranks have read it
  if (all) bases_ = std::move(bases);
  co_return all;
}

}  // namespace penstock
