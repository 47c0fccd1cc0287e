// Choice of a plan. docs/DESIGN.md explains the rules; change them together.
#include <algorithm>

#include <penstock/error.hpp>

#include "base/human.hpp"
#include "plan/cost.hpp"

namespace penstock {
namespace {

/// The fastest that auto may choose, see cost.hpp.
void choose_method(Plan& plan, const Demand& demand, const std::vector<Prediction>& ways) {
  plan.method = Method::direct;
  plan.reason = {.words = "nothing is asked for"};
  if (demand.empty()) return;
  const Prediction *first = nullptr, *second = nullptr;
  for (const Prediction& way : ways) {
    if (!way.eligible) continue;
    if (first == nullptr || way.seconds < first->seconds) {
      second = first;
      first = &way;
    } else if (second == nullptr || way.seconds < second->seconds) {
      second = &way;
    }
  }
  if (first == nullptr) return;
  plan.method = first->method;
  plan.reason = {.taken = {first->method, first->exchange, first->seconds}};
  if (second != nullptr) plan.reason.next = {second->method, second->exchange, second->seconds};
}

DomainRule rule_of(Method method, DomainRule asked) {
  if (asked != DomainRule::automatic) return asked;
  return method == Method::extended ? DomainRule::dynamic : DomainRule::static_;
}

Extent span_of(Method method, DomainRule rule, const FileUnits& units, const Demand& demand) {
  const bool whole_array =
      rule == DomainRule::static_ || (method == Method::two_phase && rule != DomainRule::dynamic);
  return whole_array && !units.all.empty() ? units.all : demand.hull();
}

bool crowded(const Machine& machine) {
  return machine.ranks > 2 * machine.writers;
}

/// Number of windows in flight. Small buffers are not divided: their rounds are short anyway. If
/// ranks are not many more than cores, more and smaller windows keep a device busy. Through the
/// page cache each further hand-over costs more than it hides: a context switch if ranks outnumber
/// cores, and between nodes the wait for a proxy and a message. Windows of a buffered write,
/// however, are units of the active buffer, and must be small compared with it.
int choose_depth(const Hints& hints, const Plan& plan) {
  constexpr std::int64_t small = 64 * 1024, large = std::int64_t{1} << 20;
  if (hints.pipeline == Pipeline::never) return 1;
  if (hints.pipeline == Pipeline::always) return 2;
  if (hints.buffer_size < small) return 1;
  const Machine& machine = plan.machine;
  const bool within_node = plan.exchange == Exchange::node && machine.nodes == 1;
  const bool many = machine.page_cache ? plan.buffered : !crowded(machine);
  return many && within_node && hints.buffer_size >= large ? 4 : 2;
}

/// At most two if each has to hold an indivisible piece larger than a window would be.
int depth_for(int depth, const FileUnits& units, std::int64_t buffer_size) {
  return units.indivisible > buffer_size / depth ? std::min(depth, 2) : depth;
}

/// The size of a window. A rank's staging memory stays below twice the buffer: an aggregator that
/// is also a proxy needs as much again for its node's bytes and for arriving messages; one whose
/// rounds are in step, for a window's parcels to send and as many to receive. A larger indivisible
/// piece is moved alone.
std::int64_t window_bytes(const FileUnits& units, const Hints& hints, const Plan& plan) {
  constexpr std::int64_t longest = std::int64_t{1} << 29;  // MPI counts are ints
  std::int64_t parts = plan.depth;
  const bool in_step = plan.exchange != Exchange::node && plan.exchange != Exchange::sparse;
  if (in_step || (plan.exchange == Exchange::node && plan.machine.nodes > 1)) parts *= 2;
  const std::int64_t budget = hints.active_buffer_size;
  const std::int64_t most =
      plan.buffered ? std::clamp(budget, shortest_unit, longest_unit) : longest;
  const std::int64_t bytes =
      std::clamp<std::int64_t>(hints.buffer_size / parts, 1, std::max<std::int64_t>(1, most));
  const std::int64_t piece = units.indivisible;
  return piece == 0 ? bytes : std::max<std::int64_t>(1, bytes / piece) * piece;
}

/// Domains begin at pages, so that each page has one writer.
void align_to_pages(std::int64_t page, DomainRule& rule, std::int64_t& stripe) {
  const bool striped = rule == DomainRule::block_cyclic || rule == DomainRule::aligned;
  stripe = striped ? (stripe + page - 1) / page * page : page;
  if (!striped) rule = DomainRule::aligned;
}

/// For buffered data, every rank that has some of it should also hold some: the budget is per
/// process. I/O threads need no core while the device works.
std::int64_t choose_aggregators(const FileUnits& units, const Hints& hints, const Plan& plan,
                                const Demand& demand, bool buffered) {
  if (plan.method == Method::gather) return 1;
  if (hints.aggregators != 0) return hints.aggregators;
  const std::int64_t window = window_bytes(units, hints, plan);
  if (!buffered) return aggregators_for(demand, plan.machine, window);
  const std::int64_t windows = demand.bytes / window;
  return std::clamp<std::int64_t>(windows, plan.machine.writers, plan.machine.ranks);
}

}  // namespace

std::string Reason::text() const {
  if (!words.empty()) return std::string(words);
  std::string text = "predicted " + text_of_seconds(taken.seconds);
  if (next.method == Method::automatic) return text;
  text += "; next best " + std::string(to_string(next.method));
  if (next.exchange != Exchange::automatic) text += ", " + std::string(to_string(next.exchange));
  return text + ", " + text_of_seconds(next.seconds);
}

int Plan::rank_of(std::int64_t aggregator) const noexcept {
  return static_cast<int>(aggregator * machine.ranks / domains.aggregators());
}

std::int64_t Plan::aggregator_of(int rank) const noexcept {
  const std::int64_t n = domains.aggregators();
  const std::int64_t candidate =
      (static_cast<std::int64_t>(rank) * n + machine.ranks - 1) / machine.ranks;
  return candidate < n && rank_of(candidate) == rank ? candidate : -1;
}

void check_hints(const Hints& hints, std::int64_t grain, int ranks) {
  const auto fail = [](const std::string& message) { throw Error(ErrorClass::argument, message); };
  if (hints.aggregators < 0 || hints.aggregators > ranks)
    fail("aggregators must be from 1 to the number of ranks (" + std::to_string(ranks) +
         "), or 0 to have it chosen; not " + std::to_string(hints.aggregators));
  if (hints.buffer_size != 0 && hints.buffer_size < grain)
    fail("buffer_size must hold at least one element (" + std::to_string(grain) + " bytes), not " +
         std::to_string(hints.buffer_size) + " bytes");
  if (hints.stripe_size < 0)
    fail("stripe_size must not be negative, but is " + std::to_string(hints.stripe_size));
}

Hints resolve_hints(const Hints& hints, const Machine& machine, std::int64_t grain) {
  // A staging buffer that stays in the CPU cache is copied at the speed of the cache. Devices need
  // large accesses instead, and between nodes large messages matter more.
  constexpr std::int64_t mebi = std::int64_t{1} << 20;
  const std::int64_t cached = (machine.nodes > 1 ? 8 : 4) * mebi;
  constexpr std::int64_t uncached = 16 * mebi;
  Hints resolved = hints;
  if (hints.buffer_size == 0)
    resolved.buffer_size = std::max(machine.page_cache ? cached : uncached, grain);
  if (hints.stripe_size == 0) resolved.stripe_size = machine.stripe_size;
  return resolved;
}

Plan make_plan(const FileUnits& units, const Demand& demand, const Hints& asked,
               const Machine& machine, bool writes, bool ahead) {
  check_hints(asked, units.grain, machine.ranks);
  const Hints hints = resolve_hints(asked, machine, units.grain);
  Plan plan;
  plan.machine = machine;
  plan.sieve_writes = hints.sieve_writes;
  plan.method = hints.method;
  plan.reason = {.words = "asked for"};
  if (plan.method == Method::automatic)
    choose_method(plan, demand, predict(units, demand, hints, machine, writes));
  const bool in_chunks = units.indivisible > 0;
  const bool in_pages = writes && !in_chunks && machine.page > 0 && machine.ranks > 1;
  if (((writes && in_chunks) || in_pages) && !demand.empty() && !plan.collective()) {
    plan.method = Method::extended;
    plan.reason = {.words = in_chunks ? "each chunk has one writer" : "each page has one writer"};
  }
  plan.mapped = !writes && plan.method == Method::direct && mapping_pays(demand, machine);
  DomainRule rule = rule_of(plan.method, hints.domains);
  std::int64_t stripe = hints.stripe_size != 0 ? hints.stripe_size : hints.buffer_size;
  plan.exchange = exchange_of(units, demand, hints, machine, writes);
  plan.buffered = writes && hints.active_buffer_size > 0;
  plan.depth = depth_for(choose_depth(hints, plan), units, hints.buffer_size);
  plan.writers = static_cast<int>(hints.writers);
  // Reads ahead use the domains of buffered writes of the same bytes: then such a read queues up
  // behind the write and need not wait for it.
  const std::int64_t aggregators = std::clamp<std::int64_t>(
      choose_aggregators(units, hints, plan, demand, plan.buffered || ahead), 1, machine.ranks);
  plan.sieving =
      choose_sieving(machine, static_cast<double>(plan.collective() ? aggregators : machine.ranks) /
                                  std::max(1, machine.nodes));
  if (units.indivisible > 0) plan.sieving.in_parts = false;  // storage moves them as a whole
  // Writes through the page cache enter a file one at a time; ranks that queue up spin in the
  // kernel, which costs copying ranks a core.
  plan.take_turns = machine.page_cache && crowded(machine);
  const Extent span = span_of(plan.method, rule, units, demand);
  if (in_pages) align_to_pages(machine.page, rule, stripe);
  plan.domains =
      Domains::cut(rule, units, span, aggregators, window_bytes(units, hints, plan), stripe);
  return plan;
}

std::vector<std::int64_t> touched_aggregators(const Domains& domains, const Footprint& footprint) {
  std::vector<std::int64_t> touched;
  const Extent span = domains.span();
  for (std::int64_t at = footprint.next(span.begin); at < span.end;) {
    const std::int64_t owner = domains.owner(at);
    const auto place = std::lower_bound(touched.begin(), touched.end(), owner);
    if (place == touched.end() || *place != owner) touched.insert(place, owner);
    if (static_cast<std::int64_t>(touched.size()) == domains.aggregators()) break;
    at = footprint.next(domains.stretch_end(at));
  }
  return touched;
}

std::int64_t next_round(const Domains& domains, std::int64_t aggregator, const Footprint& footprint,
                        std::int64_t round) {
  const std::int64_t rounds = domains.rounds(aggregator);
  while (round < rounds) {
    const Extent window = domains.window(aggregator, round);
    if (window.empty()) {
      ++round;
      continue;
    }
    const std::int64_t first = footprint.next(window.begin);
    if (first < window.end) return round;
    if (first >= domains.span().end) return rounds;
    round = std::max(round + 1, domains.round_at(aggregator, first));
  }
  return rounds;
}

Sieving choose_sieving(const Machine& machine, double side_by_side) noexcept {
  if (machine.page_cache) return {};
  // While one request waits for the device, those of other ranks progress.
  const double request = machine.costs.call / std::max(1.0, side_by_side);
  constexpr double most = std::int64_t{1} << 40;
  return {static_cast<std::int64_t>(std::min(most, request / machine.costs.storage_byte)), true};
}

bool Sieving::pays(std::int64_t range, std::int64_t wanted, std::int64_t runs,
                   bool write) const noexcept {
  const std::int64_t unwanted = range - std::min(range, wanted);
  // A read-modify-write moves the range twice, and needs one more request to read it.
  const std::int64_t extra_bytes = write ? range + unwanted : unwanted;
  const std::int64_t requests = write && in_parts ? 2 : 1;
  return static_cast<double>(extra_bytes) <
         static_cast<double>(runs - requests) * static_cast<double>(request_bytes);
}

}  // namespace penstock
