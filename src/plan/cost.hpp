// The cost model: what each way of carrying out a request would take on this machine, roughly. Its
// purpose is the order of the alternatives, not the last ten per cent. docs/DESIGN.md explains it.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace penstock {

/// What things cost, in seconds. Measured on a 2-core virtual machine with the page cache of ext4;
/// other machines differ by factors that are much alike for all terms.
struct Costs {
  double call = 1.5e-6;            // one storage call
  double contended_call = 6e-6;    // the same where several ranks write one file: they queue up
  double storage_byte = 1 / 7e9;   // between memory and page cache; writes of a node go one by one
  double copy_byte = 1 / 9e9;      // between user memory and staging buffer
  double run = 6e-9;               // beginning a run, in copies
  double message = 12e-6;          // one message and its completion
  double message_byte = 1 / 4e9;   // what is copied on the way
  double hand_over = 15e-6;        // a window from one rank to the next, where they share memory
  double synchronisation = 20e-6;  // all ranks of a node meet, per rank and core

  static Costs of(const Machine& machine);
};

struct Prediction {
  Method method;
  Exchange exchange;  // of a collective method
  double seconds;
  bool eligible;     // whether auto may choose it
  std::string note;  // why not, or what it costs most
};

/// One entry per method, and for `extended` one per exchange that auto considers. `writes`: else a
/// read.
std::vector<Prediction> predict(const FileUnits& units, const Demand& demand, const Hints& hints,
                                const Machine& machine, bool writes);

}  // namespace penstock
