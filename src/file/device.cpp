#include "file/device.hpp"

#include "mpi/agree.hpp"
#include "mpi/drive.hpp"
#include "mpi/segment.hpp"
#include "storage/fault.hpp"

namespace penstock {
namespace {

constexpr std::string_view paced = "paced:", fault = "fault:";

/// The devices of the text, which are joined by "+". A "+" before "=" is part of a fault ("3+=EIO")
/// and joins nothing.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t plus = text.find('+'); plus != std::string_view::npos;
       plus = text.find('+', plus + 1)) {
    if (text.substr(plus + 1).starts_with('=')) continue;
    parts.push_back(text.substr(begin, plus - begin));
    begin = plus + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

[[noreturn]] void fail(std::string_view part, std::string_view text) {
  std::string message = "device '" + std::string(part) + "'";
  if (part != text) message += " in '" + std::string(text) + "'";
  throw Error(ErrorClass::argument,
              message + " is not known; known are paced:... and fault:..., joined by + where " +
                  "there are several (see docs/hints.md)");
}

/// The rank's part of the segment lives as long as the clock is in use.
std::shared_ptr<PaceClock> clock_in(SharedSegment segment) {
  const auto memory = std::make_shared<SharedSegment>(std::move(segment));
  return {memory, reinterpret_cast<PaceClock*>(memory->data())};
}

}  // namespace

Device Device::parse(std::string_view text) {
  Device device;
  if (text.empty()) return device;
  for (const std::string_view part : split(text)) {
    if (part.starts_with(fault)) {
      device.faults.emplace_back(part.substr(fault.size()));
      check_faults(device.faults.back());
    } else if (!part.starts_with(paced)) {
      fail(part, text);
    } else if (device.pace) {
      throw Error(ErrorClass::argument,
                  "device '" + std::string(text) + "' is paced twice; it has one pace");
    } else {
      device.pace = Pace::parse(part.substr(paced.size()));
    }
  }
  return device;
}

std::string Device::common_part(std::string_view text) {
  for (const std::string_view part : split(text))
    if (part.starts_with(paced)) return std::string(part);
  return "";
}

std::unique_ptr<Storage> Device::stack(std::unique_ptr<Storage> inner,
                                       std::shared_ptr<PaceClock> clock, int rank) const {
  for (const std::string& spec : faults) inner = inject_faults(std::move(inner), spec, rank);
  if (!pace) return inner;
  return keep_pace(std::move(inner), *pace, std::move(clock), rank);
}

/// A modelled device belongs to its file, so the file has a queue of its own. Writes through the
/// page cache and past it have different queues: the former need a core, the latter wait for the
/// disk.
QueueKey Device::queue_key(const FileId& file, const Hints& hints) const noexcept {
  const bool modelled = pace || !faults.empty();
  return {file.device, modelled ? file.inode : 0, is_page_cache(asks_past_page_cache(hints))};
}

std::shared_ptr<PaceClock> share_clock(const Channel& channel) {
  const Communicator& comm = channel.comm;
  if (comm.alone()) return std::make_shared<PaceClock>();
  std::string why = comm.why_no_team();
  SharedSegment segment;
  const std::optional<Error> failed = attempt([&] {
    if (comm.team() != nullptr)
      segment = drive(comm, comm.team()->share(channel.slot(), sizeof(PaceClock), why));
  });
  std::optional<Error> error = failed;
  if (!error && !segment)
    error.emplace("device paced: ranks of a machine cannot share memory, for its clock: " + why, "",
                  -1, 0);
  drive(comm, agree_on_exit(channel, error));
  return clock_in(std::move(segment));
}

bool asks_past_page_cache(const Hints& hints) noexcept {
  return hints.storage == StorageKind::direct || hints.storage == StorageKind::uring_direct;
}

bool past_page_cache(const Hints& hints, const FileSystemFacts& facts) noexcept {
  return facts.direct_alignment != 0 && asks_past_page_cache(hints);
}

std::string describe_device(const Hints& hints, const FileSystemFacts& facts) {
  const Device device = Device::parse(hints.device.value());
  std::string text = past_page_cache(hints, facts) ? "O_DIRECT"
                     : facts.whole_pages           ? "page cache, forgotten and synced"
                     : facts.several_caches        ? "past the page cache"
                                                   : "page cache";
  if (device.pace) text = "paced: " + device.pace->text() + " (" + text + ")";
  if (!device.faults.empty()) text += ", with faults on purpose";
  return text;
}

}  // namespace penstock
