#include "base/failure.hpp"
#include "storage/submission.hpp"

namespace penstock {
namespace {

Transfer move_fully(Storage& storage, Direction direction, std::span<const std::byte> memory,
                    std::int64_t offset) {
  Submission submission(storage);
  submission.add(direction, memory, offset);
  submission.run();
  return submission.size() == 0 ? Transfer{} : submission.transfer(0);
}

}  // namespace

std::int64_t checked_size(Storage& storage) {
  const std::int64_t size = storage.size();
  if (size < 0) throw_errno("finding out the size of", storage.path(), size);
  return size;
}

void Storage::submit(std::span<IoRequest> requests) {
  for (IoRequest& request : requests) {
    request.result = move_some(request.direction, request.memory, request.offset);
    request.done = true;
  }
}

Transfer read_fully(Storage& storage, std::span<std::byte> into, std::int64_t offset) {
  return move_fully(storage, Direction::read, into, offset);
}

Transfer write_fully(Storage& storage, std::span<const std::byte> from, std::int64_t offset) {
  return move_fully(storage, Direction::write, from, offset);
}

}  // namespace penstock
