#include "plan/cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace penstock {
namespace {

/// Time of copying from the page cache to a user's array, relative to a staging buffer. The kernel
/// copies by `rep movsb`, which is slow if source and destination are aligned differently in a
/// cache line: large arrays of C, C++, Fortran and NumPy begin 16 bytes into one.
constexpr double into_array = 2;
/// Mapping a range of a file and unmapping it.
constexpr double mapping = 6e-6;
/// The part of a file that the kernel enters into the page table at a time.
constexpr double fault_range = 64 * 1024;
/// The least that is fetched from memory for a run: a cache line.
constexpr double least_fetched = 64;
/// Relative cost of beginning a run. Lower than between a staging buffer and memory: the loop is
/// over one pattern, and no other process has just written the bytes.
constexpr double of_run = 1.0 / 3;

/// Time of reading from the mapped file, summed over the ranks. If they interleave, each may touch
/// all of the hull.
double mapped_read(const Demand& demand, const Machine& machine) noexcept {
  const Costs& costs = machine.costs;
  const auto bytes = static_cast<double>(demand.bytes), runs = static_cast<double>(demand.runs);
  const auto hull = static_cast<double>(demand.hull().length());
  const double hulls = hull * (demand.ordered ? 1 : machine.ranks);
  const double faults = std::min(runs + bytes / fault_range, hulls / fault_range + machine.ranks);
  return machine.ranks * mapping + faults * costs.fault + runs * costs.run * of_run +
         std::max(bytes, runs * least_fetched) * costs.mapped_byte;
}

class Model {
 public:
  Model(const FileUnits& units, const Demand& demand, const Hints& hints, const Machine& machine,
        bool writes)
      : units_(units),
        demand_(demand),
        hints_(hints),
        machine_(machine),
        writes_(writes),
        costs_(machine.costs),
        nodes_(std::max(1, machine.nodes)),
        cores_(std::max(1.0, static_cast<double>(machine.writers) / nodes_)),
        ranks_(machine.ranks) {}

  double direct() const {
    if (!writes_ && mapping_pays(demand_, machine_))
      return meeting() + mapped_read(demand_, machine_) / side_by_side(ranks_ / nodes_) / nodes_;
    const bool queue = writes_ && machine_.page_cache && ranks_ > 1;
    const StorageTime storage{runs() * (queue ? costs_.contended_call : costs_.call),
                              bytes() * costs_.storage_byte};
    return meeting() + seconds(storage, queue ? 1 : side_by_side(ranks_ / nodes_)) / nodes_;
  }

  /// Each rank moves its own hull: if ranks interleave, all of them move all of it.
  double sieved() const {
    const double times = demand_.ordered ? 1 : ranks_;
    const double at_a_time = one_by_one() ? 1 : side_by_side(ranks_ / nodes_);
    const StorageTime storage = at_storage(hull() * times / buffer() + ranks_, times, at_a_time);
    return meeting() + seconds(storage, at_a_time) / nodes_ + copies() / (cores_ * nodes_);
  }

  double collective(Exchange exchange, double aggregators) const {
    const double windows = std::max(1.0, hull() / (buffer() / 2));
    // Writes of one node are serialised, whichever rank makes them; aggregators of other nodes do
    // not wait.
    const double at_a_time = one_by_one() ? 1 : side_by_side(std::max(1.0, aggregators / nodes_));
    const StorageTime accesses = at_storage(windows, 1, at_a_time);
    double shared = copies();  // work shared by all cores
    double serial = 0;
    if (exchange == Exchange::node && ranks_ > 1) {
      shared += windows * std::min(ranks_ / nodes_, 8.0) * costs_.hand_over / cores_;
      // A proxy sends when all of its ranks have copied, and a window is written when it is
      // complete: nothing overlaps the copies in between.
      serial = away() * (windows * costs_.message_between +
                         bytes() * (costs_.message_byte + costs_.copy_byte) / nodes_);
    } else if (ranks_ > 1) {
      const double moved = bytes() * (away() + (1 - away()) * (1 - nodes_ / ranks_));
      const double each = nodes_ > 1 ? ranks_ * std::min(1.0, mean_hull()) : std::min(ranks_, 8.0);
      const double messages = std::max(windows * each, moved / (buffer() / 16));
      shared += moved * (costs_.message_byte + costs_.copy_byte) +
                messages * (nodes_ > 1 ? costs_.message_between : costs_.message);
    }
    const double busy_nodes = std::min<double>(nodes_, aggregators);
    const double storage = seconds(accesses, at_a_time) / busy_nodes;
    shared /= nodes_;
    // A device needs no core.
    const double in_turn = seconds(accesses, 1) / busy_nodes;
    const double all_cores_busy = (shared + (machine_.page_cache ? in_turn : 0)) / cores_;
    // A quarter of the possible overlap is lost: nothing overlaps the first and last windows.
    const double slowest = std::max(all_cores_busy, storage);
    return 2 * meeting() + serial + slowest + 0.25 * std::min(shared / cores_, in_turn);
  }

  double aggregators() const {
    if (hints_.aggregators != 0) return static_cast<double>(hints_.aggregators);
    const std::int64_t window = std::max<std::int64_t>(1, hints_.buffer_size / 2);
    return static_cast<double>(aggregators_for(demand_, machine_, window));
  }
  /// Domains over the whole array leave aggregators idle if the request is only a part of it.
  double aggregators_in_use() const {
    const double whole = static_cast<double>(std::max<std::int64_t>(1, units_.all.length()));
    return std::max(1.0, std::ceil(aggregators() * std::min(1.0, hull() / whole)));
  }

 private:
  /// Time of accesses, one after the other.
  struct StorageTime {
    double calls, bytes;  // seconds
  };
  /// Writes of one node into the page cache of a file are serialised.
  bool one_by_one() const { return writes_ && machine_.page_cache; }
  /// Accesses to the page cache need a core each; those to a device only wait.
  double side_by_side(double ranks) const {
    return machine_.page_cache ? std::min(cores_, ranks) : ranks;
  }
  /// A device moves bytes one after the other, however many ranks request them.
  double seconds(const StorageTime& storage, double at_a_time) const {
    return storage.calls / at_a_time + storage.bytes / (machine_.page_cache ? at_a_time : 1);
  }
  /// Windows with holes are read whole (and written back), or run by run if that is less.
  StorageTime at_storage(double windows, double times, double at_a_time) const {
    const StorageTime whole{windows * costs_.call,
                            hull() * times * (writes_ && holes() ? 2 : 1) * costs_.storage_byte};
    const StorageTime each{runs() * costs_.call, bytes() * costs_.storage_byte};
    return holes() && seconds(each, at_a_time) < seconds(whole, at_a_time) ? each : whole;
  }
  /// The fraction of the bytes that moves between nodes. Domains follow each other in rank order.
  /// If a rank's hull is no longer than a node's domains, it is assumed to lie there; if it is all
  /// of the request's hull, each node has a part of each domain.
  double away() const {
    if (nodes_ == 1 || demand_.empty()) return 0;
    return std::clamp(1 - 1 / (nodes_ * mean_hull()), 0.0, 1 - 1 / nodes_);
  }
  /// Mean of the ranks' hulls, relative to the request's.
  double mean_hull() const { return static_cast<double>(demand_.hulls) / ranks_ / hull(); }
  double bytes() const { return static_cast<double>(demand_.bytes); }
  double runs() const { return static_cast<double>(demand_.runs); }
  double hull() const { return static_cast<double>(demand_.hull().length()); }
  double buffer() const { return static_cast<double>(hints_.buffer_size); }
  bool holes() const { return bytes() < hull(); }
  double copies() const { return bytes() * costs_.copy_byte + runs() * costs_.run; }
  double meeting() const {
    return ranks_ == 1 ? 0 : costs_.synchronisation * ranks_ / nodes_ / cores_;
  }

  const FileUnits& units_;
  const Demand& demand_;
  const Hints& hints_;
  const Machine& machine_;
  bool writes_;
  const Costs& costs_;
  double nodes_, cores_, ranks_;
};

}  // namespace

Costs Costs::assumed(bool page_cache) {
  Costs costs;
  costs.page_cache = page_cache;
  if (page_cache) return costs;
  costs.call = costs.contended_call = 100e-6;  // a request to a device
  costs.storage_byte = 1 / 1.5e9;
  return costs;
}

Costs Costs::with_copies(double measured_copy_byte, double measured_run) const {
  Costs costs = *this;
  if (page_cache) costs.storage_byte *= measured_copy_byte / copy_byte;
  costs.mapped_byte *= measured_copy_byte / copy_byte;
  costs.copy_byte = measured_copy_byte;
  costs.run = measured_run;
  costs.measured = true;
  return costs;
}

std::string Costs::to_text() const {
  char text[640], mapped[128] = "";
  if (maps_files)
    std::snprintf(mapped, sizeof mapped,
                  "  mapped file      %6.2f GB/s, %.3g us for each 64 KiB entered\n",
                  1e-9 / mapped_byte, fault * 1e6);
  std::snprintf(
      text, sizeof text,
      "constants (copies %s, storage %s):\n"
      "  copying          %6.2f GB/s, %.3g ns a run\n"
      "  %-16s %6.2f GB/s, %.3g us a call (%.3g us where ranks queue up)\n"
      "%s"
      "  messages         %6.2f GB/s, %.3g us each, %.3g us between nodes\n"
      "  ranks            %.3g us a window handed over, %.3g us a rank and core to meet\n",
      measured ? "measured on this machine" : "assumed",
      device_tells             ? "as modelled"
      : measured && page_cache ? "in proportion to them"
                               : "assumed",
      1e-9 / copy_byte, run * 1e9, page_cache ? "page cache" : "device", 1e-9 / storage_byte,
      call * 1e6, contended_call * 1e6, mapped, 1e-9 / message_byte, message * 1e6,
      message_between * 1e6, hand_over * 1e6, synchronisation * 1e6);
  return text;
}

bool mapping_pays(const Demand& demand, const Machine& machine) noexcept {
  const Costs& costs = machine.costs;
  if (!costs.maps_files || demand.slow || demand.empty()) return false;
  const double calls = static_cast<double>(demand.runs) * costs.call +
                       static_cast<double>(demand.bytes) * costs.storage_byte * into_array;
  return mapped_read(demand, machine) < calls;
}

std::int64_t aggregators_for(const Demand& demand, const Machine& machine,
                             std::int64_t window) noexcept {
  const std::int64_t hull = demand.hull().length();
  if (!machine.page_cache) return demand.bytes == hull ? machine.writers : machine.ranks;
  if (demand.bytes >= hull) return machine.writers;
  return std::clamp<std::int64_t>(hull / window, machine.writers, machine.ranks);
}

namespace {

bool node_works(const Machine& machine) {
  return machine.shared_memory && machine.ranks > machine.nodes;
}

/// Between nodes, separate messages of each rank are faster if few ranks share a node and most
/// bytes leave it. Within one they never are.
Exchange choose_exchange(Exchange asked, const Machine& machine, const Model& model) {
  // The other exchanges also send messages to the rank itself: a single process has no MPI for
  // that.
  if (machine.ranks == 1) return Exchange::sparse;
  if (asked == Exchange::node && !node_works(machine)) return Exchange::sparse;
  if (asked != Exchange::automatic) return asked;
  if (!node_works(machine)) return Exchange::sparse;
  if (machine.nodes == 1) return Exchange::node;
  const double aggregators = model.aggregators();
  return model.collective(Exchange::sparse, aggregators) <
                 model.collective(Exchange::node, aggregators)
             ? Exchange::sparse
             : Exchange::node;
}

void predict_extended(std::vector<Prediction>& all, Exchange asked, Exchange taken,
                      const Machine& machine, const Model& model) {
  const bool open = asked == Exchange::automatic;
  const std::string_view note =
      open ? "within a node auto takes the exchange node" : "another exchange is asked for";
  const auto add = [&](Exchange exchange) {
    const bool eligible = exchange == taken || (open && machine.nodes > 1);
    all.push_back({Method::extended, exchange, model.collective(exchange, model.aggregators()),
                   eligible, eligible ? std::string_view() : note});
  };
  if (node_works(machine)) add(Exchange::node);
  add(Exchange::sparse);
  if (taken != Exchange::sparse && !(taken == Exchange::node && node_works(machine))) add(taken);
}

}  // namespace

Exchange exchange_of(const FileUnits& units, const Demand& demand, const Hints& hints,
                     const Machine& machine, bool writes) {
  return choose_exchange(hints.exchange, machine, Model(units, demand, hints, machine, writes));
}

std::vector<Prediction> predict(const FileUnits& units, const Demand& demand, const Hints& hints,
                                const Machine& machine, bool writes) {
  const Model model(units, demand, hints, machine, writes);
  const bool alone = machine.ranks == 1;
  // Independent access: it would be undefined which of two writers of one byte wins, and what
  // several ranks read would come from storage several times. The page cache gets it from there
  // once, however many ranks copy it.
  const bool cached = !writes && machine.costs.maps_files && !demand.slow;
  const bool apart = alone || demand.ordered;
  const std::string_view chance =
      apart ? std::string_view() : "the ranks' bytes interleave or overlap in the file";
  std::vector<Prediction> all;
  all.reserve(8);
  const bool left_open = writes && demand.any_winner;
  all.push_back({Method::direct, Exchange::automatic, model.direct(), apart || left_open || cached,
                 left_open || cached ? std::string_view() : chance});
  all.push_back({Method::sieved, Exchange::automatic, model.sieved(), apart, chance});
  const Exchange taken = choose_exchange(hints.exchange, machine, model);
  all.push_back({Method::gather, taken, model.collective(taken, 1), false, "all through one rank"});
  all.push_back({Method::two_phase, taken, model.collective(taken, model.aggregators_in_use()),
                 false, "as extended, with domains of the whole array"});
  predict_extended(all, hints.exchange, taken, machine, model);
  return all;
}

}  // namespace penstock
