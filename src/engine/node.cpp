#include "engine/node.hpp"

#include <algorithm>
#include <thread>

#include "access/wire.hpp"

namespace penstock {
namespace {

/// Descriptions of requests, by rank.
using Letters = std::vector<Letter>;

/// Those of this node's ranks. Short ones lie on the desks since the agreement on entry.
Letters local_letters(Context& context, const Access& access, const NodeRoles& roles,
                      const Neighbours& touched, bool on_desks) {
  Team& team = *context.comm.team();
  Letters letters;
  if (on_desks) {
    for (int place = 0; place < team.size(); ++place) {
      const Team::Desk& desk = team.desk(place);
      letters.push_back({team.members()[static_cast<std::size_t>(place)],
                         {desk.letter, desk.letter + desk.words}});
    }
    return letters;
  }
  std::vector<int> owners;
  for (const std::int64_t aggregator : touched) owners.push_back(roles.owner_of(aggregator));
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  const std::vector<std::int64_t> words = to_words(access.sections);
  for (const int owner : owners)
    letters.push_back({team.members()[static_cast<std::size_t>(owner)], words});
  ++context.counts.synchronisations;
  return deliver(context.comm, letters, context.letter_tag());
}

std::vector<DomainTable> courier_tables(Context& context, const Plan& plan, const NodeRoles& roles,
                                        const Letters& local) {
  std::vector<DomainTable> tables;
  const Team& team = *context.comm.team();
  for (std::int64_t a = 0; a < plan.domains.aggregators(); ++a) {
    if (roles.is_local(a) || roles.owner_of(a) != team.rank()) continue;
    DomainTable table(context.layout, plan, a);
    for (const Letter& letter : local) table.add(letter.rank, from_words(letter.words));
    table.settle();
    if (!table.sources().empty()) tables.push_back(std::move(table));
  }
  return tables;
}

/// One letter per node and aggregator: rank, number of words, words, of each rank in it.
Letters between_nodes(Context& context, const Plan& plan, const std::vector<DomainTable>& tables) {
  Letters letters;
  for (const DomainTable& table : tables) {
    Letter letter{plan.rank_of(table.aggregator()), {}};
    for (const DomainTable::Source& source : table.sources()) {
      const std::vector<std::int64_t> words = to_words(source.sections);
      letter.words.push_back(source.rank);
      letter.words.push_back(static_cast<std::int64_t>(words.size()));
      letter.words.insert(letter.words.end(), words.begin(), words.end());
    }
    letters.push_back(std::move(letter));
  }
  ++context.counts.synchronisations;
  context.counts.messages += static_cast<std::int64_t>(letters.size());
  Letters unpacked;
  for (const Letter& letter : deliver(context.comm, letters, context.bundle_tag()))
    for (std::size_t at = 0; at < letter.words.size();) {
      const auto begin = letter.words.begin() + static_cast<std::ptrdiff_t>(at) + 2;
      const std::int64_t words = letter.words[at + 1];
      unpacked.push_back({static_cast<int>(letter.words[at]), {begin, begin + words}});
      at += 2 + static_cast<std::size_t>(words);
    }
  return unpacked;
}

DomainTable own_table(Context& context, const Plan& plan, Letters letters) {
  DomainTable table(context.layout, plan, plan.aggregator_of(context.comm.rank()));
  std::sort(letters.begin(), letters.end(),
            [](const Letter& a, const Letter& b) { return a.rank < b.rank; });
  if (table.aggregator() >= 0)
    for (const Letter& letter : letters) table.add(letter.rank, from_words(letter.words));
  table.settle();
  return table;
}

void exchange(Context& context, Courier& courier, NodeAggregator& aggregator,
              NodeRequester& requester, Slots& couriered, Slots& arriving) {
  Team& team = *context.comm.team();
  std::vector<std::pair<Slots*, int>> completed;
  for (;;) {
    const std::uint32_t heard = team.heard();
    bool moved = aggregator.progress(/*idle=*/false);
    moved = courier.progress() || moved;
    moved = requester.progress() || moved;
    if (!moved) moved = aggregator.progress(/*idle=*/true);
    if (requester.done() && aggregator.done() && courier.done()) return;
    completed.clear();
    const bool under_way = test_some({&couriered, &arriving}, completed);
    for (const auto& [pool, slot] : completed)
      pool == &couriered ? courier.completed(slot) : aggregator.completed(slot);
    if (moved || !completed.empty()) continue;
    const Stopwatch watch(context.counts.time_wait);
    if (under_way) std::this_thread::yield();  // MPI has no bell
    else team.sleep(heard);
  }
}

}  // namespace

std::optional<Error> exchange_in_node(Context& context, const Access& access, const Plan& plan,
                                      const Hints& hints, const Demand& all,
                                      const Neighbours& touched) {
  Team& team = *context.comm.team();
  const NodeRoles roles(team, plan);
  Letters letters =
      local_letters(context, access, roles, touched, all.words <= Team::letter_words);
  std::vector<DomainTable> passed_on;
  if (team.nodes() > 1) {
    passed_on = courier_tables(context, plan, roles, letters);
    for (Letter& letter : between_nodes(context, plan, passed_on))
      letters.push_back(std::move(letter));
  }
  DomainTable table = own_table(context, plan, std::move(letters));
  if (team.nodes() > 1 && access.writes()) {
    // The highest rank wins wherever requests overlap. Bundles of several nodes would have to wait
    // for each other's ranks; messages of single ranks already keep that order.
    ++context.counts.synchronisations;
    if (any_rank(context.comm, !table.disjoint()))
      return exchange_sparsely(context, access, plan, hints, touched, std::move(table));
  }
  const int arriving_slots = std::min(2, plan.depth);
  const std::int64_t chunk = plan.domains.buffer();
  Slots couriered(context.comm, context.data_tag(), plan.depth, chunk, context.pool,
                  &context.gauge);
  Slots arriving(context.comm, context.data_tag(), arriving_slots, chunk, context.pool,
                 &context.gauge);
  const int first_slot = table.aggregator() >= 0 ? plan.depth : 0;
  NodeRequester requester(context, access, plan, roles);
  NodeAggregator aggregator(context, access, plan, hints, roles, std::move(table), arriving);
  Courier courier(context, access, plan, roles, std::move(passed_on), first_slot, couriered);
  exchange(context, courier, aggregator, requester, couriered, arriving);
  context.counts.messages += couriered.messages() + arriving.messages();
  context.counts.bytes_sent += couriered.bytes_sent() + arriving.bytes_sent();
  return aggregator.error();
}

}  // namespace penstock
