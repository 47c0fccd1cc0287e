// PlacedContents: one chunked array in a file that another library has made.
#pragma once

#include <atomic>
#include <optional>

#include "formats/array_contents.hpp"
#include "formats/placed/store.hpp"
#include "formats/zarr/array.hpp"

namespace penstock {

class PlacedContents final : public ArrayContents {
 public:
  using ArrayContents::ArrayContents;

  std::vector<Common> common() const override;
  void check(const Communicator& comm) override;
  bool has_own_storage() const override { return true; }
  std::unique_ptr<Storage> open_storage(OpenFlag flag) override;
  void find(Storage&) override {}
  std::string findings() const override { return {}; }
  void set_findings(std::string_view) override {}
  FileUnits units() const override { return array_->grid.units(); }
  std::unique_ptr<Dataset> dataset() const override;

  Reshaped reshaped(std::vector<std::int64_t> shape) const override;
  void reach(std::int64_t bytes) override { *reach_ = bytes; }
  void become(const std::vector<std::int64_t>& shape) override;
  bool maintains_metadata() const override { return mode() != Mode::read; }
  void begin_write() override;
  bool is_settled() const override { return settled_ || broken_; }
  void settle(const Channel& channel) override;
  bool is_needed() const override { return !published_ && !broken_; }
  bool metadata_is_current() const override;
  void update_metadata(Storage& storage) override;
  void mark_metadata_current() override;

  std::string attributes() const override { return {}; }
  void set_attributes(const std::string& json) override;

 private:
  const PlacedChunks& placed() const { return *given().chunks.placed; }
  void give_places(const Channel& channel);

  std::optional<zarr::Array> array_;
  std::shared_ptr<PlacedStore> store_;
  std::shared_ptr<std::atomic<std::int64_t>> reach_ =
      std::make_shared<std::atomic<std::int64_t>>(0);
  bool settled_ = true;    // no rank keeps chunks without a place
  bool published_ = true;  // the metadata has everything written so far
  bool broken_ = false;    // writing at an assigned place has failed
};

}  // namespace penstock
