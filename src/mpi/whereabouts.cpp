#include "mpi/whereabouts.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <penstock/error.hpp>

#include "mpi/agree.hpp"
#include "mpi/communicator.hpp"
#include "mpi/presence.hpp"
#include "mpi/thread_use.hpp"

namespace penstock {
namespace {

std::string seconds_text(std::chrono::nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

/// "ranks 0-2, 5" for an ascending list.
std::string ranks_text(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (i > 0) text += ", ";
    text += std::to_string(ranks[i]);
    if (last > i) text += (last == i + 1 ? ", " : "-") + std::to_string(ranks[last]);
    i = last;
  }
  return text;
}

/// "in one access to storage for 12 s (offset 4096)".
std::string access_text(const ShownAccess::Sight& access) {
  std::string text = "in one access to storage for " + seconds_text(access.since);
  if (access.offset >= 0) text += " (offset " + std::to_string(access.offset) + ")";
  return text;
}

/// Whether a rank has begun the operation whose end is waited for.
bool has_begun(const Team::Mailbox& mailbox, Call missed) {
  return missed.kind == CallKind::wait && mailbox.begun.load() >= missed.number;
}

/// For a rank of the node that is not in the call: where it is instead. It may come later.
std::string excuse(Team& team, int local_rank, Call missed) {
  const Team::Mailbox& mailbox = team.mailbox(local_rank);
  const int rank = team.members()[static_cast<std::size_t>(local_rank)];
  const std::string who = "rank " + std::to_string(rank) + " (";
  if (has_ended(mailbox.process))
    return who + "its process " + std::to_string(mailbox.process) + " has ended)";
  const ShownAccess::Sight access = mailbox.access.look();
  const bool is_slow = access.under_way && access.since >= std::chrono::seconds(1);
  const std::string storage = is_slow ? ", " + access_text(access) : "";
  if (const auto now = Call::from_code(mailbox.call.load()); now.kind != CallKind::none)
    return who + "is in " + now.text() + storage + ")";
  const Call last = Call::from_code(mailbox.last_call.load());
  if (last.kind == CallKind::open_alone)
    return who + "was refused to open a file without a communicator)";
  // While opening, nothing is known about calls of open files.
  if (missed.kind == CallKind::open) return who + "opens no file of this communicator)";
  return who + "is in no call of this file; its last was " + last.text() +
         (has_begun(mailbox, missed) ? ", and it has begun what is waited for" : "") + storage +
         ")";
}

/// Why an operation that all ranks have begun may not progress, and what helps.
std::string progress_text() {
  int level = MPI_THREAD_MULTIPLE;
  MPI_Query_thread(&level);
  if (level == MPI_THREAD_MULTIPLE) return "";
  return ". MPI runs with " + thread_level_name(level) +
         ", where what a rank has begun progresses only while it is in a call of Penstock (by "
         "MPI-IO also in MPI_Wait, MPI_Test, and messages that block; not in MPI_Barrier and the "
         "like): "
         "ask for MPI_THREAD_MULTIPLE (MPI_Init_thread, penstock run --progress-thread), or call "
         "MPI_Wait there before";
}

/// The ranks of this node, as seen by one that waits.
struct Neighbourhood {
  std::vector<int> here, missing;  // ranks in the same call; local ranks of the others
  std::vector<int> slow;           // local ranks that have been in one storage access for long
  // Some rank is in the call and does not wait, or its storage progresses.
  bool somebody_works = false;
  bool first = true;  // no lower rank of the node waits in the call: this one reports

  Neighbourhood(Team& team, Call call) {
    for (int local_rank = 0; local_rank < team.size(); ++local_rank) {
      const Team::Mailbox& mailbox = team.mailbox(local_rank);
      if (mailbox.call.load() != call.code() || has_ended(mailbox.process)) {
        missing.push_back(local_rank);
        continue;
      }
      here.push_back(team.members()[static_cast<std::size_t>(local_rank)]);
      const ShownAccess::Sight access = mailbox.access.look();
      const bool is_slow = access.under_way && access.since >= Patience::get().limit;
      if (is_slow) slow.push_back(local_rank);
      const bool waits = mailbox.waiting.load() != 0;
      const bool writes = access.under_way || !mailbox.pending.get().empty();
      somebody_works = somebody_works || (!is_slow && (!waits || writes));
      first = first && (local_rank >= team.rank() || !waits);
    }
  }
};

std::string missing_text(Team& team, const Neighbourhood& neighbours) {
  std::string text = "; not there yet: ";
  const Call missed = InCall::current()->call();
  bool begun = false;
  for (std::size_t i = 0; i < neighbours.missing.size(); ++i) {
    const int local_rank = neighbours.missing[i];
    text += (i > 0 ? ", " : "") + excuse(team, local_rank, missed);
    begun = begun || has_begun(team.mailbox(local_rank), missed);
  }
  if (!neighbours.missing.empty()) return begun ? text + progress_text() : text;
  std::vector<int> others;
  const std::vector<int>& nodes = team.awaited_nodes();
  const int ranks = static_cast<int>(InCall::current()->comm().size());
  for (int rank = 0; rank < ranks; ++rank) {
    const int node = team.node_of(rank);
    const bool awaited = nodes.empty() || std::ranges::find(nodes, node) != nodes.end();
    if (node != team.node() && awaited) others.push_back(rank);
  }
  if (others.empty()) return "; all ranks are in it: this is a defect of Penstock or of MPI";
  text += "some of the other nodes' " + ranks_text(others);
  return missed.kind == CallKind::wait ? text + progress_text() : text;
}

/// If the ranks do not know each other yet: what those of this node show (presence.hpp).
struct FirstOpening {
  std::vector<int> here, missing;        // communicator ranks
  std::map<int, presence::Seen> others;  // missing ones that show something, by rank
  bool first = true;

  explicit FirstOpening(const InCall& in) {
    std::map<int, presence::Seen> seen;  // by MPI_COMM_WORLD rank
    for (presence::Seen& one : presence::look_around()) seen[one.world_rank] = std::move(one);
    const std::vector<int> world_ranks = in.comm().world_ranks();
    for (int rank = 0; rank < in.comm().size(); ++rank) {
      const auto found = seen.find(world_ranks[static_cast<std::size_t>(rank)]);
      const bool is_here = found != seen.end() && found->second.opens == in.path();
      (is_here || rank == in.comm().rank() ? here : missing).push_back(rank);
      if (found != seen.end() && !is_here) others[rank] = found->second;
    }
    first = here.front() == in.comm().rank();
  }

  std::string text() const {
    std::string text = "; in the same call: " + ranks_text(here) + "; not seen in it: ";
    std::vector<int> unknown;
    for (const int rank : missing) {
      const auto found = others.find(rank);
      if (found == others.end()) {
        unknown.push_back(rank);
        continue;
      }
      const presence::Seen& seen = found->second;
      text += "rank " + std::to_string(rank) + " (";
      if (!seen.opens.empty()) text += "opens '" + seen.opens + "'), ";
      else if (seen.refused) text += "was refused to open a file without a communicator), ";
      else text += "opens no file of this communicator), ";
    }
    if (unknown.empty()) return text.substr(0, text.size() - 2);
    return text + ranks_text(unknown) + (unknown.size() == 1 ? " (it has" : " (they have") +
           " opened no file yet, or cannot be seen from this node)";
  }
};

std::string slow_text(Team& team, const std::vector<int>& slow) {
  std::string text;
  for (const int local_rank : slow)
    text += "; rank " + std::to_string(team.members()[static_cast<std::size_t>(local_rank)]) +
            " is " + access_text(team.mailbox(local_rank).access.look());
  return text;
}

void say(const InCall& in, std::chrono::nanoseconds waited, const std::string& rest, bool ends) {
  std::fprintf(stderr, "penstock: rank %d has waited for %s in %s of '%s'%s%s\n", in.comm().rank(),
               seconds_text(waited).c_str(), in.call().text().c_str(), in.path().c_str(),
               rest.c_str(), ends ? "" : ". It keeps waiting");
}

/// For a call of this rank alone.
WaitsFor report_awaited(const InCall& in, std::chrono::nanoseconds waited) {
  const std::string whom = in.awaited()();
  if (whom.empty()) return WaitsFor::work;  // for its own storage
  say(in, waited, " for " + whom, Patience::get().raises);
  return WaitsFor::ranks;
}

}  // namespace

std::string who_has_pending(BufferedFile& file, Extent range) {
  std::string text;
  for (const BufferedFile::Elsewhere& other : file.pending_elsewhere(range)) {
    const Extent pending = other.hull->get();
    text += (text.empty() ? "rank " : ", rank ") + std::to_string(other.rank) + " (process " +
            std::to_string(other.process) + (has_ended(other.process) ? ", which has ended" : "") +
            "), which has bytes " + std::to_string(pending.begin) + " to " +
            std::to_string(pending.end) + " in its active buffer";
  }
  return text;
}

void show_waiting(bool waits) noexcept {
  const InCall* const in = InCall::current();
  if (in == nullptr || in->comm().team() == nullptr) return;
  in->comm().team()->own_mailbox().waiting.store(waits ? 1 : 0);
}

bool has_ended(std::int64_t process) noexcept {
  char path[48], text[512];
  std::snprintf(path, sizeof path, "/proc/%lld/stat", static_cast<long long>(process));
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return errno == ENOENT || errno == ESRCH;
  text[std::fread(text, 1, sizeof text - 1, file)] = '\0';
  std::fclose(file);
  const char* const name_end = std::strrchr(text, ')');  // a name may have any characters
  return name_end != nullptr && (name_end[1] == '\0' || name_end[2] == 'Z' || name_end[2] == 'X');
}

WaitsFor report_whereabouts(std::chrono::nanoseconds waited, bool storage_reported) {
  constexpr int most_to_speak = 16;
  const bool ends = Patience::get().raises;
  const InCall* const in = InCall::current();
  if (in == nullptr) return WaitsFor::ranks;
  if (in->awaited()) return report_awaited(*in, waited);
  Team* const team = in->comm().team();
  if (team == nullptr) {
    if (in->comm().handle() == MPI_COMM_NULL) {
      const FirstOpening opening(*in);
      if (opening.first) say(*in, waited, opening.text(), ends);
    } else if (in->comm().rank() < most_to_speak) {
      say(*in, waited, "; all ranks of its communicator must make this call, and some have not yet",
          ends);
    }
    return WaitsFor::ranks;
  }
  const Neighbourhood neighbours(*team, in->call());
  const std::string here = "; in the same call: " + ranks_text(neighbours.here);
  if (neighbours.missing.empty() && !neighbours.slow.empty()) {
    if (neighbours.first && !storage_reported)
      say(*in, waited, here + slow_text(*team, neighbours.slow), false);
    return WaitsFor::slow_storage;
  }
  if (neighbours.missing.empty() && neighbours.somebody_works) return WaitsFor::work;
  if (neighbours.first) say(*in, waited, here + missing_text(*team, neighbours), ends);
  return WaitsFor::ranks;
}

bool report_permit_holders(Team& team, int most, std::chrono::nanoseconds waited) noexcept {
  const Patience& patience = Patience::get();
  if (patience.limit.count() == 0 || waited < patience.limit) return false;
  std::string holders;
  static_cast<void>(attempt([&] {
    for (int local_rank = 0; local_rank < team.size(); ++local_rank) {
      const Team::Mailbox& mailbox = team.mailbox(local_rank);
      if (mailbox.permits.load() == 0) continue;
      const ShownAccess::Sight access = mailbox.access.look();
      holders += "; rank " + std::to_string(team.members()[static_cast<std::size_t>(local_rank)]) +
                 " has one" + (access.under_way ? ", " + access_text(access) : "");
    }
  }));
  std::fprintf(stderr,
               "penstock: rank %d has waited for %lld s for a permit to access the file (the hint "
               "writers: %d at a time)%s. It keeps waiting\n",
               team.own_member(), static_cast<long long>(waited.count() / 1'000'000'000), most,
               holders.c_str());
  return true;
}

void give_up(std::chrono::nanoseconds waited, bool may_throw) {
  const InCall* const in = InCall::current();
  const std::string where =
      in == nullptr ? std::string() : " in " + in->call().text() + " of '" + in->path() + "'";
  const std::string text = "waited for " + seconds_text(waited) + where +
                           " for ranks that did not come, and PENSTOCK_PATIENCE asks for an error";
  if (!may_throw) {
    std::fprintf(stderr, "penstock: %s; the program ends\n", text.c_str());
    MPI_Abort(in != nullptr ? in->comm().handle() : MPI_COMM_WORLD, 1);
    std::abort();
  }
  if (in != nullptr) in->comm().break_off();
  throw Error(ErrorClass::state, text + "; the file cannot be used any more");
}

}  // namespace penstock
