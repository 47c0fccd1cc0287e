// Storage over a file that moves whole blocks another way than through the page cache: past it
// (direct.cpp), many at once (ring.cpp), or both. Not for other rooms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/posix.hpp"

namespace penstock {

/// One file, open once or twice, and what its second opening asks of a transfer.
struct BlockFile {
  std::shared_ptr<Descriptor> buffered;
  std::shared_ptr<Descriptor> direct;  ///< with O_DIRECT; null: not open, or it does not work
  std::int64_t block = 1;              ///< transfers begin and end at multiples of this
  std::int64_t memory_alignment = 1;

  /// The descriptor that blocks go through.
  int number() const noexcept { return (direct ? direct : buffered)->number(); }
};

/// Opens the file both ways. Where direct I/O does not work, `direct` is null and `notice` (may be
/// null) says so in one line. Throws Error(storage) as open_posix does.
BlockFile open_block_file(const std::string& path, OpenFlag flag, std::string* notice);

/// Adds one line of notice to what is there.
void add_notice(std::string* notice, const std::string& text);

/// Moves whole blocks between memory of any alignment and the file.
class Mover {
 public:
  virtual ~Mover() = default;
  /// `offset` and `size` are multiples of the file's block. A count from the start, or -errno.
  virtual std::int64_t move(Way way, std::byte* memory, std::int64_t size, std::int64_t offset) = 0;
};

/// One access at a time; memory that is not aligned goes through a buffer of 1 MiB.
std::unique_ptr<Mover> make_plain_mover(const BlockFile& file);

/// Gives `mover` the whole blocks of each request and the page cache what is left of it at either
/// end. Requests of several threads wait for each other.
std::unique_ptr<Storage> make_block_storage(BlockFile file, std::unique_ptr<Mover> mover,
                                            std::string path);

}  // namespace penstock
