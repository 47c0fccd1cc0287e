// Ranks that are not MPI processes: all of them are in this process, and exchange messages through
// queues. They run the real engine, from Operation down to the node exchange with its shared
// memory.
//
// One thread may progress all of them, in any order: so a test can try orders that real processes
// reach once in a million runs, and 4,096 ranks do not need 4,096 cores. Or each has a thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/operation.hpp"
#include "mpi/drive.hpp"
#include "support/random.hpp"

namespace penstock::test {

/// Messages in flight to one rank.
class MessageQueue {
 public:
  struct Message {
    int from = 0;
    std::vector<std::byte> bytes;
    std::shared_ptr<std::atomic<bool>> taken;  // null: nobody asks
  };
  void put(int tag, Message message);
  /// The oldest message from a rank, or from any.
  std::optional<Message> take(int tag, std::optional<int> from);
  std::size_t size();

 private:
  std::mutex mutex_;
  std::map<int, std::map<int, std::deque<Message>>> messages_;  // by tag and sender
};

/// What a rank has sent, by kind: request descriptors, data, descriptors between nodes, agreements.
struct MessageCounts {
  static constexpr int kinds = 4;
  std::int64_t messages[kinds] = {}, bytes[kinds] = {};
};

/// The nodes of all ranks, in blocks; 0 ranks per node: no shared memory.
struct Layout {
  int ranks = 1, per_node = 1;
  int nodes() const noexcept { return per_node > 0 ? (ranks + per_node - 1) / per_node : ranks; }
};

/// One file, open on all ranks.
class SimulatedRanks {
 public:
  using MakeStorage = std::function<std::unique_ptr<Storage>(int rank)>;

  SimulatedRanks(const Layout& layout, const MakeStorage& storage, FileUnits units);
  ~SimulatedRanks();

  int size() const noexcept { return static_cast<int>(ranks_.size()); }
  OpenFile& file(int rank) { return *ranks_[static_cast<std::size_t>(rank)]->file; }
  const Communicator& comm(int rank) { return ranks_[static_cast<std::size_t>(rank)]->comm; }
  const MessageCounts& sent(int rank) { return ranks_[static_cast<std::size_t>(rank)]->sent; }
  /// Messages that were sent and never received.
  std::size_t left_over();

  /// Begins an operation. run() progresses it.
  std::shared_ptr<Operation> begin(int rank, Access access, const Hints& hints,
                                   std::optional<Background> background = std::nullopt,
                                   std::optional<Error> early = std::nullopt,
                                   Company company = Company::collective);
  /// Resumes ranks in random order until `over()`. False: nothing has progressed for seconds.
  bool run(Random& random, const std::function<bool()>& over);
  /// Until everything has ended, rank after rank.
  bool run();
  /// The same, each rank in a thread of its own.
  void run_in_threads();

 private:
  struct Rank {
    Communicator comm;
    MessageCounts sent;
    BackgroundIo background;
    std::unique_ptr<Storage> storage;
    std::unique_ptr<OpenFile> file;
    std::deque<std::shared_ptr<Operation>> operations;

    explicit Rank(Communicator c) : comm(std::move(c)) {}
  };
  bool resume(Rank& rank);

  std::deque<MessageQueue> queues_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

/// Storage shared by all ranks.
std::shared_ptr<Storage> make_shared_storage(std::int64_t size);
std::unique_ptr<Storage> view_of(std::shared_ptr<Storage> shared);

}  // namespace penstock::test
