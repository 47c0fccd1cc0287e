// ZarrContents: one array in a folder, as Zarr 3 has it.
#pragma once

#include <optional>

#include "container/array_contents.hpp"
#include "container/zarr_array.hpp"

namespace penstock {

class ZarrContents final : public ArrayContents {
 public:
  using ArrayContents::ArrayContents;

  std::vector<Common> common() const override;
  void check(const Communicator& comm) override;
  bool has_own_storage() const override { return true; }
  std::unique_ptr<Storage> open_storage(OpenFlag flag) override;
  void find(Storage&) override {}  // open_storage has
  std::string told() const override { return text_; }
  void be_told(std::string_view text) override;
  bool changes() const override { return mode() == Mode::create; }
  void change(Storage& storage) override;
  FileUnits units() const override { return array_->grid.units(); }
  std::unique_ptr<Dataset> dataset() const override;

 private:
  void find_array();
  void check_given() const;
  void look_at_old() const;

  std::optional<zarr::Array> array_;
  std::string text_;  // of zarr.json
};

}  // namespace penstock
