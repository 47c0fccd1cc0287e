#include "mpi/agree.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

#include "mpi/ballot.hpp"

namespace penstock {
namespace {

/// Set in Ballot::call beside the call: a rank that leaves never meets one that enters unnoticed.
constexpr std::int64_t leaving = std::int64_t{1} << 62;

Ballot ballot_of(const Communicator& comm, const std::optional<Error>& error) {
  Ballot ballot;
  ballot.first_rank = comm.rank();
  if (const InCall* const in = InCall::current()) ballot.call = in->call().code();
  if (error) {
    ballot.error_class = static_cast<std::int64_t>(error->error_class());
    ballot.error_rank = comm.rank();
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

/// Of any length, from one rank to all.
std::string shared_text(const Communicator& comm, int root, const std::string& text) {
  auto size = static_cast<std::int64_t>(text.size());
  comm.broadcast(std::as_writable_bytes(std::span(&size, 1)), root);
  std::string shared = comm.rank() == root ? text : std::string();
  shared.resize(static_cast<std::size_t>(size));
  if (size > 0) comm.broadcast(std::as_writable_bytes(std::span(shared)), root);
  return shared;
}

/// The same on every rank, the failing one included: people compare outputs of ranks.
[[noreturn]] void throw_everywhere(const Communicator& comm, int rank,
                                   const std::optional<Error>& own) {
  const bool mine = comm.rank() == rank && own;
  std::array<std::int64_t, 3> numbers{};
  if (mine)
    numbers = {own->offset(), static_cast<std::int64_t>(own->error_class()), own->error_number()};
  comm.broadcast(std::as_writable_bytes(std::span(numbers)), rank);
  const std::string path = shared_text(comm, rank, mine ? own->path() : "");
  std::string message = shared_text(comm, rank, mine ? own->what() : "");
  if (!comm.alone()) message = "rank " + std::to_string(rank) + ": " + message;
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

[[noreturn]] void throw_other_value(const Communicator& comm, const std::vector<Common>& mine,
                                    int rank) {
  const std::vector<Common> first = unpacked(shared_text(comm, 0, packed(mine)));
  const std::vector<Common> other = unpacked(shared_text(comm, rank, packed(mine)));
  std::size_t i = 0;
  while (i + 1 < std::min(first.size(), other.size()) && first[i].value == other[i].value) ++i;
  throw Error::from_rank(rank, ErrorClass::disagreement,
                         "ranks disagree on " + first[i].name + ": rank 0 passed " +
                             first[i].value + ", rank " + std::to_string(rank) + " passed " +
                             other[i].value + "; all ranks of the communicator must pass the same",
                         "", -1, 0);
}

[[noreturn]] void throw_other_call(const Ballot& all) {
  const auto text = [](std::int64_t call) {
    return ((call & leaving) != 0 ? "the end of " : "") + Call::from_code(call & ~leaving).text();
  };
  const std::string rank = std::to_string(all.other_call_at);
  const InCall* const in = InCall::current();
  throw Error::from_rank(
      static_cast<int>(all.other_call_at), ErrorClass::disagreement,
      "ranks disagree on the operation: rank 0 is in " + text(all.call) + ", rank " + rank +
          " in " + text(all.other_call) +
          "; nothing was done. All ranks must make the same calls of a file in the same order",
      in != nullptr ? in->path() : "", -1, 0);
}

/// Those who wait meet the others again, once these have ended the same operation.
bool all_can_end(const Ballot& all) {
  return all.waits_for != Ballot::nobody && all.oldest_low == all.waits_for &&
         all.oldest_high == all.waits_for;
}

std::optional<Ballot> agree(const Communicator& comm, const Entry& entry) {
  Ballot mine = ballot_of(comm, entry.error);
  const Call call = Call::from_code(mine.call);
  mine.demand = entry.demand;
  mine.common = hash_of(entry.common);
  mine.oldest_low = mine.oldest_high = entry.oldest;
  mine.lanes = entry.lanes;
  if (call.kind == CallKind::wait) mine.waits_for = call.number;
  Ballot all = reduce(comm, mine);
  while (all.other_call_at >= 0) {
    if (!all_can_end(all)) throw_other_call(all);
    if (call.kind != CallKind::wait) return std::nullopt;
    all = reduce(comm, mine);
  }
  // An error first: a rank that failed early may not know its common values.
  if (all.error_class != 0) throw_everywhere(comm, static_cast<int>(all.error_rank), entry.error);
  if (all.other_common_at >= 0)
    throw_other_value(comm, entry.common, static_cast<int>(all.other_common_at));
  return all;
}

Ballot reduce_inside(const Communicator& comm, Ballot mine, std::span<std::byte> aboard = {}) {
  mine.call |= leaving;
  const Ballot all = reduce(comm, mine, aboard);
  if (all.other_call_at >= 0) throw_other_call(all);
  return all;
}

}  // namespace

std::optional<Demand> agree_on_entry(const Communicator& comm, const Entry& entry) {
  const std::optional<Ballot> all = agree(comm, entry);
  return all ? std::optional(all->demand) : std::nullopt;
}

/// Nobody waits for the end of an operation there: the ranks agree, or it throws.
FreeLanes agree_on_opening(const Communicator& comm, const Entry& entry) {
  return agree(comm, entry).value().lanes;
}

void agree_on_exit(const Communicator& comm, const std::optional<Error>& error) {
  const Ballot all = reduce_inside(comm, ballot_of(comm, error));
  if (all.error_class != 0) throw_everywhere(comm, static_cast<int>(all.error_rank), error);
}

void agree_and_tell(const Communicator& comm, const std::optional<Error>& error,
                    std::string& text) {
  // Its size, and as much of it as can travel along.
  std::array<std::byte, most_aboard> aboard{};
  std::uint64_t size = text.size();
  constexpr std::size_t room = most_aboard - sizeof size;
  std::memcpy(aboard.data(), &size, sizeof size);
  std::memcpy(aboard.data() + sizeof size, text.data(), std::min(text.size(), room));
  const Ballot all = reduce_inside(comm, ballot_of(comm, error), aboard);
  if (all.error_class != 0) throw_everywhere(comm, static_cast<int>(all.error_rank), error);
  std::memcpy(&size, aboard.data(), sizeof size);
  text.resize(size);
  const std::size_t told = std::min<std::size_t>(size, room);
  std::memcpy(text.data(), aboard.data() + sizeof size, told);
  if (size > told) comm.broadcast(std::as_writable_bytes(std::span(text)).subspan(told), 0);
}

bool any_rank(const Communicator& comm, bool here) {
  Ballot mine = ballot_of(comm, std::nullopt);
  mine.demand.words = here ? 1 : 0;  // of which the largest survives
  return reduce_inside(comm, mine).demand.words != 0;
}

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorClass::internal, "out of memory");
  } catch (const std::exception& error) {
    return Error(ErrorClass::internal, std::string("unexpected: ") + error.what());
  } catch (...) {
    return Error(ErrorClass::internal, "unexpected exception");
  }
}

}  // namespace penstock
