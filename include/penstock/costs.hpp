// What things cost on a machine: the constants of the cost model (docs/DESIGN.md).
#pragma once

#include <string>

#include <penstock/export.hpp>
#include <penstock/file_system.hpp>
#include <penstock/hints.hpp>

namespace penstock {

/// In seconds. As they stand: measured on a 2-core virtual machine with the page cache of ext4.
struct PENSTOCK_EXPORT Costs {
  double call = 1.5e-6;            ///< one storage call
  double contended_call = 6e-6;    ///< the same where several ranks write one file: they queue up
  double storage_byte = 1 / 7e9;   ///< between memory and page cache, or of a device's bandwidth
  double copy_byte = 1 / 9e9;      ///< between user memory and staging buffer
  double run = 6e-9;               ///< beginning a run, in copies
  double mapped_byte = 1 / 9e9;    ///< between a mapped file and user memory
  double fault = 0.25e-6;          ///< beginning another 64 KiB of a mapped file
  double message = 12e-6;          ///< one message and its completion
  double message_between = 60e-6;  ///< the same between nodes (TCP)
  double message_byte = 1 / 4e9;   ///< what is copied on the way
  double hand_over = 15e-6;        ///< a window from one rank to the next, where they share memory
  double synchronisation = 20e-6;  ///< all ranks of a node meet, per rank and core

  bool page_cache = true;   ///< else the bytes of all ranks of a node share a device's bandwidth
  bool maps_files = false;  ///< reads that the page cache serves copy out of the mapped file
  bool measured = false;    ///< copy_byte, run and storage_byte of the page cache: on this machine
  bool device_tells = false;  ///< call and storage_byte: a modelled device tells them

  /// Of the page cache, or of some device, on a machine that nobody has measured.
  static Costs assumed(bool page_cache);
  /// With copies as they were measured; the page cache is memory, too.
  Costs with_copies(double measured_copy_byte, double measured_run) const;
  /// The constants, and where they come from.
  std::string to_text() const;
  friend bool operator==(const Costs&, const Costs&) = default;
};

/// Of this machine: copies are measured once in a process, which takes some milliseconds. The hints
/// say which storage it is, and what a modelled device (device="paced:...") tells of itself; facts
/// of the file system, what it can do.
PENSTOCK_EXPORT Costs find_costs(const Hints& hints);
PENSTOCK_EXPORT Costs find_costs(const Hints& hints, const FileSystemFacts& facts);

}  // namespace penstock
