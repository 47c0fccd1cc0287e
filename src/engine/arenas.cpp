#include "engine/arenas.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

namespace penstock {
namespace {

/// An arena of another process, mapped once, however many files ask for it.
std::byte* map_once(std::int64_t process, std::int64_t number) {
  static std::mutex mutex;
  static std::map<std::pair<dev_t, ino_t>, ArenaView> known;
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(number);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  struct stat status {};
  std::byte* base = nullptr;
  if (::fstat(descriptor, &status) == 0) {
    const std::lock_guard guard(mutex);
    ArenaView& view = known[{status.st_dev, status.st_ino}];
    if (view.base == nullptr) view = Arena::map(descriptor);
    base = view.base;
  }
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return base;
}

}  // namespace

Task<bool> TeamArenas::fit(Team& team, int slot, ActiveBuffer& own, std::string& why) {
  const bool opened = own.open_arena();
  if (!opened) why = std::string("no memory for the active buffer: ") + std::strerror(errno);
  team.own_mailbox().arena = opened ? own.arena_descriptor() : -1;
  co_await team.meet(slot);
  std::vector<std::byte*> bases;
  bool all = opened;
  for (int local_rank = 0; local_rank < team.size() && all; ++local_rank) {
    const Team::Mailbox& mailbox = team.mailbox(local_rank);
    bases.push_back(local_rank == team.rank()
                        ? own.arena_base()
                        : (mailbox.arena < 0 ? nullptr : map_once(mailbox.process, mailbox.arena)));
    if (bases.back() != nullptr) continue;
    all = false;
    why = std::string("cannot reach the active buffer of another rank: ") +
          (mailbox.arena < 0 ? "it is memory of its process alone (ulimit -f)"
                             : std::strerror(errno));
  }
  co_await team.meet(slot);  // nobody's descriptor changes before all have looked
  if (all) bases_ = std::move(bases);
  co_return all;
}

}  // namespace penstock
