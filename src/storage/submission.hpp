// Submission: accesses that are handed to storage together, each until all of it is moved. Where
// storage completes later they are under way at once, and their owner does something else
// meanwhile; else start() carries them out one after the other, up to the first failure.
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
  ~Submission() { wait(); }  // until then the kernel uses the memory that is listed

  /// While nothing is under way. Memory for bytes of the file that follow those of the access
  /// before becomes part of that access.
  void add(Direction direction, std::span<const std::byte> memory, std::int64_t offset);
  void start();
  /// Whether all accesses are done; continues those that were moved in part.
  bool poll() { return complete(false); }
  void wait() { complete(true); }
  /// start() and wait(), for who has nothing else to do.
  void run();
  /// Forgets the accesses, which are done.
  void clear();

  std::size_t size() const noexcept { return accesses_.size(); }
  /// Number of places in memory, over all accesses: an access has one or several. The memory that a
  /// submission itself needs grows with it.
  std::size_t parts() const noexcept { return parts_.size(); }
  Direction direction(std::size_t i) const { return requests_[i].direction; }
  Extent range(std::size_t i) const { return accesses_[i].range; }
  /// How far an access got. Where storage carries accesses out one after the other, those behind
  /// the first failure were not begun: 0 bytes, no error.
  const Transfer& transfer(std::size_t i) const { return accesses_[i].transfer; }
  /// The first access that failed; size() where none did.
  std::size_t first_failure() const noexcept;
  /// Zeros in the memory of reads that the end of the file has left as it was.
  void fill_with_zeros();

 private:
  struct Submitted {
    Extent range;
    std::size_t begin, end;  // its parts that are not moved yet
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
  // What is known of a single access is within this object.
  alignas(
      IoRequest) std::array<std::byte, sizeof(iovec) + sizeof(Submitted) + sizeof(IoRequest)> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::pmr::vector<iovec> parts_{&memory_};
  std::pmr::vector<Submitted> accesses_{&memory_};
  std::pmr::vector<IoRequest> requests_{&memory_};  // of each access, for what is left of it
  std::size_t completed_ = 0;  // while they are under way: those before are done
  bool under_way_ = false;
};

}  // namespace penstock
