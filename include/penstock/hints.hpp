// Settings of a file and of single calls. Parsed and checked once; no process-wide state.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <penstock/export.hpp>

namespace penstock {

/// How a read or write is carried out; all give byte-identical files.
enum class Method {
  automatic,  ///< chosen from the request
  direct,     ///< each rank accesses every run of its own
  sieved,     ///< each rank separately, by data sieving
  gather,     ///< everything through rank 0 (as in Chameleon)
  two_phase,  ///< static file domains over the whole array
  extended,   ///< dynamic file domains over the bounding section
};

/// How the bytes of one round get from the ranks to the aggregators and back. step1 to step5 are
/// those of Dickens & Thakur, *Evaluation of Collective I/O Implementations on Parallel
/// Architectures*, section 3.3; they differ only in the exchange.
enum class Exchange {
  automatic,  ///< chosen from the request and the machine
  step1,      ///< blocking sends and receives in ring order, copies byte by byte
  step2,      ///< step1 with memcpy
  step3,      ///< posts all sends, then all receives; completes them in any order
  step4,      ///< posts all receives, then all sends
  step5,      ///< posts all receives; blocking sends from a single buffer
  sparse,     ///< non-blocking messages between ranks that have bytes for each other
  alltoallw,  ///< one MPI_Ialltoallw of all ranks per round
  node,       ///< through memory shared by the ranks of a node; one message per node beyond
};

/// How file domains are cut.
enum class DomainRule {
  automatic,     ///< as the method implies
  static_,       ///< equal blocks of the whole array
  dynamic,       ///< equal blocks of the bounding section
  block_cyclic,  ///< blocks of `stripe_size` in turn
  aligned,       ///< equal blocks with bounds at multiples of `stripe_size` in the file
};

/// Whether a write may read a range with holes, overlay the new bytes and write it back.
enum class SieveWrites { automatic, always, never };

/// Whether writes take byte-range locks, so that read-modify-write of one group of processes and
/// the writes of another cannot undo each other.
enum class Locks { automatic, never };

/// Whether one round is exchanged while the previous one is written or read.
enum class Pipeline {
  automatic,  ///< yes, with storage calls in a thread if windows are large enough for one
  always,     ///< yes, always with a thread
  never,      ///< one round after the other, each with the whole buffer
};

/// How the file is accessed. Chosen at open, for the whole file.
enum class StorageKind {
  automatic,     ///< posix, and reads may copy out of the mapped file
  posix,         ///< through the page cache, only by calls
  direct,        ///< O_DIRECT, past the page cache; any alignment of requests
  uring,         ///< io_uring, through the page cache
  uring_direct,  ///< io_uring and O_DIRECT
};

/// Scheduling of threads that do background I/O.
struct IoThread {
  enum class Policy {
    automatic,  ///< batch if the program's threads are other
    other,      ///< SCHED_OTHER
    batch,      ///< SCHED_BATCH
  };
  Policy policy = Policy::automatic;
  int nice = 0;   ///< added to the program's, 0 to 19
  int core = -1;  ///< the core they are bound to; -1: any
  friend bool operator==(const IoThread&, const IoThread&) = default;
};

/// The value of a hint, and whether it has been given, by assignment or by Hints::set. Usable like
/// a T; the default is T{}, which for enumerators is `automatic`.
template <class T>
class Setting {
 public:
  constexpr Setting() = default;
  /// A given value.
  template <class U>
    requires(std::convertible_to<U &&, T> && !std::same_as<std::remove_cvref_t<U>, Setting>)
  constexpr Setting(U&& value)  // NOLINT(bugprone-forwarding-reference-overload): of T alone
      : value_(std::forward<U>(value)), given_(true) {}
  /// Another default.
  static constexpr Setting by_default(T value) {
    Setting setting(std::move(value));
    setting.given_ = false;
    return setting;
  }

  constexpr operator const T&() const noexcept { return value_; }
  constexpr const T* operator->() const noexcept { return &value_; }
  constexpr const T& value() const noexcept { return value_; }
  constexpr bool is_given() const noexcept { return given_; }
  /// Compares values only.
  friend constexpr bool operator==(const Setting& a, const Setting& b) {
    return a.value_ == b.value_;
  }
  template <class U>
  friend constexpr bool operator==(const Setting& a, const U& b) {
    return a.value_ == b;
  }

 private:
  T value_{};
  bool given_ = false;
};

/// Settings of a file, and of single calls. The table of hints (describe_hints(), docs/hints.md)
/// documents each; here are the units and the values that mean "auto". A call has the hints of its
/// file, overridden by those given for the call; "auto" can be given, too.
struct Hints {
  Setting<Method> method;
  Setting<DomainRule> domains;
  Setting<std::int64_t> aggregators;  ///< ranks; 0: auto
  Setting<std::int64_t> buffer_size;  ///< bytes; 0: auto
  Setting<std::int64_t> stripe_size;  ///< bytes; 0: that of the file system, else the buffer size
  Setting<SieveWrites> sieve_writes;
  Setting<Locks> locks;
  Setting<Exchange> exchange;
  Setting<Pipeline> pipeline;
  Setting<StorageKind> storage;
  Setting<std::int64_t> io_depth = Setting<std::int64_t>::by_default(8);  ///< pieces, 1 to 1024
  Setting<std::int64_t> ranks_per_node;                                   ///< ranks; 0: auto
  Setting<std::int64_t> writers;                                          ///< ranks; 0: auto
  Setting<std::int64_t> stagger;                                          ///< microseconds
  Setting<std::int64_t> active_buffer_size =
      Setting<std::int64_t>::by_default(std::int64_t{64} << 20);  ///< bytes
  Setting<IoThread> io_thread;
  Setting<std::string> device;  ///< "", "paced:...", "fault:..."

  /// From text given by a user: {"buffer_size": "16M", "aggregators": "4"}. Throws Error(argument)
  /// for an unknown name, and for an invalid value.
  PENSTOCK_EXPORT void set(const std::map<std::string, std::string>& text);
  /// The effective values as text, in the form `set` reads.
  PENSTOCK_EXPORT std::map<std::string, std::string> text() const;
  /// One of them. Throws Error(argument) for an unknown name.
  PENSTOCK_EXPORT std::string text(std::string_view name) const;
  friend bool operator==(const Hints&, const Hints&) = default;
};

/// Splits "name=value;name=value" into names and values. Throws Error(argument) for text of another
/// form.
PENSTOCK_EXPORT std::map<std::string, std::string> split_hints(std::string_view text);

/// What a hint applies to.
enum class HintScope {
  call,  ///< each call; given to open(), it is the default for calls
  file,  ///< the file, given to open(); a call cannot change it
};

/// Description of a hint, from which documents, bindings and commands are generated.
struct HintDescription {
  std::string name;                       ///< as Hints::set reads it
  std::string values;                     ///< the possible values, for users
  std::vector<std::string_view> choices;  ///< if it is one of several names
  std::optional<std::int64_t> minimum;    ///< if it is a number
  std::optional<std::int64_t> maximum;    ///< none: no bound, or one that is unknown before open()
  std::string_view unit;                  ///< "bytes", "ranks"...; empty: none
  std::string default_value;              ///< as text
  HintScope scope = HintScope::call;      ///< whether calls or only the file can have it
  bool common = true;                     ///< all ranks must pass the same
  bool planned = false;                   ///< plans depend on it: explain() shows the effect
  bool experimental =
      false;              ///< for experiments: the papers' alternatives, modelled devices, faults
  std::string_view help;  ///< some sentences
};
/// All hints, in the order of docs/hints.md.
PENSTOCK_EXPORT std::vector<HintDescription> describe_hints();

/// Whether all ranks must pass the same value of a hint.
PENSTOCK_EXPORT bool must_be_common(std::string_view hint) noexcept;
PENSTOCK_EXPORT std::string_view to_string(Method method) noexcept;  ///< the name used in hints
PENSTOCK_EXPORT std::string_view to_string(DomainRule rule) noexcept;
PENSTOCK_EXPORT std::string_view to_string(Exchange exchange) noexcept;
/// "64", "64K", "4M", "1G" (powers of 1024) to bytes; throws Error(argument).
PENSTOCK_EXPORT std::int64_t parse_bytes(std::string_view text);

}  // namespace penstock
