// ArrayContents: one array in a raw or .npy file; base class for chunked arrays.
#pragma once

#include <memory>

#include "array/layout.hpp"
#include "file/contents.hpp"
#include "formats/dataset.hpp"
#include "formats/header.hpp"

namespace penstock {

/// The description of an array after a change of its shape.
struct Reshaped {
  std::vector<std::int64_t> shape;
  FileUnits units;
  std::unique_ptr<Dataset> dataset;
};

class ArrayContents : public Contents, public Metadata {
 public:
  /// `spec`: as passed by the program.
  ArrayContents(std::string path, Mode mode, ArraySpec spec, const Hints& hints)
      : path_(std::move(path)), mode_(mode), given_(std::move(spec)), hints_(hints) {}

  std::vector<Common> common() const override;
  void check(const Communicator& comm) override;
  void find(Storage& storage) override;
  std::string findings() const override { return described_.packed(); }
  void set_findings(std::string_view text) override { described_ = Described::unpacked(text); }
  bool changes() const override { return described_.changes; }
  void change(Storage& storage) override;
  FileUnits units() const override { return layout().units(); }

  const std::string& path() const noexcept { return path_; }
  Mode mode() const noexcept { return mode_; }
  /// Once the file is open: shape, element size and order of the file.
  const Described& described() const noexcept { return described_; }
  virtual std::unique_ptr<Dataset> dataset() const;
  /// For a contiguous array.
  ArrayLayout layout() const;

  /// Its shape, one step longer. Throws Error(state) if the array cannot grow.
  std::vector<std::int64_t> longer() const;
  /// Throws Error(argument) if no array can be so large, Error(state) if its header has no room.
  virtual Reshaped reshaped(std::vector<std::int64_t> shape) const;
  /// How far its bytes reach from now on; called before it grows.
  virtual void reach(std::int64_t) {}
  virtual void become(const std::vector<std::int64_t>& shape) { described_.spec.shape = shape; }
  /// Whether the file's metadata changes while it is open.
  virtual bool maintains_metadata() const { return described_.growing && mode_ != Mode::read; }
  /// On every rank, before each write. Throws, on all ranks alike, if the file accepts no more
  /// writes.
  virtual void begin_write() {}
  bool metadata_is_current() const override;
  void update_metadata(Storage& storage) override;
  void before_replacing(const std::string& new_path) override;
  void after_replacing() override;
  void forget_replacing(std::uint64_t inode) noexcept override;
  void mark_metadata_current() override { written_shape_ = described_.spec.shape; }

  /// The attributes, as JSON; empty if there are none. On rank 0.
  virtual std::string attributes() const;
  /// Replaces them as a whole; unchanged on failure. On rank 0.
  virtual void set_attributes(const std::string& json);
  /// On every rank, after rank 0 has done that.
  virtual void mark_attributes(const std::string&) {}

 protected:
  const ArraySpec& given() const noexcept { return given_; }
  const Hints& hints() const noexcept { return hints_; }
  void describe(ArraySpec spec, bool growing) {
    described_.spec = std::move(spec);
    described_.growing = growing;
  }
  void describe_attributes(const std::string& json) { described_.spec.chunks.attributes = json; }
  const std::vector<std::int64_t>& written_shape() const noexcept { return written_shape_; }

 private:
  std::string path_;
  Mode mode_;
  ArraySpec given_;
  Hints hints_;
  Described described_;
  std::vector<std::int64_t> written_shape_;  // the shape in the header
  std::string next_attributes_;              // of a file that replaces another: written with it
};

/// By the given container, or by the path: zarr if a component ends in ".zarr".
std::unique_ptr<ArrayContents> contents_of(const std::string& path, Mode mode,
                                           const ArraySpec& spec, const Hints& hints);

}  // namespace penstock
