#include "mpi/whereabouts.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <penstock/error.hpp>

#include "mpi/communicator.hpp"

namespace penstock {
namespace {

Patience read_patience() {
  Patience patience;
  const char* const text = std::getenv("PENSTOCK_PATIENCE");
  if (text == nullptr || *text == '\0') return patience;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  const std::string rest = end;
  if (end == text || !(seconds >= 0 && seconds < 1e9) || (!rest.empty() && rest != ",error")) {
    std::fprintf(stderr,
                 "penstock: PENSTOCK_PATIENCE='%s' is not understood: it is SECONDS or "
                 "SECONDS,error; going on with 10\n",
                 text);
    return patience;
  }
  patience.limit = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  patience.raises = !rest.empty();
  return patience;
}

/// Ended, and maybe not yet collected by its parent.
bool is_gone(std::int64_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(status, line)) return true;
  const std::size_t name_end = line.rfind(") ");
  return name_end != std::string::npos && (line[name_end + 2] == 'Z' || line[name_end + 2] == 'X');
}

std::string seconds_text(std::chrono::nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

/// "ranks 0-2, 5" of an ascending list.
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

/// For a rank of the node that is not in the call: what it does instead.
std::string excuse(Team& team, int local_rank, Call missed) {
  const Team::Mailbox& mailbox = team.mailbox(local_rank);
  const int rank = team.members()[static_cast<std::size_t>(local_rank)];
  const std::string who = "rank " + std::to_string(rank) + " (";
  if (is_gone(mailbox.process))
    return who + "its process " + std::to_string(mailbox.process) + " has ended)";
  if (const auto now = Call::from_code(mailbox.call.load()); now.kind != CallKind::none)
    return who + "is in " + now.text() + ")";
  const Call last = Call::from_code(mailbox.last_call.load());
  if (last.kind == CallKind::open_alone)
    return who + "was refused to open a file without a communicator)";
  // Where files are opened nothing is known of calls of files that are open.
  if (missed.kind == CallKind::open) return who + "opens no file of this communicator)";
  return who + "is in no call of this file; its last was " + last.text() + ")";
}

/// The ranks of this node, seen from one that waits.
struct Neighbourhood {
  std::vector<int> here, missing;  // ranks in the same call; local ranks of those that are not
  bool somebody_works = false;     // is in the call and does not wait
  bool first = true;               // no lower rank of the node waits in the call: this one reports

  Neighbourhood(Team& team, Call call) {
    for (int local_rank = 0; local_rank < team.size(); ++local_rank) {
      const Team::Mailbox& mailbox = team.mailbox(local_rank);
      if (mailbox.call.load() != call.code() || is_gone(mailbox.process)) {
        missing.push_back(local_rank);
        continue;
      }
      here.push_back(team.members()[static_cast<std::size_t>(local_rank)]);
      const bool waits = mailbox.waiting.load() != 0;
      somebody_works = somebody_works || !waits;
      first = first && (local_rank >= team.rank() || !waits);
    }
  }
};

std::string missing_text(Team& team, const Neighbourhood& neighbours) {
  std::string text = "; missing: ";
  for (std::size_t i = 0; i < neighbours.missing.size(); ++i)
    text += (i > 0 ? ", " : "") + excuse(team, neighbours.missing[i], InCall::current()->call());
  if (!neighbours.missing.empty()) return text;
  std::vector<int> others;
  const int ranks = static_cast<int>(InCall::current()->comm().size());
  for (int rank = 0; rank < ranks; ++rank)
    if (team.node_of(rank) != team.node()) others.push_back(rank);
  if (others.empty()) return "; all ranks are in it: this is a defect of Penstock or of MPI";
  return text + "some of the other nodes' " + ranks_text(others);
}

void say(const InCall& in, std::chrono::nanoseconds waited, const std::string& rest) {
  std::fprintf(stderr, "penstock: rank %d has waited for %s in %s of '%s'%s%s\n", in.comm().rank(),
               seconds_text(waited).c_str(), in.call().text().c_str(), in.path().c_str(),
               rest.c_str(), Patience::get().raises ? "" : ". It goes on waiting");
}

}  // namespace

const Patience& Patience::get() {
  static const Patience patience = read_patience();
  return patience;
}

void show_waiting(bool waits) noexcept {
  const InCall* const in = InCall::current();
  if (in == nullptr || in->comm().team() == nullptr) return;
  in->comm().team()->own_mailbox().waiting.store(waits ? 1 : 0);
}

bool tell_whereabouts(std::chrono::nanoseconds waited) {
  constexpr int most_to_speak = 16;
  const InCall* const in = InCall::current();
  if (in == nullptr) return true;
  Team* const team = in->comm().team();
  if (team == nullptr) {
    if (in->comm().rank() < most_to_speak)
      say(*in, waited, "; all ranks of its communicator must make this call, and some have not");
    return true;
  }
  const Neighbourhood neighbours(*team, in->call());
  if (neighbours.missing.empty() && neighbours.somebody_works) return false;
  if (neighbours.first)
    say(*in, waited,
        "; in the same call: " + ranks_text(neighbours.here) + missing_text(*team, neighbours));
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
