// Agreement: the single entry and the single exit of every collective call.
//
// Entry: one small reduction joins the ranks' demands, compares the calls that the ranks are in and
// what all ranks must pass alike, and finds out whether some rank already failed. Exit: one
// reduction of the error state. Either way all ranks leave with the same error class, and with the
// words of the rank that failed first (the lowest of the gravest class).
//
// Which call a rank is in, its channel says. Ranks in different calls find out in the first
// reduction, since each call begins with one and all reductions are alike: then all throw
// Error(disagreement), and no rank has done anything.
#pragma once

#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <penstock/error.hpp>

#include "base/task.hpp"
#include "mpi/channel.hpp"
#include "pattern/demand.hpp"

namespace penstock {

/// Something that every rank must pass alike, as text.
struct Common {
  std::string name;
  std::string value;
};

/// What a rank brings to the entry of a call.
struct Entry {
  const std::vector<Common>& common;  // any number; all ranks pass the same names
  Demand demand = {};
  std::optional<Error> error = std::nullopt;
  FreeLanes lanes = {};  // where a file is opened
};

// What these take by reference must stay until they are over.

/// Throws on all ranks if they are in different calls, if one of them brings an error, or if a
/// common value differs. The demands of all ranks joined.
Task<Demand> agree_on_entry(const Channel& channel, const Entry& entry);
/// The same where ranks open a file: the lanes that are free on all of them.
Task<FreeLanes> agree_on_opening(const Channel& channel, const Entry& entry);
/// Throws on all ranks if one of them brings an error.
Task<> agree_on_exit(const Channel& channel, const std::optional<Error>& error);
/// The same; else all have rank 0's text then, of any length.
Task<> agree_and_tell(const Channel& channel, const std::optional<Error>& error, std::string& text);

/// Whether it is true of some rank. Collective.
Task<bool> any_rank(const Channel& channel, bool here);

/// Those of `root` reach all ranks. Collective.
Task<> broadcast(const Channel& channel, std::span<std::byte> bytes, int root);

/// The exception being handled, as an Error.
Error current_error();

/// Runs `work` and keeps what it throws: a rank that fails must still reach the next agreement.
template <class Work>
std::optional<Error> attempt(Work&& work) {
  try {
    work();
    return std::nullopt;
  } catch (...) {
    return current_error();
  }
}

}  // namespace penstock
