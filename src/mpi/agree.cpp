#include "mpi/agree.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

#include "mpi/ballot.hpp"
#include "mpi/over_nodes.hpp"

namespace penstock {
namespace {

/// Set in Ballot::call for an agreement that is not on entry of a call. If one rank is at the entry
/// of a call and another at its exit, their values differ, and both get an error.
constexpr std::int64_t leaving = std::int64_t{1} << 62;

Ballot ballot_of(const Channel& channel, const std::optional<Error>& error) {
  Ballot ballot;
  ballot.first_rank = channel.comm.rank();
  ballot.call = channel.call.code();
  if (error) {
    ballot.error_class = static_cast<std::int64_t>(error->error_class());
    ballot.error_rank = channel.comm.rank();
  }
  return ballot;
}

std::uint64_t hash_of(const std::vector<Common>& common) {
  std::uint64_t sum = common.size();
  for (const Common& one : common) {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15ULL;
    sum = (sum ^ std::hash<std::string>{}(one.value)) * odd;
    sum = (sum ^ sum >> 32) * odd;
  }
  return sum;
}

/// A text of any length, from one rank to all.
Task<std::string> shared_text(const Channel& channel, int root, std::string text) {
  auto size = static_cast<std::int64_t>(text.size());
  co_await broadcast(channel, std::as_writable_bytes(std::span(&size, 1)), root);
  text.resize(static_cast<std::size_t>(size));
  if (size > 0) co_await broadcast(channel, std::as_writable_bytes(std::span(text)), root);
  co_return text;
}

/// "'field.npy', write: ", for messages that say neither.
std::string place_of(const Channel& channel) {
  if (channel.path.empty()) return {};
  const bool known = channel.call.kind != CallKind::unknown;
  return "'" + channel.path + "'" + (known ? ", " + Call{channel.call.kind}.text() : "") + ": ";
}

/// The checker of an argument knows only the argument; the file and the call are added here.
std::string words_of(const Channel& channel, const Error& error) {
  const std::string words = error.what();
  const bool of_argument =
      error.error_class() == ErrorClass::argument || error.error_class() == ErrorClass::section;
  if (!of_argument || words.find("'" + channel.path + "'") != std::string::npos) return words;
  return place_of(channel) + words;
}

/// The same message on every rank, including the failing one: users compare outputs of ranks.
Task<> throw_everywhere(const Channel& channel, int rank, const std::optional<Error>& own) {
  const bool mine = channel.comm.rank() == rank && own;
  std::array<std::int64_t, 3> numbers{};
  if (mine)
    numbers = {own->offset(), static_cast<std::int64_t>(own->error_class()), own->error_number()};
  co_await broadcast(channel, std::as_writable_bytes(std::span(numbers)), rank);
  std::string path, message;
  if (mine) {
    path = own->path().empty() ? channel.path : own->path();
    message = words_of(channel, *own);
  }
  path = co_await shared_text(channel, rank, std::move(path));
  message = co_await shared_text(channel, rank, std::move(message));
  if (!channel.comm.alone()) message = "rank " + std::to_string(rank) + ": " + message;
  throw Error::from_rank(rank, static_cast<ErrorClass>(numbers[1]), message, path, numbers[0],
                         static_cast<int>(numbers[2]));
}

/// Names and values, each ended by a zero byte.
std::string packed(const std::vector<Common>& common) {
  std::string text;
  for (const Common& one : common) text.append(one.name + '\0').append(one.value + '\0');
  return text;
}

std::vector<Common> unpacked(const std::string& text) {
  std::vector<Common> common;
  std::size_t at = 0;
  const auto next = [&] {
    const std::size_t end = text.find('\0', at);
    const std::size_t begin = std::exchange(at, end + 1);
    return text.substr(begin, end - begin);
  };
  while (at < text.size()) {
    std::string name = next();
    common.push_back({std::move(name), next()});
  }
  return common;
}

Task<> throw_other_value(const Channel& channel, const std::vector<Common>& mine, int rank) {
  const std::vector<Common> first = unpacked(co_await shared_text(channel, 0, packed(mine)));
  const std::vector<Common> other = unpacked(co_await shared_text(channel, rank, packed(mine)));
  std::size_t i = 0;
  while (i + 1 < std::min(first.size(), other.size()) && first[i].value == other[i].value) ++i;
  // If the paths differ, the message reports them.
  const std::string place = first[i].name == "path" ? "" : place_of(channel);
  throw Error::from_rank(rank, ErrorClass::disagreement,
                         place + "ranks disagree on " + first[i].name + ": rank 0 passed " +
                             first[i].value + ", rank " + std::to_string(rank) + " passed " +
                             other[i].value + "; all ranks of the communicator must pass the same",
                         place.empty() ? "" : channel.path, -1, 0);
}

[[noreturn]] void throw_other_call(const Channel& channel, const Ballot& all) {
  const auto text = [](std::int64_t call) {
    return ((call & leaving) != 0 ? "the end of " : "") + Call::from_code(call & ~leaving).text();
  };
  const auto opens = [](std::int64_t call) {
    return Call::from_code(call & ~leaving).kind == CallKind::open;
  };
  // A rank that opens a file may mean another one than a rank in a call.
  const bool one_file = !channel.path.empty() && !opens(all.call) && !opens(all.other_call);
  const std::string rank = std::to_string(all.other_call_at);
  throw Error::from_rank(
      static_cast<int>(all.other_call_at), ErrorClass::disagreement,
      (one_file ? "'" + channel.path + "': " : "") +
          "ranks disagree on the operation: rank 0 is in " + text(all.call) + ", rank " + rank +
          " in " + text(all.other_call) +
          "; nothing was done. All ranks must make the same calls of a file in the same order",
      channel.path, -1, 0);
}

Task<Ballot> agree(const Channel& channel, const Entry& entry) {
  Ballot all = ballot_of(channel, entry.error);
  all.demand = entry.demand;
  all.common = hash_of(entry.common);
  all.endpoints = entry.endpoints;
  if (!channel.comm.alone()) all = co_await reduce(channel, all);
  if (all.other_call_at >= 0) throw_other_call(channel, all);
  // Errors are handled before common values: a rank with an error may have no common values, which
  // must not be reported as a disagreement.
  if (all.error_class != 0)
    co_await throw_everywhere(channel, static_cast<int>(all.error_rank), entry.error);
  if (all.other_common_at >= 0)
    co_await throw_other_value(channel, entry.common, static_cast<int>(all.other_common_at));
  co_return all;
}

/// For reduce(), within a call.
Ballot inner_ballot_of(const Channel& channel, const std::optional<Error>& error) {
  Ballot ballot = ballot_of(channel, error);
  ballot.call |= leaving;
  return ballot;
}

}  // namespace

Task<Demand> agree_on_entry(const Channel& channel, const Entry& entry) {
  const Ballot all = co_await agree(channel, entry);
  co_return all.demand;
}

Task<FreeEndpoints> agree_on_opening(const Channel& channel, const Entry& entry) {
  const Ballot all = co_await agree(channel, entry);
  co_return all.endpoints;
}

Task<> agree_on_exit(const Channel& channel, const std::optional<Error>& error) {
  Ballot all = inner_ballot_of(channel, error);
  if (!channel.comm.alone()) all = co_await reduce(channel, all);
  if (all.other_call_at >= 0) throw_other_call(channel, all);
  if (all.error_class != 0)
    co_await throw_everywhere(channel, static_cast<int>(all.error_rank), error);
}

Task<> agree_and_share(const Channel& channel, const std::optional<Error>& error,
                       std::string& text) {
  // The ballot carries the text's size and as much of the text as fits; only a longer text needs a
  // broadcast.
  std::array<std::byte, most_aboard> aboard{};
  std::uint64_t size = text.size();
  constexpr std::size_t room = most_aboard - sizeof size;
  std::memcpy(aboard.data(), &size, sizeof size);
  std::memcpy(aboard.data() + sizeof size, text.data(), std::min(text.size(), room));
  const Ballot all = co_await reduce(channel, inner_ballot_of(channel, error), aboard);
  if (all.other_call_at >= 0) throw_other_call(channel, all);
  if (all.error_class != 0)
    co_await throw_everywhere(channel, static_cast<int>(all.error_rank), error);
  if (channel.comm.alone()) co_return;
  std::memcpy(&size, aboard.data(), sizeof size);
  text.resize(size);
  const std::size_t received = std::min<std::size_t>(size, room);
  std::memcpy(text.data(), aboard.data() + sizeof size, received);
  const std::span<std::byte> rest = std::as_writable_bytes(std::span(text)).subspan(received);
  if (!rest.empty()) co_await broadcast(channel, rest, 0);
}

Task<bool> any_rank(const Channel& channel, bool here) {
  Ballot mine = inner_ballot_of(channel, std::nullopt);
  mine.demand.words = here ? 1 : 0;  // joining demands takes the largest of all ranks
  const Ballot all = co_await reduce(channel, mine);
  if (all.other_call_at >= 0) throw_other_call(channel, all);
  co_return all.demand.words != 0;
}

namespace {

Task<> broadcast_in_teams(const Channel& channel, std::span<std::byte> part, int root) {
  Team& team = *channel.comm.team();
  const int slot = channel.slot();
  if (channel.comm.rank() == root) std::copy(part.begin(), part.end(), team.own_note(slot));
  const auto pass_on = [&]() -> Task<> {
    const std::span<std::byte> passed(team.result(slot), part.size());
    if (team.node_of(root) == team.node())
      std::copy_n(team.mailbox(team.local_rank_of(root)).note[slot], part.size(), passed.begin());
    co_await broadcast_over_nodes(channel, passed, root);
  };
  const bool met = co_await team.meet(slot, pass_on);
  if (!met) channel.comm.throw_gone(team.gone(), channel.path);
  std::copy_n(team.result(slot), part.size(), part.begin());
}

}  // namespace

Task<> broadcast(const Channel& channel, std::span<std::byte> bytes, int root) {
  if (channel.comm.alone()) co_return;
  if (channel.comm.team() == nullptr) {
    co_await broadcast_over_nodes(channel, bytes, root);
    co_return;
  }
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min<std::size_t>(bytes.size(), Team::note_bytes));
    co_await broadcast_in_teams(channel, part, root);
    bytes = bytes.subspan(part.size());
  }
}

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error("out of memory", {}, -1, ENOMEM);
  } catch (const std::exception& error) {
    return Error(ErrorClass::internal, std::string("unexpected: ") + error.what());
  } catch (...) {
    return Error(ErrorClass::internal, "unexpected exception");
  }
}

}  // namespace penstock
