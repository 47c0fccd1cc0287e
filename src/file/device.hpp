// Device: what the hint `device` puts between the engine and the file.
//   device="" | "paced:..." | "fault:..." | several of them, joined by "+"
// Whatever the order in the text, the modelled device is outside and faults are inside: a request
// that fails takes its time, too. Faults may be repeated, each with a rank of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/file_system.hpp>
#include <penstock/hints.hpp>

#include "background/background_io.hpp"
#include "mpi/channel.hpp"
#include "storage/paced.hpp"

namespace penstock {

struct Device {
  std::optional<Pace> pace;
  std::vector<std::string> faults;

  /// Throws Error(argument) for a text that cannot be read.
  static Device parse(std::string_view text);
  /// The "paced:" part, which all ranks must pass alike since they share its clock; faults may
  /// differ. Empty if there is none. Never throws.
  static std::string common_part(std::string_view text);

  /// `inner` behind the device. `clock` is needed if the device is modelled.
  std::unique_ptr<Storage> stack(std::unique_ptr<Storage> inner, std::shared_ptr<PaceClock> clock,
                                 int rank) const;

  /// Whether accesses are planned as for a page cache. A modelled device needs page_cache=1 for
  /// that: otherwise they are planned as for a disk, large and from all ranks at a time.
  bool is_page_cache(bool past_page_cache) const noexcept {
    return !past_page_cache && (!pace || pace->page_cache);
  }

  /// The background queue for a file behind this device.
  QueueKey queue_key(const FileId& file, const Hints& hints) const noexcept;
};

/// A new clock shared by all ranks of a machine, whatever the teams of their file: it has one disk.
/// Collective, while opening. Throws on all ranks if memory cannot be shared.
std::shared_ptr<PaceClock> share_clock(const Channel& channel);

bool asks_past_page_cache(const Hints& hints) noexcept;
/// Whether storage calls bypass the page cache: asked for, and supported by the file system.
bool past_page_cache(const Hints& hints, const FileSystemFacts& facts) noexcept;

/// For messages: "page cache", "O_DIRECT", "paced: 100 MiB/s shared, 1 ms a request (page cache)".
std::string describe_device(const Hints& hints, const FileSystemFacts& facts);

}  // namespace penstock
