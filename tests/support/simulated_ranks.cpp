#include "support/simulated_ranks.hpp"

#include <chrono>
#include <cstring>
#include <set>
#include <thread>

namespace penstock::test {

void MessageQueue::put(int tag, Message message) {
  const std::lock_guard guard(mutex_);
  messages_[tag][message.from].push_back(std::move(message));
}

std::optional<MessageQueue::Message> MessageQueue::take(int tag, std::optional<int> from) {
  const std::lock_guard guard(mutex_);
  const auto senders = messages_.find(tag);
  if (senders == messages_.end()) return std::nullopt;
  const auto queue = from ? senders->second.find(*from) : senders->second.begin();
  if (queue == senders->second.end()) return std::nullopt;
  Message message = std::move(queue->second.front());
  queue->second.pop_front();
  if (queue->second.empty()) senders->second.erase(queue);
  if (senders->second.empty()) messages_.erase(senders);
  if (message.taken) *message.taken = true;
  return message;
}

std::size_t MessageQueue::size() {
  const std::lock_guard guard(mutex_);
  std::size_t all = 0;
  for (const auto& [tag, senders] : messages_)
    for (const auto& [from, queue] : senders) all += queue.size();
  return all;
}

namespace {

class LocalTransport final : public Transport {
 public:
  LocalTransport(std::deque<MessageQueue>& queues, int rank, MessageCounts& sent)
      : queues_(queues), rank_(rank), sent_(sent) {}

  Request send(std::span<const std::byte> bytes, int to, int tag) override {
    put(bytes, to, tag, nullptr);
    return add({});
  }
  Request send_synchronously(std::span<const std::byte> bytes, int to, int tag) override {
    Pending pending;
    pending.taken = std::make_shared<std::atomic<bool>>(false);
    put(bytes, to, tag, pending.taken);
    return add(std::move(pending));
  }
  Request receive(std::span<std::byte> into, int from, int tag) override {
    Pending pending;
    pending.parts.push_back({into, from, tag});
    return add(std::move(pending));
  }
  Request exchange_with_all(const ToAll& what) override {
    constexpr int tag = -1;
    Pending pending;
    for (std::size_t i = 0; i < what.out_bytes.size(); ++i) {
      const auto out = static_cast<std::size_t>(what.out_bytes[i]);
      const auto in = static_cast<std::size_t>(what.in_bytes[i]);
      if (out > 0) put({what.out + what.out_offsets[i], out}, static_cast<int>(i), tag, nullptr);
      if (in > 0)
        pending.parts.push_back({{what.in + what.in_offsets[i], in}, static_cast<int>(i), tag});
    }
    return add(std::move(pending));
  }
  std::optional<RequestDescriptor> take_descriptor(int tag) override {
    std::optional<MessageQueue::Message> message = mine().take(tag, std::nullopt);
    if (!message) return std::nullopt;
    RequestDescriptor descriptor{message->from, {}};
    descriptor.words.resize(message->bytes.size() / sizeof(std::int64_t));
    std::memcpy(descriptor.words.data(), message->bytes.data(), message->bytes.size());
    return descriptor;
  }
  bool test(Request& request) override {
    if (!request.active()) return true;
    receive_what_is_here();
    const auto found = pending_.find(handle_of(request));
    if (!is_complete(found->second)) return false;
    pending_.erase(found);
    end(request);
    return true;
  }
  bool test_some(std::span<Request> requests, std::vector<int>& completed) override {
    bool any = false;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (!requests[i].active()) continue;
      any = true;
      if (test(requests[i])) completed.push_back(static_cast<int>(i));
    }
    return any;
  }
  void cancel(Request& request) noexcept override {
    pending_.erase(handle_of(request));
    end(request);
  }
  void work() noexcept override {}

 private:
  struct Part {
    std::span<std::byte> into;
    int from, tag;
  };
  struct Pending {
    std::vector<Part> parts;
    std::shared_ptr<std::atomic<bool>> taken;
  };

  MessageQueue& mine() { return queues_[static_cast<std::size_t>(rank_)]; }
  void put(std::span<const std::byte> bytes, int to, int tag,
           std::shared_ptr<std::atomic<bool>> taken) {
    const int kind = tag < 0 ? 1 : tag % MessageCounts::kinds;  // see Channel
    ++sent_.messages[kind];
    sent_.bytes[kind] += static_cast<std::int64_t>(bytes.size());
    queues_[static_cast<std::size_t>(to)].put(
        tag, {rank_, {bytes.begin(), bytes.end()}, std::move(taken)});
  }
  Request add(Pending pending) {
    pending_.emplace(++last_, std::move(pending));
    return make(last_);
  }
  static bool is_complete(const Pending& pending) {
    return pending.parts.empty() && (!pending.taken || *pending.taken);
  }
  /// Messages of one rank and tag match receives in the order in which these began, even if one
  /// arrives during the search.
  void receive_what_is_here() {
    std::set<std::pair<int, int>> without;
    const auto receive = [&](const Part& part) {
      const std::pair sender{part.from, part.tag};
      if (without.contains(sender)) return false;
      const bool received = receive_now(part);
      if (!received) without.insert(sender);
      return received;
    };
    for (auto& [handle, pending] : pending_) std::erase_if(pending.parts, receive);
  }
  bool receive_now(const Part& part) {
    const std::optional<MessageQueue::Message> message = mine().take(part.tag, part.from);
    if (!message) return false;
    if (message->bytes.size() > part.into.size())
      throw Error(ErrorClass::internal, "a message is longer than what it is received into");
    std::copy(message->bytes.begin(), message->bytes.end(), part.into.begin());
    return true;
  }

  std::deque<MessageQueue>& queues_;
  int rank_;
  MessageCounts& sent_;
  std::map<std::uintptr_t, Pending> pending_;
  std::uintptr_t last_ = 0;
};

/// One storage with several owners.
class View final : public Storage {
 public:
  explicit View(std::shared_ptr<Storage> shared) : shared_(std::move(shared)) {}
  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override {
    return shared_->move_some(direction, memory, offset);
  }
  std::int64_t size() override { return shared_->size(); }
  std::int64_t resize(std::int64_t bytes) override { return shared_->resize(bytes); }
  std::int64_t sync() override { return shared_->sync(); }
  std::unique_ptr<RangeLock> lock(Extent range, LockKind kind, int& error) override {
    return shared_->lock(range, kind, error);
  }
  const std::string& path() const override { return shared_->path(); }

 private:
  std::shared_ptr<Storage> shared_;
};

class Serial final : public Storage {
 public:
  explicit Serial(std::int64_t size) : inner_(make_memory_storage("simulated", size)) {}
  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override {
    const std::lock_guard guard(mutex_);
    return inner_->move_some(direction, memory, offset);
  }
  std::int64_t size() override {
    const std::lock_guard guard(mutex_);
    return inner_->size();
  }
  std::int64_t resize(std::int64_t bytes) override {
    const std::lock_guard guard(mutex_);
    return inner_->resize(bytes);
  }
  std::int64_t sync() override { return 0; }
  std::unique_ptr<RangeLock> lock(Extent, LockKind, int& error) override {
    error = EOPNOTSUPP;
    return nullptr;
  }
  const std::string& path() const override { return inner_->path(); }

 private:
  std::mutex mutex_;
  std::unique_ptr<Storage> inner_;
};

}  // namespace

std::shared_ptr<Storage> make_shared_storage(std::int64_t size) {
  return std::make_shared<Serial>(size);
}

std::unique_ptr<Storage> view_of(std::shared_ptr<Storage> shared) {
  return std::make_unique<View>(std::move(shared));
}

SimulatedRanks::SimulatedRanks(const Layout& layout, const MakeStorage& storage, FileUnits units)
    : queues_(static_cast<std::size_t>(layout.ranks)) {
  std::vector<int> nodes;
  for (int rank = 0; rank < layout.ranks; ++rank)
    nodes.push_back(layout.per_node > 0 ? rank / layout.per_node : rank);
  std::vector<std::unique_ptr<Team>> teams;
  if (layout.per_node > 0 && layout.ranks > 1) teams = Team::in_one_process(nodes);
  const Machine machine{layout.ranks,   layout.nodes(), layout.nodes(), true, 0,
                        !teams.empty(), false};
  for (int rank = 0; rank < layout.ranks; ++rank) {
    auto file_endpoint = std::make_unique<FileEndpoint>();
    file_endpoint->writers = layout.nodes();
    if (!teams.empty()) file_endpoint->team = std::move(teams[static_cast<std::size_t>(rank)]);
    Endpoint& endpoint = *file_endpoint;
    auto made = std::make_unique<Rank>(Communicator(rank, layout.ranks, std::move(file_endpoint)));
    endpoint.transport = std::make_unique<LocalTransport>(queues_, rank, made->sent);
    made->storage = storage(rank);
    auto buffered = made->background.file({1, static_cast<std::uint64_t>(rank)}, {}, "simulated",
                                          "rank " + std::to_string(rank));
    made->file = std::make_unique<OpenFile>(
        *made->storage, made->comm, made->background, std::move(buffered),
        CacheSpeed::of("simulated" + std::to_string(rank)), units, machine);
    ranks_.push_back(std::move(made));
  }
}

SimulatedRanks::~SimulatedRanks() {
  for (const auto& rank : ranks_)
    for (const auto& operation : rank->operations) {
      rank->file->io.buffered->drain();
      operation->abandon();
    }
}

std::size_t SimulatedRanks::left_over() {
  std::size_t all = 0;
  for (MessageQueue& queue : queues_) all += queue.size();
  return all;
}

std::shared_ptr<Operation> SimulatedRanks::begin(int rank, Access access, const Hints& hints,
                                                 std::optional<Background> background,
                                                 std::optional<Error> early, Company company) {
  Rank& mine = *ranks_[static_cast<std::size_t>(rank)];
  mine.operations.push_back(std::make_shared<Operation>(*mine.file, std::move(access), hints,
                                                        background, std::move(early), company));
  return mine.operations.back();
}

/// False: nothing has progressed.
bool SimulatedRanks::resume(Rank& rank) {
  bool moved = false;
  for (const auto& operation : rank.operations) {
    if (operation->has_ended()) continue;
    const std::int64_t before = operation->steps();
    operation->advance();
    moved = moved || operation->has_ended() || operation->steps() != before;
  }
  while (!rank.operations.empty() && rank.operations.front()->has_ended())
    rank.operations.pop_front();
  return moved;
}

bool SimulatedRanks::run(Random& random, const std::function<bool()>& over) {
  using Clock = std::chrono::steady_clock;
  const auto last = static_cast<std::int64_t>(ranks_.size()) - 1;
  Clock::time_point moved = Clock::now();
  for (int idle = 0; !over();) {
    if (resume(*ranks_[static_cast<std::size_t>(random.in(0, last))])) {
      moved = Clock::now();
      idle = 0;
    } else if (++idle > 64 * (last + 1)) {
      if (Clock::now() - moved > std::chrono::seconds(5)) return false;
      std::this_thread::yield();  // for I/O threads
    }
  }
  return true;
}

bool SimulatedRanks::run() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point moved = Clock::now();
  for (bool left = true; left;) {
    left = false;
    bool any = false;
    for (const auto& rank : ranks_) {
      any = resume(*rank) || any;
      left = left || !rank->operations.empty();
    }
    if (any) moved = Clock::now();
    else if (Clock::now() - moved > std::chrono::seconds(5)) return !left;
  }
  return true;
}

void SimulatedRanks::run_in_threads() {
  std::vector<std::thread> threads;
  for (const auto& rank : ranks_)
    threads.emplace_back([this, &mine = *rank] {
      drive_until(mine.comm.event(), /*crowded=*/true, [&] {
        const bool moved = resume(mine);
        return Progress{mine.operations.empty(), moved, Expect::messages};
      });
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace penstock::test
