// Before the first byte of a collective call moves: ranks send request descriptors to the
// aggregators, and each aggregator builds its file domain access table (FDAT). No rank has the
// requests of all ranks.
#include <algorithm>
#include <map>

#include "engine/node.hpp"
#include "mpi/discover.hpp"

namespace penstock {
namespace {

using Descriptors = std::vector<RequestDescriptor>;

/// Descriptors to other ranks count as messages.
Task<Descriptors> send(Context& context, Descriptors descriptors, int tag) {
  ++context.record.counts.synchronisations;
  for (const RequestDescriptor& descriptor : descriptors) {
    if (descriptor.rank == context.comm.rank()) continue;
    ++context.record.counts.messages;
    context.record.counts.bytes_sent +=
        static_cast<std::int64_t>(descriptor.words.size() * sizeof descriptor.words.front());
  }
  co_return co_await exchange_descriptors(context.channel, std::move(descriptors), tag);
}

Task<DomainTable> describe_to_aggregators(Context& context, const Access& access, const Plan& plan,
                                          const Neighbours& touched) {
  Descriptors descriptors;
  for (const std::int64_t aggregator : touched)
    descriptors.push_back(
        {plan.rank_of(aggregator), access.file.encode(plan.domains.hull(aggregator))});
  DomainTable table(plan, plan.aggregator_of(context.comm.rank()), access.overlap);
  descriptors = co_await send(context, std::move(descriptors), context.channel.request_tag());
  for (const RequestDescriptor& descriptor : descriptors)
    table.add(descriptor.rank, Footprint::decode(descriptor.words));
  table.finalize();
  co_return table;
}

Descriptors in_rank_order(Descriptors descriptors) {
  std::ranges::sort(descriptors, {}, &RequestDescriptor::rank);
  return descriptors;
}

/// Descriptors of this node's ranks, in rank order. Short ones are in the mailboxes since the
/// agreement on entry.
Task<Descriptors> local_descriptors(Context& context, const Access& access, const NodeRoles& roles,
                                    const Neighbours& touched, bool in_mailboxes) {
  Team& team = *context.comm.team();
  Descriptors descriptors;
  if (in_mailboxes) {
    const auto turn = context.channel.number % 2;
    for (int local_rank = 0; local_rank < team.size(); ++local_rank) {
      const Team::Mailbox& mailbox = team.mailbox(local_rank);
      descriptors.push_back(
          {team.members()[static_cast<std::size_t>(local_rank)],
           {mailbox.descriptor[turn], mailbox.descriptor[turn] + mailbox.words[turn]}});
    }
    co_return descriptors;
  }
  std::vector<int> owners;
  for (const std::int64_t aggregator : touched) owners.push_back(roles.owner_of(aggregator));
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  const std::vector<std::int64_t> words = access.file.encode();
  for (const int owner : owners)
    descriptors.push_back({team.members()[static_cast<std::size_t>(owner)], words});
  co_return in_rank_order(
      co_await send(context, std::move(descriptors), context.channel.request_tag()));
}

/// Tables of those aggregators on other nodes that this rank is the proxy of and that the node's
/// ranks touch. Each gets its own part of an irregular request: all tables together are as large as
/// the requests.
std::vector<DomainTable> make_proxy_tables(const Team& team, const Plan& plan,
                                           const NodeRoles& roles, const Descriptors& local) {
  std::map<std::int64_t, DomainTable> tables;
  for (const RequestDescriptor& descriptor : local) {
    const Footprint whole = Footprint::decode(descriptor.words);
    for (const std::int64_t aggregator : touched_aggregators(plan.domains, whole)) {
      if (roles.is_local(aggregator) || roles.owner_of(aggregator) != team.rank()) continue;
      const auto table = tables.try_emplace(aggregator, plan, aggregator).first;
      const std::vector<std::int64_t> part = whole.encode(plan.domains.hull(aggregator));
      table->second.add(descriptor.rank, Footprint::decode(part));
    }
  }
  std::vector<DomainTable> made;
  for (auto& [aggregator, table] : tables) {
    table.finalize();
    if (!table.sources().empty()) made.push_back(std::move(table));
  }
  return made;
}

/// Sends each aggregator on another node one descriptor, joined from those of this node's ranks:
/// per rank its number, the number of words, and the words. Returns what other nodes have sent,
/// rank by rank.
Task<Descriptors> between_nodes(Context& context, const Plan& plan,
                                const std::vector<DomainTable>& tables) {
  Descriptors descriptors;
  for (const DomainTable& table : tables) {
    RequestDescriptor joined{plan.rank_of(table.aggregator()), {}};
    for (const DomainTable::Source& source : table.sources()) {
      const std::vector<std::int64_t> words =
          source.footprint.encode(plan.domains.hull(table.aggregator()));
      joined.words.push_back(source.rank);
      joined.words.push_back(static_cast<std::int64_t>(words.size()));
      joined.words.insert(joined.words.end(), words.begin(), words.end());
    }
    descriptors.push_back(std::move(joined));
  }
  descriptors = co_await send(context, std::move(descriptors), context.channel.bundle_tag());
  Descriptors unpacked;
  for (const RequestDescriptor& joined : descriptors)
    for (std::size_t at = 0; at < joined.words.size();) {
      const auto begin = joined.words.begin() + static_cast<std::ptrdiff_t>(at) + 2;
      const std::int64_t words = joined.words[at + 1];
      unpacked.push_back({static_cast<int>(joined.words[at]), {begin, begin + words}});
      at += 2 + static_cast<std::size_t>(words);
    }
  co_return unpacked;
}

DomainTable own_table(Context& context, const Plan& plan, Overlap overlap,
                      Descriptors descriptors) {
  DomainTable table(plan, plan.aggregator_of(context.comm.rank()), overlap);
  descriptors = in_rank_order(std::move(descriptors));
  if (table.aggregator() >= 0)
    for (const RequestDescriptor& descriptor : descriptors)
      table.add(descriptor.rank, Footprint::decode(descriptor.words));
  table.finalize();
  return table;
}

}  // namespace

Task<> prepare_in_node(Context& context, const Access& access, const Plan& plan, const Demand& all,
                       Prepared& prepared) {
  Team& team = *context.comm.team();
  const NodeRoles roles(team, plan);
  const bool in_mailboxes = all.words <= Team::descriptor_words;
  Descriptors descriptors =
      co_await local_descriptors(context, access, roles, prepared.touched, in_mailboxes);
  if (team.nodes() > 1) {
    prepared.proxy_tables = make_proxy_tables(team, plan, roles, descriptors);
    Descriptors others = co_await between_nodes(context, plan, prepared.proxy_tables);
    for (RequestDescriptor& descriptor : others) descriptors.push_back(std::move(descriptor));
  }
  prepared.table.emplace(own_table(context, plan, access.overlap, std::move(descriptors)));
  if (access.writes()) prepared.table->count_overlaps(context);
  if (team.nodes() == 1 || !access.writes()) co_return;
  // The highest rank wins where requests overlap. Bundles of several nodes would have to wait for
  // each other's ranks; messages of single ranks already keep that order.
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
  else
    prepared.table.emplace(
        co_await describe_to_aggregators(context, access, plan, prepared.touched));
  if (access.writes() && plan.exchange != Exchange::node) prepared.table->count_overlaps(context);
  // In the node exchange, ranks continue copying into other windows while one is being written. So
  // no thread is needed, unless several windows can be in flight or the target is a device: a
  // thread that waits for a device needs no core, and others may wait for this rank's copies.
  const bool background = prepared.exchange != Exchange::node ||
                          context.storage.completes_later() || !context.machine.page_cache;
  prepared.queue =
      std::make_unique<WindowQueue>(context, plan, hints, access.direction, background);
  // The memory for `node` exists already; other buffers would come on top of it.
  if (plan.exchange == Exchange::node && prepared.exchange == Exchange::sparse)
    prepared.queue->lie_in(context.file.staging, context.comm.team()->rank());
  co_return prepared;
}

}  // namespace penstock
