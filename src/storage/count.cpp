#include "storage/storage.hpp"

namespace penstock {
namespace {

class CountStorage : public Storage {
 public:
  CountStorage(std::unique_ptr<Storage> inner, StorageCounts& counts, StorageCounts& background)
      : inner_(std::move(inner)), counts_(counts), background_(background) {}

  std::int64_t read_some(std::span<std::byte> into, std::int64_t offset) override {
    const std::int64_t moved = inner_->read_some(into, offset);
    ++counts().reads;
    if (moved > 0) counts().bytes_read += moved;
    return moved;
  }
  std::int64_t write_some(std::span<const std::byte> from, std::int64_t offset) override {
    const std::int64_t moved = inner_->write_some(from, offset);
    ++counts().writes;
    if (moved > 0) counts().bytes_written += moved;
    return moved;
  }
  bool read_ahead(Extent range) override { return inner_->read_ahead(range); }
  bool is_near(std::int64_t offset) override { return inner_->is_near(offset); }
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
