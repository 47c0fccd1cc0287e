// ZarrContents: one Zarr 3 array in a folder.
#pragma once

#include <atomic>
#include <optional>

#include "formats/anew.hpp"
#include "formats/array_contents.hpp"
#include "formats/zarr/array.hpp"
#include "formats/zarr/groups.hpp"

namespace penstock {

class ZarrContents final : public ArrayContents {
 public:
  using ArrayContents::ArrayContents;

  std::vector<Common> common() const override;
  void check(const Communicator& comm) override;
  bool has_own_storage() const override { return true; }
  std::unique_ptr<Storage> open_storage(OpenFlag flag) override;
  void find(Storage&) override {}  // done by open_storage()
  std::string findings() const override { return text_; }
  void set_findings(std::string_view text) override;
  bool changes() const override {
    return makes_anew(mode()) || (mode() == Mode::read_write && described().growing);
  }
  void change(Storage& storage) override;
  FileUnits units() const override { return array_->grid.units(); }
  std::unique_ptr<Dataset> dataset() const override;

  Reshaped reshaped(std::vector<std::int64_t> shape) const override;
  void reach(std::int64_t bytes) override { *reach_ = bytes; }
  void become(const std::vector<std::int64_t>& shape) override;
  bool metadata_is_current() const override { return written_shape() == array_->grid.shape; }
  void update_metadata(Storage& storage) override;

  std::string attributes() const override { return array_->attributes; }
  void set_attributes(const std::string& json) override;
  void mark_attributes(const std::string& json) override;

 private:
  void take(zarr::Array array);
  void make_anew();
  void find_array();
  void check_given() const;
  void look_at_old() const;
  void write_metadata(const std::string& text);

  std::optional<zarr::Array> array_;
  std::optional<ZarrGroups> groups_;  // of a new array; on rank 0
  std::string text_;                  // of zarr.json
  bool is_tidy_ = false;  // leftovers of killed processes beside zarr.json have been removed
  std::shared_ptr<std::atomic<std::int64_t>> reach_ =
      std::make_shared<std::atomic<std::int64_t>>(0);
};

}  // namespace penstock
