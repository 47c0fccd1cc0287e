#include <algorithm>

#include "base/checked.hpp"
#include "engine/rounds.hpp"
#include "pattern/copy.hpp"

namespace penstock {
namespace {

void check(int code, const char* call) {
  Communicator::check(code, call);
}

/// Step 1 of the paper copies one byte at a time. The compiler is kept from making memcpy of it.
void copy_byte_by_byte(std::byte* to, std::int64_t to_step, const std::byte* from,
                       std::int64_t from_step, std::int64_t run, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i, to += to_step, from += from_step)
    for (std::int64_t k = 0; k < run; ++k) {
      to[k] = from[k];
      __asm__ volatile("" ::: "memory");
    }
}

}  // namespace

void Porter::copy(const Parcel& parcel, std::byte* packed, Direction direction) const {
  const Stopwatch watch(context_.counts.time_copy);
  const auto copy = byte_by_byte_ ? copy_byte_by_byte : copy_runs;
  const auto each = [&](std::byte* there, std::int64_t step, const Batch& b) {
    std::byte* const in_order = packed + b.packed;
    if (direction == Direction::write) copy(in_order, b.run, there, step, b.run, b.count);
    else copy(there, step, in_order, b.run, b.run, b.count);
  };
  if (parcel.window != nullptr)
    parcel.stream->for_each(0, parcel.bytes, [&](const Batch& b) {
      each(parcel.window->io.at(b.file), b.file_step, b);
    });
  else
    parcel.stream->for_each(access_.memory, 0, parcel.bytes,
                            [&](const Batch& b) { each(b.memory, b.memory_step, b); });
}

Messenger::Messenger(Context& context, Exchange exchange, const Porter& porter)
    : context_(context), exchange_(exchange), porter_(porter) {}

Messenger::~Messenger() {
  context_.pool.give(BufferPool::Use::messages, std::move(out_));
  context_.pool.give(BufferPool::Use::messages, std::move(in_));
}

void Messenger::make_room(Round& round) {
  const bool all_at_once = exchange_ == Exchange::step3 || exchange_ == Exchange::step4 ||
                           exchange_ == Exchange::alltoallw;
  std::int64_t in = 0, out = 0;
  for (Parcel& parcel : round.incoming) {
    parcel.place = in;
    in += parcel.bytes;
  }
  for (Parcel& parcel : round.outgoing) {
    parcel.place = all_at_once ? out : 0;
    out = all_at_once ? out + parcel.bytes : std::max(out, parcel.bytes);
  }
  const auto grow = [&](Buffer& buffer, std::int64_t bytes) {
    if (buffer.size() >= bytes) return;
    context_.pool.give(BufferPool::Use::messages, std::move(buffer));
    buffer = context_.pool.take(BufferPool::Use::messages, bytes, &context_.gauge);
  };
  grow(out_, out);
  grow(in_, in);
}

void Messenger::begin(Round& round) {
  const Stopwatch watch(context_.counts.time_exchange);
  switch (exchange_) {
    case Exchange::step1:
    case Exchange::step2: return ring(round);
    case Exchange::step3: return post_sends(round), post_receives(round);
    case Exchange::step4: return post_receives(round), post_sends(round);
    case Exchange::step5: return post_receives(round), send_one_by_one(round);
    default: return start_alltoallw(round);
  }
}

void Messenger::finish(Round& round) {
  const Stopwatch watch(context_.counts.time_exchange);
  take_arrived(round, /*wait_for_all=*/true);
  complete_sends();
  if (exchange_ == Exchange::alltoallw || !round.any_order) unpack_received(round);
}

void Messenger::complete_sends() {
  for (Wait wait; !sends_.empty();) {
    int done = 0;
    check(MPI_Testall(static_cast<int>(sends_.size()), sends_.data(), &done, MPI_STATUSES_IGNORE),
          "MPI_Testall");
    if (done) sends_.clear();
    else wait.poll();
  }
}

void Messenger::send(const Parcel& parcel, const std::byte* from) {
  sends_.emplace_back();
  check(MPI_Isend(from, checked_cast<int>(parcel.bytes), MPI_BYTE, parcel.peer, context_.data_tag(),
                  context_.comm.handle(), &sends_.back()),
        "MPI_Isend");
  ++context_.counts.messages;
  context_.counts.bytes_sent += parcel.bytes;
}

void Messenger::receive(const Parcel& parcel) {
  receives_.emplace_back();
  check(MPI_Irecv(in_.data() + parcel.place, checked_cast<int>(parcel.bytes), MPI_BYTE, parcel.peer,
                  context_.data_tag(), context_.comm.handle(), &receives_.back()),
        "MPI_Irecv");
}

/// Of ranks that still do something, take those with the least distance: whom they send to does
/// the same distance, so that the two meet. Hence no rank waits for ever, even if no message is
/// buffered. Both are complete before the next begin, as in blocking calls, which would spin.
void Messenger::ring(Round& round) {
  const int ranks = context_.comm.size(), me = context_.comm.rank();
  auto out = round.outgoing.begin();
  auto in = round.incoming.begin();
  while (out != round.outgoing.end() || in != round.incoming.end()) {
    const int to = out == round.outgoing.end() ? ranks : (out->peer - me + ranks) % ranks;
    const int from = in == round.incoming.end() ? ranks : (me - in->peer + ranks) % ranks;
    Parcel* const leaving = to <= from ? &*out : nullptr;
    Parcel* const coming = from <= to ? &*in : nullptr;
    if (coming) receive(*coming);
    if (leaving) {
      porter_.pack(*leaving, out_.data());
      send(*leaving, out_.data());
      ++out;
    }
    complete_sends();
    if (!coming) continue;
    Communicator::wait(receives_.back(), "MPI_Irecv");
    receives_.clear();
    if (round.any_order) porter_.unpack(*coming, in_.data() + coming->place);
    ++in;
  }
}

void Messenger::post_sends(Round& round) {
  for (const Parcel& parcel : round.outgoing) {
    porter_.pack(parcel, out_.data() + parcel.place);
    send(parcel, out_.data() + parcel.place);
  }
}

void Messenger::post_receives(Round& round) {
  for (const Parcel& parcel : round.incoming) receive(parcel);
}

/// Every receive of this round is posted before anybody's first send can wait for it.
void Messenger::send_one_by_one(Round& round) {
  for (const Parcel& parcel : round.outgoing) {
    porter_.pack(parcel, out_.data());
    send(parcel, out_.data());
    complete_sends();
    take_arrived(round, /*wait_for_all=*/false);
  }
}

void Messenger::start_alltoallw(Round& round) {
  const auto ranks = static_cast<std::size_t>(context_.comm.size());
  types_.assign(ranks, MPI_BYTE);
  for (int side = 0; side < 2; ++side) {
    counts_[side].assign(ranks, 0);
    places_[side].assign(ranks, 0);
    for (const Parcel& parcel : side == 0 ? round.outgoing : round.incoming) {
      counts_[side][static_cast<std::size_t>(parcel.peer)] = checked_cast<int>(parcel.bytes);
      places_[side][static_cast<std::size_t>(parcel.peer)] = checked_cast<int>(parcel.place);
    }
  }
  for (const Parcel& parcel : round.outgoing) {
    porter_.pack(parcel, out_.data() + parcel.place);
    ++context_.counts.messages;
    context_.counts.bytes_sent += parcel.bytes;
  }
  sends_.emplace_back();
  ++context_.counts.synchronisations;
  check(MPI_Ialltoallw(out_.data(), counts_[0].data(), places_[0].data(), types_.data(), in_.data(),
                       counts_[1].data(), places_[1].data(), types_.data(), context_.comm.handle(),
                       &sends_.back()),
        "MPI_Ialltoallw");
}

void Messenger::take_arrived(Round& round, bool wait_for_all) {
  if (receives_.empty()) return;
  arrived_.resize(receives_.size());
  for (Wait wait;;) {
    int count = 0;
    check(MPI_Testsome(static_cast<int>(receives_.size()), receives_.data(), &count,
                       arrived_.data(), MPI_STATUSES_IGNORE),
          "MPI_Testsome");
    if (count == MPI_UNDEFINED) break;  // all are here
    if (round.any_order)
      for (int i = 0; i < count; ++i) {
        const Parcel& parcel =
            round.incoming[static_cast<std::size_t>(arrived_[static_cast<std::size_t>(i)])];
        porter_.unpack(parcel, in_.data() + parcel.place);
      }
    if (!wait_for_all) return;
    if (count == 0) wait.poll();
    else wait.restart();
  }
  receives_.clear();
}

void Messenger::unpack_received(Round& round) {
  std::sort(round.incoming.begin(), round.incoming.end(),
            [](const Parcel& a, const Parcel& b) { return a.peer < b.peer; });
  for (const Parcel& parcel : round.incoming) porter_.unpack(parcel, in_.data() + parcel.place);
}

}  // namespace penstock
