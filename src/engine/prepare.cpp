// Before the first byte of a collective call moves: who wants what of which domain. The file domain
// access table (FDAT) of each aggregator forms there; nobody ever holds the requests of all ranks.
#include <algorithm>

#include "engine/node.hpp"
#include "mpi/discover.hpp"

namespace penstock {
namespace {

/// Descriptions of requests, by rank.
using Letters = std::vector<Letter>;

/// Delivers them. What goes to other ranks counts like any message.
Task<Letters> send(Context& context, Letters letters, int tag) {
  ++context.record.counts.synchronisations;
  for (const Letter& letter : letters) {
    if (letter.rank == context.comm.rank()) continue;
    ++context.record.counts.messages;
    context.record.counts.bytes_sent +=
        static_cast<std::int64_t>(letter.words.size() * sizeof letter.words.front());
  }
  co_return co_await deliver(context.channel, std::move(letters), tag);
}

Task<DomainTable> tell_aggregators(Context& context, const Access& access, const Plan& plan,
                                   const Neighbours& touched) {
  Letters letters;
  for (const std::int64_t aggregator : touched)
    letters.push_back(
        {plan.rank_of(aggregator), access.file.encode(plan.domains.hull(aggregator))});
  DomainTable table(plan, plan.aggregator_of(context.comm.rank()), access.overlap);
  letters = co_await send(context, std::move(letters), context.channel.request_tag());
  for (const Letter& letter : letters) table.add(letter.rank, Footprint::decode(letter.words));
  table.settle();
  co_return table;
}

/// Descriptions of this node's ranks. Short ones lie on the desks since the agreement on entry.
Task<Letters> local_letters(Context& context, const Access& access, const NodeRoles& roles,
                            const Neighbours& touched, bool on_desks) {
  Team& team = *context.comm.team();
  Letters letters;
  if (on_desks) {
    const auto turn = context.channel.number % 2;
    for (int place = 0; place < team.size(); ++place) {
      const Team::Desk& desk = team.desk(place);
      letters.push_back({team.members()[static_cast<std::size_t>(place)],
                         {desk.letter[turn], desk.letter[turn] + desk.words[turn]}});
    }
    co_return letters;
  }
  std::vector<int> owners;
  for (const std::int64_t aggregator : touched) owners.push_back(roles.owner_of(aggregator));
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  const std::vector<std::int64_t> words = access.file.encode();
  for (const int owner : owners)
    letters.push_back({team.members()[static_cast<std::size_t>(owner)], words});
  co_return co_await send(context, std::move(letters), context.channel.request_tag());
}

std::vector<DomainTable> courier_tables(Context& context, const Plan& plan, const NodeRoles& roles,
                                        const Letters& local) {
  std::vector<DomainTable> tables;
  const Team& team = *context.comm.team();
  for (std::int64_t a = 0; a < plan.domains.aggregators(); ++a) {
    if (roles.is_local(a) || roles.owner_of(a) != team.rank()) continue;
    DomainTable table(plan, a);
    for (const Letter& letter : local) table.add(letter.rank, Footprint::decode(letter.words));
    table.settle();
    if (!table.sources().empty()) tables.push_back(std::move(table));
  }
  return tables;
}

/// One letter per node and aggregator: rank, number of words, words, of each rank in it.
Task<Letters> between_nodes(Context& context, const Plan& plan,
                            const std::vector<DomainTable>& tables) {
  Letters letters;
  for (const DomainTable& table : tables) {
    Letter letter{plan.rank_of(table.aggregator()), {}};
    for (const DomainTable::Source& source : table.sources()) {
      const std::vector<std::int64_t> words =
          source.footprint.encode(plan.domains.hull(table.aggregator()));
      letter.words.push_back(source.rank);
      letter.words.push_back(static_cast<std::int64_t>(words.size()));
      letter.words.insert(letter.words.end(), words.begin(), words.end());
    }
    letters.push_back(std::move(letter));
  }
  letters = co_await send(context, std::move(letters), context.channel.bundle_tag());
  Letters unpacked;
  for (const Letter& letter : letters)
    for (std::size_t at = 0; at < letter.words.size();) {
      const auto begin = letter.words.begin() + static_cast<std::ptrdiff_t>(at) + 2;
      const std::int64_t words = letter.words[at + 1];
      unpacked.push_back({static_cast<int>(letter.words[at]), {begin, begin + words}});
      at += 2 + static_cast<std::size_t>(words);
    }
  co_return unpacked;
}

DomainTable own_table(Context& context, const Plan& plan, Overlap overlap, Letters letters) {
  DomainTable table(plan, plan.aggregator_of(context.comm.rank()), overlap);
  std::sort(letters.begin(), letters.end(),
            [](const Letter& a, const Letter& b) { return a.rank < b.rank; });
  if (table.aggregator() >= 0)
    for (const Letter& letter : letters) table.add(letter.rank, Footprint::decode(letter.words));
  table.settle();
  return table;
}

}  // namespace

Task<> prepare_in_node(Context& context, const Access& access, const Plan& plan, const Demand& all,
                       Prepared& prepared) {
  Team& team = *context.comm.team();
  const NodeRoles roles(team, plan);
  const bool on_desks = all.words <= Team::letter_words;
  Letters letters = co_await local_letters(context, access, roles, prepared.touched, on_desks);
  if (team.nodes() > 1) {
    prepared.passed_on = courier_tables(context, plan, roles, letters);
    Letters others = co_await between_nodes(context, plan, prepared.passed_on);
    for (Letter& letter : others) letters.push_back(std::move(letter));
  }
  prepared.table.emplace(own_table(context, plan, access.overlap, std::move(letters)));
  if (access.writes()) prepared.table->count_overlaps(context);
  if (team.nodes() == 1 || !access.writes()) co_return;
  // The highest rank wins wherever requests overlap. Bundles of several nodes would have to wait
  // for each other's ranks; messages of single ranks already keep that order.
  ++context.record.counts.synchronisations;
  const bool overlap = co_await any_rank(context.channel, !prepared.table->any_order());
  if (overlap) prepared.exchange = Exchange::sparse;
}

Task<Prepared> prepare(Context& context, const Access& access, const Plan& plan, const Hints& hints,
                       const Demand& all) {
  Prepared prepared;
  prepared.touched = touched_aggregators(plan.domains, access.file);
  prepared.exchange = plan.exchange;
  if (plan.exchange == Exchange::node)
    co_await prepare_in_node(context, access, plan, all, prepared);
  else prepared.table.emplace(co_await tell_aggregators(context, access, plan, prepared.touched));
  if (access.writes() && plan.exchange != Exchange::node) prepared.table->count_overlaps(context);
  // In the node exchange ranks go on copying into other windows while one is at the storage: no
  // thread, unless windows can be at the storage together.
  const bool background = prepared.exchange != Exchange::node || context.storage.completes_later();
  prepared.queue =
      std::make_unique<WindowQueue>(context, plan, hints, access.direction, background);
  // The memory that was made for `node` is there; other buffers would come on top of it.
  if (plan.exchange == Exchange::node && prepared.exchange == Exchange::sparse)
    prepared.queue->lie_in(context.file.staging, context.comm.team()->rank());
  co_return prepared;
}

}  // namespace penstock
