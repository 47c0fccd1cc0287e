// FieldsContents: several named arrays in a raw file.
#pragma once

#include <penstock/fields_file.hpp>

#include "array/layout.hpp"
#include "file/contents.hpp"
#include "formats/anew.hpp"

namespace penstock {

class FieldsContents : public Contents {
 public:
  /// `spec`: as passed by the program.
  FieldsContents(std::string path, Mode mode, FieldsSpec spec, const Hints& hints)
      : path_(std::move(path)), mode_(mode), spec_(std::move(spec)), hints_(hints) {}

  std::vector<Common> common() const override;
  /// Also computes each field's offset.
  void check(const Communicator& comm) override;
  void find(Storage& storage) override;
  std::string findings() const override { return too_short_ ? "1" : "0"; }
  void set_findings(std::string_view text) override { too_short_ = text == "1"; }
  bool changes() const override { return makes_anew(mode_) || too_short_; }
  void change(Storage& storage) override;
  /// For the whole file: calls use the units of their field.
  FileUnits units() const override;

  /// After check() with all offsets, and with a byte order in each type.
  const FieldsSpec& spec() const noexcept { return spec_; }
  ArrayLayout layout(const FieldSpec& field) const;

 private:
  void place_fields();
  void check_names() const;
  void check_apart() const;

  std::string path_;
  Mode mode_;
  FieldsSpec spec_;
  Hints hints_;
  bool too_short_ = false;  // the file is too short for its fields
};

}  // namespace penstock
