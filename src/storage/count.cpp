#include "storage/storage.hpp"

namespace penstock {
namespace {

class CountStorage : public Storage {
 public:
  CountStorage(std::unique_ptr<Storage> inner, StorageCounts& counts, StorageCounts& background)
      : inner_(std::move(inner)), counts_(counts), background_(background) {}

  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override {
    return noted(direction, inner_->move_some(direction, memory, offset));
  }
  bool completes_later() const override { return inner_->completes_later(); }
  void submit(std::span<IoRequest> requests) override { inner_->submit(requests); }
  bool poll(IoRequest& request) override {
    if (!inner_->poll(request)) return false;
    noted(request.direction, request.result);
    return true;
  }
  void wait(IoRequest& request) override {
    inner_->wait(request);
    noted(request.direction, request.result);
  }
  bool read_ahead(Extent range) override { return inner_->read_ahead(range); }
  bool is_cached(std::int64_t offset) override { return inner_->is_cached(offset); }
  std::int64_t size() override {
    ++counts().other_calls;
    return inner_->size();
  }
  std::int64_t resize(std::int64_t bytes) override {
    ++counts().other_calls;
    return inner_->resize(bytes);
  }
  std::int64_t sync() override {
    ++counts().other_calls;
    return inner_->sync();
  }
  std::unique_ptr<RangeLock> lock(Extent range, LockKind kind, int& error) override {
    ++counts().other_calls;
    auto held = inner_->lock(range, kind, error);
    if (held) ++counts().other_calls;  // for giving it back
    return held;
  }
  const std::string& path() const override { return inner_->path(); }

 private:
  /// Enters one access with its result.
  std::int64_t noted(Direction direction, std::int64_t moved) {
    const bool reads = direction == Direction::read;
    ++(reads ? counts().reads : counts().writes);
    if (moved > 0) (reads ? counts().bytes_read : counts().bytes_written) += moved;
    return moved;
  }
  StorageCounts& counts() const noexcept { return in_background ? background_ : counts_; }

  std::unique_ptr<Storage> inner_;
  StorageCounts &counts_, &background_;
};

}  // namespace

std::unique_ptr<Storage> count(std::unique_ptr<Storage> inner, StorageCounts& counts,
                               StorageCounts* background) {
  return std::make_unique<CountStorage>(std::move(inner), counts,
                                        background != nullptr ? *background : counts);
}

}  // namespace penstock
