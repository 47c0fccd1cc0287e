// CountedStorage: counts the accesses to the storage behind it, and reports each to a listener.
#pragma once

#include <penstock/statistics.hpp>

#include "base/shown_access.hpp"
#include "base/tally.hpp"
#include "storage/storage.hpp"
#include "trace/recorder.hpp"

namespace penstock {

struct StorageCounts {
  Tally reads, writes, other_calls, bytes_read, bytes_written;

  /// Adds the counts since the last call to `sum`.
  void move_to(Statistics& sum) noexcept;
  void add_to(Statistics& sum) const noexcept;
};

class CountedStorage : public Storage {
 public:
  /// Accesses by I/O threads are counted in `background`. All references must outlive it.
  /// `listener`: may be null; accesses are reported to it as those of `operation`. `shown`: makes
  /// them visible to other ranks; may be null.
  CountedStorage(Storage& inner, StorageCounts& counts, StorageCounts& background,
                 Listener* listener = nullptr, std::int64_t operation = 0,
                 ShownAccess* shown = nullptr)
      : inner_(inner),
        counts_(counts),
        background_(background),
        listener_(listener),
        operation_(operation),
        shown_(shown) {}

  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override;
  bool completes_later() const override { return inner_.completes_later(); }
  void submit(std::span<IoRequest> requests) override;
  bool poll(IoRequest& request) override;
  void wait(IoRequest& request) override;
  bool read_ahead(Extent range) override { return inner_.read_ahead(range); }
  bool is_cached(std::int64_t offset) override { return inner_.is_cached(offset); }
  bool read_mapped(Extent range, std::int64_t wanted, const MappedCopy& copy) override;
  std::int64_t drop(Extent range) override;
  std::int64_t size() override;
  std::int64_t resize(std::int64_t bytes) override;
  std::int64_t allocate(std::int64_t bytes) override;
  std::int64_t sync() override;
  std::unique_ptr<RangeLock> lock(Extent range, LockKind kind, int& error) override;
  const std::string& path() const override { return inner_.path(); }

 private:
  std::int64_t noted(Direction direction, std::int64_t moved);
  std::int64_t move_alone(Direction direction, Parts memory, std::int64_t offset);
  void note(const IoRequest& request);
  void note_lock(Extent range, Span::Clock::time_point begin);
  StorageCounts& counts() const noexcept { return in_background ? background_ : counts_; }

  Storage& inner_;
  StorageCounts &counts_, &background_;
  Listener* listener_;
  std::int64_t operation_;
  ShownAccess* shown_;
};

}  // namespace penstock
