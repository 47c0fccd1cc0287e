// Storage: one open file as the engine sees it. Every kind passes tests/conformance; counting and
// faults are adapters that stack on any kind.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/direction.hpp"
#include "base/extent.hpp"
#include "storage/parts.hpp"

namespace penstock {

/// create: like read_write, and creates the file; create_new: only if it does not exist; replace: a
/// new file, which takes the place of this one when it is closed (storage/replacement.hpp).
enum class OpenFlag : unsigned {
  read = 0,
  read_write = 1,
  create = 2,
  create_new = 3,
  replace = 4
};

/// The file to open, and its name in messages.
struct FileName {
  FileName(std::string path) : path(std::move(path)), shown(this->path) {}
  FileName(const char* path) : FileName(std::string(path)) {}
  FileName(std::string path, std::string shown) : path(std::move(path)), shown(std::move(shown)) {}

  std::string path, shown;
};

enum class LockKind { shared, exclusive };

/// A byte-range lock held until destroyed. Advisory, between processes and open files; the file
/// stays open as long. Locks of one Storage do not exclude each other and must not overlap: the
/// kernel keeps one lock per byte and open file, so releasing one would release the other.
class RangeLock {
 public:
  virtual ~RangeLock() = default;
};

/// One access: a contiguous range of the file, and memory in one or several places.
struct IoRequest {
  Direction direction = Direction::read;
  std::int64_t offset = 0;
  Parts memory;  // the list must stay valid until the request is done

  bool done = false;
  std::int64_t result = 0;                      // once it is done: a count, or -errno
  std::chrono::steady_clock::time_point begun;  // set if there is a listener
};

/// Calls return what the kernel would: a count, or -errno. They may be short or return -EINTR;
/// read_fully and write_fully below, and Submission (storage/submission.hpp), complete them.
class Storage {
 public:
  virtual ~Storage() = default;

  /// Moves bytes between memory and a contiguous range of the file; blocking.
  virtual std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) = 0;
  /// The same with contiguous memory.
  std::int64_t read_some(std::span<std::byte> into, std::int64_t offset) {
    const iovec part = part_of(into);
    return move_some(Direction::read, {&part, 1}, offset);
  }
  std::int64_t write_some(std::span<const std::byte> from, std::int64_t offset) {
    const iovec part = part_of(from);
    return move_some(Direction::write, {&part, 1}, offset);
  }

  /// Whether requests progress while the caller does something else: submit() then returns at once.
  virtual bool completes_later() const { return false; }
  /// Begins requests. The objects must stay at their addresses until they are done. Concurrent
  /// requests have no order, so a write must not overlap any other of them. Kinds that do not
  /// complete later carry the requests out before this returns.
  virtual void submit(std::span<IoRequest> requests);
  /// Whether a request is done. Each submitted request is polled or waited for until this is true
  /// or wait() has returned; after that, neither may be called for it again.
  virtual bool poll(IoRequest& request) { return request.done; }
  /// Waits until the request is done.
  virtual void wait(IoRequest&) {}

  /// Starts reading a range into the page cache without waiting for it. False: this kind of storage
  /// does not use the page cache. An empty range asks for just that.
  virtual bool read_ahead(Extent) { return false; }
  /// Whether a byte is in the page cache. False also if that is unknown.
  virtual bool is_cached(std::int64_t) { return false; }
  /// Copies out of the page cache: `copy` gets the address of the range's first byte, which is
  /// valid until it returns, and takes `wanted` bytes of the range. False: this kind of storage has
  /// no such memory, or not all of the range is available; another way of reading gives the error.
  using MappedCopy = std::function<void(const std::byte*)>;
  virtual bool read_mapped(Extent, std::int64_t /*wanted*/, const MappedCopy&) { return false; }
  /// Replaces a range within the file by zeros and frees its space on the device (punches a hole).
  /// 0, or -errno; -EOPNOTSUPP if the kind of storage or the file system cannot do that.
  virtual std::int64_t drop(Extent) { return -EOPNOTSUPP; }
  /// From now on reads and writes bypass this host's page cache, at any offset, and size() asks the
  /// server; with `past` false they use it again. False: reads and writes still go through it.
  virtual bool bypass_cache(bool /*past*/) { return false; }
  /// Drops what this host's page cache has of the file, after writing dirty pages: the next read,
  /// and size(), get what other hosts have written so far. For file systems whose caches do not
  /// agree.
  virtual void forget_cached() {}
  virtual std::int64_t size() = 0;                      ///< bytes, or -errno
  virtual std::int64_t resize(std::int64_t bytes) = 0;  ///< 0, or -errno
  /// Makes the file at least this long, with all of it allocated if the file system can. 0, or
  /// -errno.
  virtual std::int64_t allocate(std::int64_t bytes) {
    const std::int64_t now = size();
    return now < 0 ? now : now < bytes ? resize(bytes) : 0;
  }
  virtual std::int64_t sync() = 0;  ///< 0, or -errno
  /// Waits for the lock; an empty range excludes nobody. On failure returns null and sets `error`
  /// to an errno (ENOLCK, EOPNOTSUPP... if the file system has no locks).
  virtual std::unique_ptr<RangeLock> lock(Extent range, LockKind kind, int& error) = 0;
  virtual const std::string& path() const = 0;  ///< for messages
};

/// Its size in bytes. Throws Error(storage).
std::int64_t checked_size(Storage& storage);

/// How far a transfer got, and why it stopped (0: it was not stopped by an error).
struct Transfer {
  std::int64_t bytes = 0;
  int error = 0;
};
/// Reads until `into` is full, the file ends (bytes < size, error 0) or an error. EINTR is retried.
Transfer read_fully(Storage& storage, std::span<std::byte> into, std::int64_t offset);
/// Writes all of `from`; a write that returns 0 counts as EIO, to avoid an endless loop.
Transfer write_fully(Storage& storage, std::span<const std::byte> from, std::int64_t offset);

/// A file of the operating system. Throws Error(storage).
std::unique_ptr<Storage> open_posix(const FileName& name, OpenFlag flag);
/// A file of the operating system, past the page cache; requests of any alignment. If direct I/O
/// does not work, a posix storage, and `notice` (may be null) gets a line about it. Transfers of a
/// direct storage are serialised.
std::unique_ptr<Storage> open_direct(const FileName& name, OpenFlag flag, std::string* notice);
/// The same through io_uring, `direct` or through the page cache: it completes later. Large
/// requests are cut, and up to `depth` (1 to 1024) pieces of all requests are in flight at once. If
/// io_uring does not work, a posix or direct storage, and a line of notice.
std::unique_ptr<Storage> open_uring(const FileName& name, OpenFlag flag, bool direct, int depth,
                                    std::string* notice);
/// Bytes in memory, for tests and measurements. Objects of the same `name` do not share them.
std::unique_ptr<Storage> make_memory_storage(std::string name, std::int64_t initial_size = 0);

}  // namespace penstock
