// Agreement: the single entry and the single exit of every collective call.
//
// Entry: one small reduction joins the ranks' demands, compares the calls that the ranks are in and
// what all ranks must pass alike, and finds out whether some rank already failed. Exit: one
// reduction of the error state. Either way all ranks leave with the same error class, and with the
// words of the rank that failed first (the lowest of the gravest class).
//
// Which call a rank is in, InCall (call.hpp) says. Ranks in different calls find out in the first
// reduction, since each call begins with one and all reductions are alike:
//   1. Some wait for an operation that the others have begun and not ended, too: the others end it
//      first (agree_on_entry returns nothing there), and all meet once more.
//   2. Else all throw Error(disagreement), and no rank has done anything.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <penstock/error.hpp>

#include "mpi/communicator.hpp"
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
  std::int64_t oldest = 0;  // call that began the oldest operation whose end is to come; 0: none
  FreeLanes lanes = {};     // where a file is opened
};

/// Throws on all ranks if they are in different calls, if one of them brings an error, or if a
/// common value differs. Returns the demands of all ranks joined. Nothing: another rank waits for
/// the operation `oldest`; end that, and enter again.
std::optional<Demand> agree_on_entry(const Communicator& comm, const Entry& entry);
/// The same where ranks open a file; returns the lanes that are free on all of them.
FreeLanes agree_on_opening(const Communicator& comm, const Entry& entry);
/// Throws on all ranks if one of them brings an error.
void agree_on_exit(const Communicator& comm, const std::optional<Error>& error);
/// The same; else all have rank 0's text then, of any length.
void agree_and_tell(const Communicator& comm, const std::optional<Error>& error, std::string& text);

/// Whether it is true of some rank. Collective.
bool any_rank(const Communicator& comm, bool here);

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
