// Settings of a file and of single calls. Parsed once, checked once; no process-wide state.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/export.hpp>

namespace penstock {

/// How a read or write is carried out; all give byte-identical files.
enum class Method {
  automatic,  ///< chosen from the request
  direct,     ///< each rank seeks and moves every run of its own
  sieved,     ///< each rank on its own, by data sieving
  gather,     ///< everything through rank 0 (the Chameleon way)
  two_phase,  ///< static file domains over the whole array
  extended,   ///< dynamic file domains over the bounding section
};

/// How the bytes of one round get from the ranks to the aggregators and back. step1 to step5 are
/// those of Dickens & Thakur, *Evaluation of Collective I/O Implementations on Parallel
/// Architectures*, section 3.3; they differ in nothing but the exchange.
enum class Exchange {
  automatic,  ///< chosen from the request and the machine
  step1,      ///< blocking sends and receives in the order of a ring, copies byte by byte
  step2,      ///< step1 with memcpy
  step3,      ///< posts all sends, then all receives; completes them in any order
  step4,      ///< posts all receives, then all sends
  step5,      ///< posts all receives; blocking sends from a single buffer
  sparse,     ///< non-blocking messages between those who have something for each other
  alltoallw,  ///< one MPI_Ialltoallw of all ranks per round
  node,       ///< through memory that the ranks of a node share; one message per node beyond
};

/// How file domains are cut.
enum class DomainRule {
  automatic,     ///< what the method's name says
  static_,       ///< equal blocks of the whole array
  dynamic,       ///< equal blocks of the bounding section
  block_cyclic,  ///< blocks of `stripe_size` dealt in turn
  aligned,       ///< equal blocks with bounds at multiples of `stripe_size` in the file
};

/// Whether a write may read a range with holes, overlay the new bytes and write it back.
enum class SieveWrites { automatic, always, never };

/// Whether writes take byte-range locks, so that read-modify-write of one group of processes and
/// the writes of another cannot undo each other.
enum class Locks { automatic, never };

/// Whether one round is exchanged while the one before is at the storage.
enum class Pipeline {
  automatic,  ///< yes, with the storage calls in a thread where windows are large enough for one
  always,     ///< yes, always with a thread
  never,      ///< one round after the other, with all of the buffer
};

/// How the file is accessed. Chosen at open, for the file as a whole.
enum class StorageKind {
  automatic,     ///< posix, and reads may copy out of the mapped file
  posix,         ///< through the page cache, by calls alone
  direct,        ///< O_DIRECT, past the page cache; any alignment of requests
  uring,         ///< io_uring, through the page cache
  uring_direct,  ///< io_uring and O_DIRECT
};

/// How the threads that do I/O in the background run.
struct IoThread {
  enum class Policy {
    automatic,  ///< batch where the program's threads are other
    other,      ///< SCHED_OTHER
    batch,      ///< SCHED_BATCH
  };
  Policy policy = Policy::automatic;
  int nice = 0;   ///< added to the program's, 0 to 19
  int core = -1;  ///< the one that they are bound to; -1: any
  friend bool operator==(const IoThread&, const IoThread&) = default;
};

/// Settings of a file, and of single calls. What each does says the table of hints
/// (describe_hints(), docs/hints.md); here stand units and the values that mean "auto".
struct Hints {
  Method method = Method::automatic;
  DomainRule domains = DomainRule::automatic;
  std::int64_t aggregators = 0;  ///< ranks; 0: auto
  std::int64_t buffer_size = 0;  ///< bytes; 0: auto
  std::int64_t stripe_size = 0;  ///< bytes; 0: that of the file system, else the buffer size
  SieveWrites sieve_writes = SieveWrites::automatic;
  Locks locks = Locks::automatic;
  Exchange exchange = Exchange::automatic;
  Pipeline pipeline = Pipeline::automatic;
  StorageKind storage = StorageKind::automatic;
  std::int64_t io_depth = 8;                                 ///< pieces of an access, 1 to 1024
  std::int64_t ranks_per_node = 0;                           ///< ranks; 0: auto
  std::int64_t writers = 0;                                  ///< ranks; 0: auto
  std::int64_t stagger = 0;                                  ///< microseconds
  std::int64_t active_buffer_size = std::int64_t{64} << 20;  ///< bytes
  IoThread io_thread;
  std::string device;  ///< "", "paced:...", "fault:..."

  /// From text, as it comes from a user: {"buffer_size": "16M", "aggregators": "4"}.
  /// Throws Error(argument) on a bad value; names of unknown hints are appended to `unknown`.
  PENSTOCK_EXPORT void set(const std::map<std::string, std::string>& text,
                           std::vector<std::string>* unknown = nullptr);
  /// The effective values as text, in the form `set` reads.
  PENSTOCK_EXPORT std::map<std::string, std::string> text() const;
  friend bool operator==(const Hints&, const Hints&) = default;
};

/// What a hint is a setting of.
enum class HintScope {
  call,  ///< of each call; those that open() gets are for calls that say nothing else
  file,  ///< of the file, given to open(); a call cannot change it
};

/// All that there is to know of a hint: documents, bindings and commands are made of this.
struct HintDescription {
  std::string name;                       ///< as Hints::set reads it
  std::string values;                     ///< what may be given, in words
  std::vector<std::string_view> choices;  ///< of a hint that is one of several names
  std::optional<std::int64_t> minimum;    ///< of a hint that is a number
  std::optional<std::int64_t> maximum;  ///< none: no bound, or one that is not known before open()
  std::string_view unit;                ///< "bytes", "ranks"...; empty: none
  std::string default_value;            ///< as text
  HintScope scope = HintScope::call;    ///< of calls, or of the file alone
  bool common = true;                   ///< all ranks must pass the same
  bool planned = false;                 ///< a plan depends on it: explain() shows what it changes
  bool experimental =
      false;              ///< for experiments: the papers' alternatives, modelled devices, faults
  std::string_view help;  ///< a few sentences
};
/// Of all hints, in the order of docs/hints.md.
PENSTOCK_EXPORT std::vector<HintDescription> describe_hints();

/// Whether all ranks must pass the same value of a hint.
PENSTOCK_EXPORT bool must_be_common(std::string_view hint) noexcept;
PENSTOCK_EXPORT std::string_view to_string(Method method) noexcept;  ///< as a hint has it
PENSTOCK_EXPORT std::string_view to_string(DomainRule rule) noexcept;
PENSTOCK_EXPORT std::string_view to_string(Exchange exchange) noexcept;
/// "64", "64K", "4M", "1G" (powers of 1024) to bytes; throws Error(argument).
PENSTOCK_EXPORT std::int64_t parse_bytes(std::string_view text);

}  // namespace penstock
