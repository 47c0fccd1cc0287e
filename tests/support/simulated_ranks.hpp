// Ranks that are no MPI processes: all of them are in this process, and exchange messages through
// queues. What they run is the engine as it is, from Operation down to the node exchange with its
// shared memory.
//
// One thread may go on with all of them, in any order: so a test can try orders that real processes
// come to once in a million runs, and 4,096 ranks need no 4,096 cores. Or each has a thread.
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

/// Messages that are on their way to one rank.
class MessageQueue {
 public:
  struct Message {
    int from = 0;
    std::vector<std::byte> bytes;
    std::shared_ptr<std::atomic<bool>> taken;  // null: nobody asks
  };
  void put(int tag, Message message);
  /// The oldest of a rank, or of any.
  std::optional<Message> take(int tag, std::optional<int> from);
  std::size_t size();

 private:
  std::mutex mutex_;
  std::map<int, std::map<int, std::deque<Message>>> messages_;  // by tag and sender
};

/// What a rank has sent, by what it was: request descriptors, data, descriptors between
/// nodes, agreements.
struct MessageCounts {
  static constexpr int kinds = 4;
  std::int64_t messages[kinds] = {}, bytes[kinds] = {};
};

/// The nodes of all ranks, in blocks; 0 ranks a node: no shared memory.
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
  /// What has been sent and never received.
  std::size_t left_over();

  /// Begins an operation. It goes on with run().
  std::shared_ptr<Operation> begin(int rank, Access access, const Hints& hints,
                                   std::optional<Background> background = std::nullopt,
                                   std::optional<Error> early = std::nullopt,
                                   Company company = Company::collective);
  /// Until `over()`, whose ranks go on in a random order. False: nothing has moved for seconds.
  bool run(Random& random, const std::function<bool()>& over);
  /// Until all that has begun has ended, rank after rank.
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
  bool go_on(Rank& rank);

  std::deque<MessageQueue> queues_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

/// Storage that all ranks see: what one writes the others read.
std::shared_ptr<Storage> make_shared_storage(std::int64_t size);
std::unique_ptr<Storage> view_of(std::shared_ptr<Storage> shared);

}  // namespace penstock::test
