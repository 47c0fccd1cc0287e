// The exchanges that go round by round, all ranks in step: step1 to step5 of Dickens & Thakur,
// *Evaluation of Collective I/O Implementations on Parallel Architectures*, section 3.3, and one
// MPI_Ialltoallw per round. They differ only in how the messages of a round travel
// (rounds_messages.cpp).
//
// A round: one rank's bytes for the current window of one aggregator are a parcel. A write packs
// parcels out of user memory and unpacks them into windows; a read the other way round. Both ends
// derive the parcels from the same sections, so only bytes are sent.
//
// Memory: the parcels that a rank receives in a round, and those that it sends: all of them in
// step3, step4 and alltoallw, the largest in step1, step2 and step5. That follows the paper; where
// many aggregators serve one rank, or requests overlap, it is more than twice the buffer. It is
// kept between calls.
#pragma once

#include <vector>

#include "base/task.hpp"
#include "engine/exchanges.hpp"
#include "mpi/transport.hpp"

namespace penstock {

struct Parcel {
  int peer;
  std::int64_t bytes;
  const WindowStream* stream;  // the bytes it carries
  Window* window;              // null: they lie in user memory
  std::int64_t offset = 0;     // in the buffer of parcels to send, or of those received
};

/// Packs parcels into message buffers and unpacks them.
class Packer {
 public:
  Packer(Context& context, const Access& access, bool byte_by_byte)
      : context_(context), access_(access), byte_by_byte_(byte_by_byte) {}
  void pack(const Parcel& parcel, std::byte* to) const { copy(parcel, to, Direction::write); }
  void unpack(const Parcel& parcel, std::byte* from) const { copy(parcel, from, Direction::read); }

 private:
  void copy(const Parcel& parcel, std::byte* packed, Direction direction) const;

  Context& context_;
  const Access& access_;
  bool byte_by_byte_;
};

/// One round's parcels, in ring order: first those of the next rank.
struct Round {
  std::vector<Parcel> outgoing, incoming;
  /// Unpack on arrival; otherwise after the last one, in rank order.
  bool any_order = true;
};

/// Sends and receives the parcels of one round, in two steps so that other work can be done while
/// most messages are in flight.
class Messenger {
 public:
  Messenger(Context& context, Exchange exchange, const Packer& packer);
  ~Messenger();
  Messenger(const Messenger&) = delete;
  Task<> begin(Round& round);
  Task<> finish(Round& round);

 private:
  void make_room(Round& round);
  Task<> ring(Round& round);
  void post_sends(Round& round);
  void post_receives(Round& round);
  Task<> send_one_by_one(Round& round);
  void start_alltoallw(Round& round);
  Task<> await_arrival(Round& round);
  bool take_arrived(Round& round);
  void unpack_received(Round& round);
  void send(const Parcel& parcel, const std::byte* from);
  void receive(const Parcel& parcel);
  Task<> complete_sends();

  Context& context_;
  Transport* transport_;
  Exchange exchange_;
  const Packer& packer_;
  Buffer out_, in_;
  std::vector<Transport::Request> sends_, receives_;
  std::vector<int> completed_;
  Transport::ToAll to_all_;
};

}  // namespace penstock
