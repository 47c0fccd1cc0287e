#include <algorithm>

#include "base/checked.hpp"
#include "engine/rounds.hpp"
#include "pattern/copy.hpp"

namespace penstock {
namespace {

/// Step 1 of the paper copies one byte at a time. Written so that the compiler does not make it a
/// memcpy.
void copy_byte_by_byte(std::byte* to, std::int64_t to_step, const std::byte* from,
                       std::int64_t from_step, std::int64_t run, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i, to += to_step, from += from_step)
    for (std::int64_t k = 0; k < run; ++k) {
      to[k] = from[k];
      __asm__ volatile("" ::: "memory");
    }
}

}  // namespace

void Packer::copy(const Parcel& parcel, std::byte* packed, Direction direction) const {
  const Timed watch(context_.record, Phase::copy, parcel.bytes);
  const auto copy = byte_by_byte_ ? copy_byte_by_byte : copy_runs;
  const auto each = [&](std::byte* there, std::int64_t step, const Batch& b) {
    std::byte* const in_order = packed + b.packed;
    if (direction == Direction::write) copy(in_order, b.run, there, step, b.run, b.count);
    else copy(there, step, in_order, b.run, b.run, b.count);
  };
  if (parcel.window != nullptr)
    parcel.stream->for_each(0, parcel.bytes, [&](const Batch& b) {
      each(parcel.window->io().at(b.file), b.file_step, b);
    });
  else
    parcel.stream->for_each(access_.memory, 0, parcel.bytes,
                            [&](const Batch& b) { each(b.memory, b.memory_step, b); });
}

Messenger::Messenger(Context& context, Exchange exchange, const Packer& packer)
    : context_(context), transport_(context.transport()), exchange_(exchange), packer_(packer) {}

Messenger::~Messenger() {
  // Requests are left only after an exception (a defect); their memory must outlive them.
  for (auto* const requests : {&sends_, &receives_})
    for (Transport::Request& request : *requests)
      if (request.active()) transport_->cancel(request);
  context_.pool.give(BufferPool::Use::messages, std::move(out_));
  context_.pool.give(BufferPool::Use::messages, std::move(in_));
}

void Messenger::make_room(Round& round) {
  const bool all_at_once = exchange_ == Exchange::step3 || exchange_ == Exchange::step4 ||
                           exchange_ == Exchange::alltoallw;
  std::int64_t in = 0, out = 0;
  for (Parcel& parcel : round.incoming) {
    parcel.offset = in;
    in += parcel.bytes;
  }
  for (Parcel& parcel : round.outgoing) {
    parcel.offset = all_at_once ? out : 0;
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

Task<> Messenger::begin(Round& round) {
  make_room(round);
  std::int64_t sent = 0;
  for (const Parcel& parcel : round.outgoing) sent += parcel.bytes;
  const Timed watch(context_.record, Phase::exchange, sent);
  switch (exchange_) {
    case Exchange::step1:
    case Exchange::step2: co_await ring(round); break;
    case Exchange::step3:
      post_sends(round);
      post_receives(round);
      break;
    case Exchange::step4:
      post_receives(round);
      post_sends(round);
      break;
    case Exchange::step5:
      post_receives(round);
      co_await send_one_by_one(round);
      break;
    default: start_alltoallw(round);
  }
}

Task<> Messenger::finish(Round& round) {
  const Timed watch(context_.record, Phase::exchange);
  co_await await_arrival(round);
  co_await complete_sends();
  if (exchange_ == Exchange::alltoallw || !round.any_order) unpack_received(round);
}

Task<> Messenger::complete_sends() {
  co_await until(Expect::messages, [&] {
    completed_.clear();
    return sends_.empty() || !transport_->test_some(sends_, completed_);
  });
  sends_.clear();
}

void Messenger::send(const Parcel& parcel, const std::byte* from) {
  sends_.push_back(transport_->send({from, static_cast<std::size_t>(parcel.bytes)}, parcel.peer,
                                    context_.channel.data_tag()));
  ++context_.record.counts.messages;
  context_.record.counts.bytes_sent += parcel.bytes;
}

void Messenger::receive(const Parcel& parcel) {
  receives_.push_back(
      transport_->receive({in_.data() + parcel.offset, static_cast<std::size_t>(parcel.bytes)},
                          parcel.peer, context_.channel.data_tag()));
}

/// Parcels in the order of the distance to the peer. Of the unfinished ranks, one with the least
/// distance sends to a rank that receives at the same distance, so both are at the same step: no
/// deadlock, even if MPI buffers no message. Send and receive of a distance complete before the
/// next ones begin, as in blocking calls, but without spinning.
Task<> Messenger::ring(Round& round) {
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
      packer_.pack(*leaving, out_.data());
      send(*leaving, out_.data());
      ++out;
    }
    co_await complete_sends();
    if (!coming) continue;
    co_await until(Expect::messages, [&] { return transport_->test(receives_.back()); });
    receives_.clear();
    if (round.any_order) packer_.unpack(*coming, in_.data() + coming->offset);
    ++in;
  }
}

void Messenger::post_sends(Round& round) {
  for (const Parcel& parcel : round.outgoing) {
    packer_.pack(parcel, out_.data() + parcel.offset);
    send(parcel, out_.data() + parcel.offset);
  }
}

void Messenger::post_receives(Round& round) {
  for (const Parcel& parcel : round.incoming) receive(parcel);
}

/// Every receive of this round is posted before the first send can wait for it.
Task<> Messenger::send_one_by_one(Round& round) {
  for (const Parcel& parcel : round.outgoing) {
    packer_.pack(parcel, out_.data());
    send(parcel, out_.data());
    co_await complete_sends();
    take_arrived(round);
  }
}

void Messenger::start_alltoallw(Round& round) {
  if (transport_ == nullptr) return;
  const auto ranks = static_cast<std::size_t>(context_.comm.size());
  const auto lay_out = [&](const std::vector<Parcel>& parcels, std::vector<int>& bytes,
                           std::vector<int>& offsets) {
    bytes.assign(ranks, 0);
    offsets.assign(ranks, 0);
    for (const Parcel& parcel : parcels) {
      bytes[static_cast<std::size_t>(parcel.peer)] = checked_cast<int>(parcel.bytes);
      offsets[static_cast<std::size_t>(parcel.peer)] = checked_cast<int>(parcel.offset);
    }
  };
  lay_out(round.outgoing, to_all_.out_bytes, to_all_.out_offsets);
  lay_out(round.incoming, to_all_.in_bytes, to_all_.in_offsets);
  to_all_.out = out_.data();
  to_all_.in = in_.data();
  for (const Parcel& parcel : round.outgoing) {
    packer_.pack(parcel, out_.data() + parcel.offset);
    ++context_.record.counts.messages;
    context_.record.counts.bytes_sent += parcel.bytes;
  }
  ++context_.record.counts.synchronisations;
  sends_.push_back(transport_->exchange_with_all(to_all_));
}

/// False: all have arrived.
bool Messenger::take_arrived(Round& round) {
  completed_.clear();
  const bool under_way = !receives_.empty() && transport_->test_some(receives_, completed_);
  if (round.any_order)
    for (const int index : completed_) {
      const Parcel& parcel = round.incoming[static_cast<std::size_t>(index)];
      packer_.unpack(parcel, in_.data() + parcel.offset);
    }
  return under_way;
}

Task<> Messenger::await_arrival(Round& round) {
  while (take_arrived(round))
    co_await until(Expect::messages, [&] { return !take_arrived(round) || !completed_.empty(); });
  receives_.clear();
}

void Messenger::unpack_received(Round& round) {
  std::sort(round.incoming.begin(), round.incoming.end(),
            [](const Parcel& a, const Parcel& b) { return a.peer < b.peer; });
  for (const Parcel& parcel : round.incoming) packer_.unpack(parcel, in_.data() + parcel.offset);
}

}  // namespace penstock
