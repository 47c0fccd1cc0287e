// Agreement: every collective call begins with one on entry and ends with one on exit.
//
// Entry: one small reduction joins the ranks' demands, compares the calls that the ranks are in and
// what all ranks must pass alike, and finds out whether some rank already has an error. Exit: one
// reduction of the error state. Either way all ranks leave with the same error class, and with the
// message of the rank that failed first (the lowest of the gravest class).
//
// A rank's channel identifies its call. Each call begins with a reduction, and all reductions are
// alike, so ranks in different calls detect it in the first one: then all throw
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

/// A value that every rank must pass alike, as text.
struct Common {
  std::string name;
  std::string value;
};

/// A rank's contribution to the agreement on entry.
struct Entry {
  const std::vector<Common>& common;  // any number; all ranks pass the same names
  Demand demand = {};
  std::optional<Error> error = std::nullopt;
  FreeEndpoints endpoints = {};  // for opening a file
};

// Arguments passed by reference must stay valid until the task has ended.

/// Throws on all ranks if they are in different calls, if one of them passes an error, or if a
/// common value differs. Returns the joined demands of all ranks.
Task<Demand> agree_on_entry(const Channel& channel, const Entry& entry);
/// The same for opening a file: returns the endpoints that are free on all ranks.
Task<FreeEndpoints> agree_on_opening(const Channel& channel, const Entry& entry);
/// Throws on all ranks if one of them passes an error.
Task<> agree_on_exit(const Channel& channel, const std::optional<Error>& error);
/// The same; otherwise all ranks get rank 0's text, of any length.
Task<> agree_and_share(const Channel& channel, const std::optional<Error>& error,
                       std::string& text);

/// Whether it is true on some rank. Collective.
Task<bool> any_rank(const Channel& channel, bool here);

/// Sends the bytes of `root` to all ranks. Collective.
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
