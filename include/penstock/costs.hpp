// The cost of operations on a machine: the constants of the cost model (docs/DESIGN.md).
#pragma once

#include <string>

#include <penstock/export.hpp>
#include <penstock/file_system.hpp>
#include <penstock/hints.hpp>

namespace penstock {

/// In seconds. The defaults were measured on a 2-core virtual machine with the page cache of ext4.
struct PENSTOCK_EXPORT Costs {
  double call = 1.5e-6;            ///< one storage call
  double contended_call = 6e-6;    ///< the same if several ranks write one file, and queue up
  double storage_byte = 1 / 7e9;   ///< between memory and page cache, or from a device's bandwidth
  double copy_byte = 1 / 9e9;      ///< between user memory and staging buffer
  double run = 6e-9;               ///< beginning a run, in copies
  double mapped_byte = 1 / 9e9;    ///< between a mapped file and user memory
  double fault = 0.25e-6;          ///< first access to another 64 KiB of a mapped file
  double message = 12e-6;          ///< one message and its completion
  double message_between = 60e-6;  ///< the same between nodes (TCP)
  double message_byte = 1 / 4e9;   ///< for copies on the way
  double hand_over = 15e-6;        ///< of a window from one rank to the next in shared memory
  double synchronisation = 20e-6;  ///< all ranks of a node meet, per rank and core

  bool page_cache = true;   ///< otherwise the ranks of a node share a device's bandwidth
  bool maps_files = false;  ///< reads of cached data copy out of the mapped file
  /// copy_byte, run and storage_byte of the page cache were measured on this machine.
  bool measured = false;
  bool device_tells = false;  ///< call and storage_byte are those of a modelled device

  /// Defaults for the page cache, or for a device, on an unmeasured machine.
  static Costs assumed(bool page_cache);
  /// With measured costs of copies, also for the page cache.
  Costs with_copies(double measured_copy_byte, double measured_run) const;
  /// The constants, and their sources.
  std::string to_text() const;
  friend bool operator==(const Costs&, const Costs&) = default;
};

/// The costs on this machine: copies are measured once per process, which takes some milliseconds.
/// The hints give the kind of storage and the parameters of a modelled device (device="paced:...");
/// facts of the file system, its capabilities.
PENSTOCK_EXPORT Costs find_costs(const Hints& hints);
PENSTOCK_EXPORT Costs find_costs(const Hints& hints, const FileSystemFacts& facts);

}  // namespace penstock
