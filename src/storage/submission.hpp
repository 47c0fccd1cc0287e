// Submission: accesses that are submitted together, each continued until all of it is moved. If
// storage completes later they are in flight at once while the owner does something else; otherwise
// start() carries them out one after the other, up to the first failure.
#pragma once

#include <array>
#include <memory_resource>
#include <vector>

#include "storage/storage.hpp"

namespace penstock {

class Submission {
 public:
  explicit Submission(Storage& storage) : storage_(storage) {}
  Submission(const Submission&) = delete;
  ~Submission() { wait(); }  // the kernel uses the listed memory until then

  /// While nothing is in flight. Bytes that follow those of the previous access in the file are
  /// joined to it.
  void add(Direction direction, std::span<const std::byte> memory, std::int64_t offset);
  void start();
  /// Whether all accesses are done; continues those that were moved in part.
  bool poll() { return complete(false); }
  void wait() { complete(true); }
  /// start() and wait(), for callers with nothing else to do.
  void run();
  /// Removes the accesses, which must be done.
  void clear();

  std::size_t size() const noexcept { return accesses_.size(); }
  /// Number of places in memory, over all accesses. The memory that a submission itself needs is
  /// proportional to it.
  std::size_t parts() const noexcept { return parts_.size(); }
  Direction direction(std::size_t i) const { return requests_[i].direction; }
  Extent range(std::size_t i) const { return accesses_[i].range; }
  /// How far an access got. If storage carries accesses out one after the other, those behind the
  /// first failure were not begun: 0 bytes, no error.
  const Transfer& transfer(std::size_t i) const { return accesses_[i].transfer; }
  /// The first access that failed; size() if none did.
  std::size_t first_failure() const noexcept;
  /// Fills memory that reads have left unchanged, because the file ended, with zeros.
  void fill_with_zeros();

 private:
  struct Submitted {
    Extent range;
    std::size_t begin, end;  // its parts that have not been moved yet
    Transfer transfer;
  };
  void prepare(std::size_t i);
  bool advance(std::size_t i);
  void carry_out();
  bool complete(bool wait);
  std::span<iovec> left(const Submitted& access) {
    return std::span(parts_).subspan(access.begin, access.end - access.begin);
  }

  Storage& storage_;
  // State of a single access is stored within this object.
  alignas(
      IoRequest) std::array<std::byte, sizeof(iovec) + sizeof(Submitted) + sizeof(IoRequest)> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::pmr::vector<iovec> parts_{&memory_};
  std::pmr::vector<Submitted> accesses_{&memory_};
  std::pmr::vector<IoRequest> requests_{&memory_};  // per access, for what is left of it
  std::size_t completed_ = 0;                       // while in flight: all before this one are done
  bool under_way_ = false;
};

}  // namespace penstock
