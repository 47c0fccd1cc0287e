// TraceFile: a file of records of one process, mapped into its memory, so that records survive if
// the process is killed. docs/traces.md describes it for readers; in short:
//
//   offset 0      Header
//   4096          names: entries of what (16 bits: kind, file or lane), length (16 bits), number
//                 (32 bits) and text, each a multiple of 8 bytes; the first with length 0 is the
//                 end
//   65536         records
//
// All numbers are in the machine's byte order. The file grows by whole blocks, allocated before
// anything is written to them: a full disk ends the trace, but not the program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace penstock::trace {

/// Times are of the monotonic clock, in nanoseconds.
struct Record {
  std::uint64_t index = 0;  // among all of the process, including lost ones
  std::int64_t begin = 0, duration = 0;
  std::int64_t offset = -1;  // of the file; -1: none
  std::int64_t bytes = 0;
  std::int64_t operation = 0;
  std::uint16_t kind = 0;  // 0: no record
  std::uint16_t lane = 0;
  std::uint32_t file = 0;  // 0: none
  std::uint32_t check = 0, unused = 0;
};
static_assert(sizeof(Record) == 64);

/// Of all bytes but its own; detects incompletely written records.
std::uint32_t check_of(const Record& record) noexcept;

/// What happens to records once the limit is reached.
enum class WhenFull : std::uint32_t {
  newest,  // they replace the oldest: a ring buffer
  oldest,  // they are only counted
};

struct Header {
  static constexpr std::uint64_t magic_number = 0x3130454341525450;  // "PTRACE01"
  std::uint64_t magic = magic_number;
  std::uint32_t header_bytes = 65536, record_bytes = sizeof(Record);
  std::uint64_t capacity = 0;                // records at most
  std::atomic<std::uint64_t> recorded = 0;   // including lost ones
  std::int64_t monotonic = 0, realtime = 0;  // the same moment on two clocks
  std::atomic<std::int64_t> ended = 0;       // when the process ended regularly; 0: it has not
  std::atomic<std::int32_t> rank = -1, ranks = 0;  // in MPI_COMM_WORLD; -1: unknown
  std::int32_t pid = 0;
  WhenFull when_full = WhenFull::newest;
  std::atomic<std::int32_t> stopped = 0;  // an errno: no space for more
  std::int32_t unused = 0;
  char host[64] = {}, program[64] = {};
};
static_assert(sizeof(Header) <= 4096);

enum class Named : std::uint16_t { kind = 1, file = 2, lane = 3 };

class TraceFile {
 public:
  static constexpr std::int64_t block = 256 * 1024;
  static constexpr std::int64_t least_limit = 2 * block;

  /// `limit`: bytes of records, at least `least_limit`. Throws Error(storage).
  TraceFile(const std::string& path, std::int64_t limit, WhenFull when_full);
  TraceFile(const TraceFile&) = delete;
  ~TraceFile();

  /// Thread-safe. Sets the record's index and check.
  void add(Record& record) noexcept;
  /// False: there is no room for it. `room_left`: space that must remain for other names.
  bool name(Named what, std::uint32_t number, std::string_view text, std::size_t room_left = 0);
  Header& header() noexcept { return *header_; }
  const std::string& path() const noexcept { return path_; }

 private:
  bool reach(std::int64_t end) noexcept;

  std::string path_;
  int file_ = -1;
  std::size_t mapped_ = 0;
  std::byte* base_ = nullptr;
  Header* header_ = nullptr;
  std::uint64_t capacity_ = 0;
  bool wraps_ = true;
  std::atomic<std::int64_t> space_ = 0;  // bytes of records that are allocated in the file
  std::mutex growing_, naming_;
  std::size_t names_end_ = 4096;
};

}  // namespace penstock::trace
