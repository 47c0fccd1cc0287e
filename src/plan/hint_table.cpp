#include "plan/hint_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace penstock {
namespace {

constexpr Name<Method> method_names[] = {
    {"auto", Method::automatic}, {"direct", Method::direct},       {"sieved", Method::sieved},
    {"gather", Method::gather},  {"two-phase", Method::two_phase}, {"extended", Method::extended}};
constexpr Name<DomainRule> rule_names[] = {{"auto", DomainRule::automatic},
                                           {"static", DomainRule::static_},
                                           {"dynamic", DomainRule::dynamic},
                                           {"block-cyclic", DomainRule::block_cyclic},
                                           {"aligned", DomainRule::aligned}};
constexpr Name<Exchange> exchange_names[] = {
    {"auto", Exchange::automatic}, {"step1", Exchange::step1},         {"step2", Exchange::step2},
    {"step3", Exchange::step3},    {"step4", Exchange::step4},         {"step5", Exchange::step5},
    {"sparse", Exchange::sparse},  {"alltoallw", Exchange::alltoallw}, {"node", Exchange::node}};
constexpr Name<SieveWrites> sieve_names[] = {{"auto", SieveWrites::automatic},
                                             {"always", SieveWrites::always},
                                             {"never", SieveWrites::never}};
constexpr Name<Pipeline> pipeline_names[] = {
    {"auto", Pipeline::automatic}, {"always", Pipeline::always}, {"never", Pipeline::never}};
constexpr Name<StorageKind> storage_names[] = {{"auto", StorageKind::automatic},
                                               {"posix", StorageKind::posix},
                                               {"direct", StorageKind::direct},
                                               {"uring", StorageKind::uring},
                                               {"uring-direct", StorageKind::uring_direct}};
constexpr Name<IoThread::Policy> policy_names[] = {{"other", IoThread::Policy::other},
                                                   {"batch", IoThread::Policy::batch}};
constexpr Name<Locks> lock_names[] = {{"auto", Locks::automatic}, {"never", Locks::never}};

constexpr auto of_call = HintScope::call, of_file = HintScope::file;
constexpr auto alike = Ranks::alike, may_differ = Ranks::may_differ;
constexpr auto plans = Plans::with_it, no_plan = Plans::without_it;
constexpr auto users = For::users, experiments = For::experiments;
constexpr auto any = Number::unbounded;
constexpr int most_nice = 19, most_core = 1023;

constexpr HintRow rows[] = {
    {users, "method", Choice{&Hints::method, method_names}, of_call, alike, plans,
     "How a call is carried out. All methods give identical files."},
    {users, "aggregators", Number{&Hints::aggregators, 1, any, 0, "ranks"}, of_call, alike, plans,
     "Ranks that access the file in the collective methods. auto: one rank per core on each node; "
     "for buffered writes and requests with holes, every rank with a window's worth of data (on a "
     "device: every rank)."},
    {users, "buffer_size", ByteCount{&Hints::buffer_size, true}, of_call, alike, plans,
     "Staging buffer of an aggregator, in bytes, at least one element. Larger requests take "
     "several rounds. auto: 4M, between nodes 8M, with direct I/O and modelled devices 16M."},
    {users, "storage", Choice{&Hints::storage, storage_names}, of_file, alike, plans,
     "Access through the page cache (posix, uring) or past it (O_DIRECT: direct, uring-direct). "
     "What the system does not support is replaced, with one line of notice. auto: posix, and "
     "reads may also copy from the mapped file, for which a SIGBUS handler is set; posix: system "
     "calls only."},
    {users, "sieve_writes", Choice{&Hints::sieve_writes, sieve_names}, of_call, alike, plans,
     "Whether a write may read a range with holes, overlay the new bytes and write it back. auto: "
     "if that is cheaper than writing each run. never: only the bytes of the request are written."},
    {users, "locks", Choice{&Hints::locks, lock_names}, of_call, alike, no_plan,
     "Byte-range locks around writes. auto: if the file system supports them."},
    {users, "active_buffer_size", ByteCount{&Hints::active_buffer_size}, of_call, alike, plans,
     "How many bytes of a process may be pending while the program continues. 0: a write returns "
     "when its bytes are in the file."},
    {users, "stripe_size", ByteCount{&Hints::stripe_size}, of_call, alike, plans,
     "In bytes: the block of block-cyclic domains, and what the bounds of aligned domains are "
     "multiples of, from the start of the file. 0: the file system's, else the buffer size."},
    {users, "io_thread", ThreadHint{&Hints::io_thread}, of_call, may_differ, no_plan,
     "How I/O threads run: other or batch (SCHED_OTHER, SCHED_BATCH), nice=N added to the "
     "program's, core=N to bind them to, separated by commas. auto: batch if the program is other, "
     "any core."},
    {users, "io_depth", Number{&Hints::io_depth, 1, 1024, 8, "pieces"}, of_file, alike, no_plan,
     "Pieces of accesses that io_uring has in progress."},
    // Alternatives of the papers, and settings for measurements and tests.
    {experiments, "exchange", Choice{&Hints::exchange, exchange_names}, of_call, alike, plans,
     "How bytes get to the aggregators and back in the collective methods. auto: node if ranks "
     "share memory, else sparse."},
    {experiments, "domains", Choice{&Hints::domains, rule_names}, of_call, alike, plans,
     "How the file is divided into domains. auto: dynamic for extended, else static."},
    {experiments, "pipeline", Choice{&Hints::pipeline, pipeline_names}, of_call, alike, plans,
     "Whether one round is exchanged while another is at the storage. always: with a thread even "
     "for small windows."},
    {experiments, "writers", Number{&Hints::writers, 1, any, 0, "ranks"}, of_call, alike, no_plan,
     "How many ranks of a node may be at the storage at a time, if they share memory: with the "
     "exchange node, in the independent methods, and wherever a thread writes; not in other "
     "exchanges without a thread (small windows, pipeline=never). auto: any number; if ranks "
     "outnumber the cores, an aggregator that can copy meanwhile lets another write first."},
    {experiments, "stagger", Number{&Hints::stagger, 0, 60'000'000, {}, "microseconds"}, of_call,
     alike, no_plan,
     "The n-th aggregator waits n times this, in microseconds, before its first write of a call."},
    {experiments, "ranks_per_node", Number{&Hints::ranks_per_node, 1, any, 0, "ranks"}, of_file,
     alike, no_plan,
     "At most this many ranks share memory, which divides a node into several. auto: all of a "
     "node."},
    {experiments, "device", Text{&Hints::device, "\"\", paced:…, fault:…, several joined by +"},
     of_file, may_differ, plans,
     "A modelled shared file system to measure on, and injected faults for tests. All ranks must "
     "pass the same model; faults may differ."},
};

/// Whether the whole text is a number; otherwise `number` is meaningless.
bool read_number(std::string_view text, std::int64_t& number) noexcept {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  return status == std::errc() && end == text.data() + text.size();
}

/// Edit distance: insertions, deletions and replacements (Levenshtein), and transpositions as one
/// step.
std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::vector<std::size_t>> steps(from.size() + 1,
                                              std::vector<std::size_t>(to.size() + 1));
  for (std::size_t i = 0; i <= from.size(); ++i)
    for (std::size_t j = 0; j <= to.size(); ++j) {
      if (i == 0 || j == 0) {
        steps[i][j] = i + j;
        continue;
      }
      const bool same = from[i - 1] == to[j - 1];
      steps[i][j] = std::min(
          {steps[i - 1][j] + 1, steps[i][j - 1] + 1, steps[i - 1][j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
    }
  return steps[from.size()][to.size()];
}

/// In the largest unit that divides it.
std::string short_size(std::int64_t bytes) {
  constexpr std::string_view units = "KMG";
  std::size_t unit = 0;
  for (; unit < units.size() && bytes != 0 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return std::to_string(bytes) + (unit == 0 ? "" : std::string(1, units[unit - 1]));
}

}  // namespace

std::int64_t Number::parse(std::string_view hint, std::string_view text) const {
  if (automatic && text == "auto") return *automatic;
  std::int64_t number = 0;
  if (read_number(text, number) && number >= least && number <= most) return number;
  const std::string bounds = most == unbounded
                                 ? " of at least " + std::to_string(least)
                                 : " from " + std::to_string(least) + " to " + std::to_string(most);
  throw Error(ErrorClass::argument, std::string(hint) + " must be a number" + bounds +
                                        (unit.empty() ? "" : " (" + std::string(unit) + ")") +
                                        (automatic ? ", or auto" : "") + "; not '" +
                                        std::string(text) + "'");
}

std::string Number::text(std::int64_t value) const {
  const bool may_be_given = value >= least && value <= most;
  return automatic == value && !may_be_given ? "auto" : std::to_string(value);
}

void Number::describe(HintDescription& to, std::int64_t value) const {
  to.default_value = text(value);
  to.minimum = least;
  if (most != unbounded) to.maximum = most;
  to.unit = unit;
  to.values = (automatic ? "auto, " : "") + std::to_string(least) + " …" +
              (most != unbounded ? " " + std::to_string(most) : "") +
              (unit.empty() ? "" : " " + std::string(unit));
}

std::int64_t ByteCount::parse(std::string_view hint, std::string_view text) const {
  if (may_be_auto && text == "auto") return 0;
  std::int64_t bytes = 0;
  try {
    bytes = parse_bytes(text);
  } catch (const Error& error) {
    throw Error(ErrorClass::argument, std::string(hint) + ": " + error.what());
  }
  if (may_be_auto && bytes == 0)
    throw Error(
        ErrorClass::argument,
        std::string(hint) + " must hold at least one element, not 0 bytes; auto has it chosen");
  return bytes;
}

std::string ByteCount::text(std::int64_t value) const {
  return may_be_auto && value == 0 ? "auto" : std::to_string(value);
}

void ByteCount::describe(HintDescription& to, std::int64_t value) const {
  to.default_value = may_be_auto && value == 0 ? "auto" : short_size(value);
  to.minimum = may_be_auto ? 1 : 0;
  to.unit = "bytes";
  to.values = std::string(may_be_auto ? "auto" : "0") + ", bytes, 64K, 4M, 1G";
}

IoThread ThreadHint::parse(std::string_view hint, std::string_view text) const {
  IoThread thread;
  if (text == "auto") return thread;
  const auto refuse = [&] {
    throw Error(ErrorClass::argument,
                std::string(hint) + " must be auto, or some of other or batch, nice=0 to " +
                    std::to_string(most_nice) + " and core=0 to " + std::to_string(most_core) +
                    ", with commas between, each once; not '" + std::string(text) + "'");
  };
  bool has_policy = false, has_nice = false, has_core = false;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, comma - begin);
    begin = comma + 1;
    const auto number = [&](std::string_view name, int most, bool& has, int& value) {
      std::int64_t read = 0;
      if (has || !read_number(part.substr(name.size()), read) || read < 0 || read > most) refuse();
      has = true;
      value = static_cast<int>(read);
    };
    const auto* policy = std::ranges::find(policy_names, part, &Name<IoThread::Policy>::text);
    if (policy != std::end(policy_names) && !has_policy) {
      has_policy = true;
      thread.policy = policy->value;
    } else if (part.starts_with("nice=")) number("nice=", most_nice, has_nice, thread.nice);
    else if (part.starts_with("core=")) number("core=", most_core, has_core, thread.core);
    else refuse();
  }
  return thread;
}

std::string ThreadHint::text(const IoThread& value) const {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ",") + part; };
  if (value.policy != IoThread::Policy::automatic)
    add(std::string(name_of(value.policy, policy_names)));
  if (value.nice != 0) add("nice=" + std::to_string(value.nice));
  if (value.core >= 0) add("core=" + std::to_string(value.core));
  return text.empty() ? "auto" : text;
}

void ThreadHint::describe(HintDescription& to, const IoThread& value) const {
  to.default_value = text(value);
  to.values = "auto, other, batch, nice=N, core=N";
}

std::span<const HintRow> hint_table() noexcept {
  return rows;
}

const HintRow* find_hint(std::string_view name) noexcept {
  const auto found = std::ranges::find(rows, name, &HintRow::name);
  return found == std::end(rows) ? nullptr : &*found;
}

const HintRow& hint_named(std::string_view name) {
  if (const HintRow* const row = find_hint(name)) return *row;
  std::array<std::string_view, std::size(rows)> names;
  std::ranges::transform(rows, names.begin(), &HintRow::name);
  std::string known;
  for (const std::string_view one : names) known.append(known.empty() ? "" : ", ").append(one);
  const std::string near(nearest_name(name, names));
  throw Error(ErrorClass::argument, "there is no hint '" + std::string(name) + "'" +
                                        (near.empty() ? "; " : "; did you mean " + near + "? ") +
                                        "docs/hints.md describes all: " + known);
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  const auto distance = [&](std::string_view to) { return edits(name, to); };
  const auto nearest = std::ranges::min_element(known, {}, distance);
  const bool is_near =
      nearest != known.end() && distance(*nearest) * 3 <= std::max(name.size(), nearest->size());
  return is_near ? *nearest : std::string_view();
}

Hints hints_of_call(const Hints& call, const Hints& file) {
  Hints all = file;
  for (const HintRow& row : rows)
    std::visit(
        [&](const auto& kind) {
          const auto& given = call.*kind.field;
          if (!given.is_given() || given == file.*kind.field) return;
          if (row.scope == HintScope::file)
            throw Error(ErrorClass::argument,
                        std::string(row.name) +
                            " is a setting of the file and not of a call; pass it in the hints of "
                            "open");
          all.*kind.field = given;
        },
        row.kind);
  return all;
}

std::string_view to_string(Method method) noexcept {
  return name_of(method, method_names);
}
std::string_view to_string(DomainRule rule) noexcept {
  return name_of(rule, rule_names);
}
std::string_view to_string(Exchange exchange) noexcept {
  return name_of(exchange, exchange_names);
}

}  // namespace penstock
