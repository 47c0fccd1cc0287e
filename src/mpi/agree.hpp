// Agreement: the single entry and the single exit of every collective call.
//
// Entry: one small reduction joins the ranks' demands, compares what all ranks must pass alike
// and finds out whether some rank already failed. Exit: one reduction of the error state.
// Either way all ranks leave with the same error class, and with the words of the rank that
// failed first (the lowest of the gravest class).
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <penstock/error.hpp>

#include "access/demand.hpp"
#include "mpi/communicator.hpp"

namespace penstock {

/// Something that every rank must pass alike, as text.
struct Common {
  std::string name;
  std::string value;
  std::size_t hash = std::hash<std::string>{}(value);
};

/// Throws on all ranks if one of them brings an error, or if a common value differs. Returns the
/// demands of all ranks joined. At most 20 values; all ranks pass as many, in the same order.
Demand agree_on_entry(const Communicator& comm, const std::vector<Common>& common,
                      const Demand& demand, const std::optional<Error>& error);
/// Throws on all ranks if one of them brings an error.
void agree_on_exit(const Communicator& comm, const std::optional<Error>& error);

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
