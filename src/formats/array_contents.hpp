// ArrayContents: one array in a raw or .npy file; base of one in chunks.
#pragma once

#include <memory>

#include "array/layout.hpp"
#include "file/contents.hpp"
#include "formats/dataset.hpp"
#include "formats/header.hpp"

namespace penstock {

/// An array as it would be with another shape.
struct Reshaped {
  std::vector<std::int64_t> shape;
  FileUnits units;
  std::unique_ptr<Dataset> dataset;
};

class ArrayContents : public Contents, public Seal {
 public:
  /// `spec`: as the program gives it.
  ArrayContents(std::string path, Mode mode, ArraySpec spec, const Hints& hints)
      : path_(std::move(path)), mode_(mode), given_(std::move(spec)), hints_(hints) {}

  std::vector<Common> common() const override;
  void check(const Communicator& comm) override;
  void find(Storage& storage) override;
  std::string told() const override { return described_.packed(); }
  void be_told(std::string_view text) override { described_ = Described::unpacked(text); }
  bool changes() const override { return described_.changes; }
  void change(Storage& storage) override;
  FileUnits units() const override { return layout().units(); }

  const std::string& path() const noexcept { return path_; }
  Mode mode() const noexcept { return mode_; }
  /// Once the file is open: shape, element size, order as they are in it.
  const Described& described() const noexcept { return described_; }
  virtual std::unique_ptr<Dataset> dataset() const;
  /// Of one that is contiguous.
  ArrayLayout layout() const;

  /// Its shape, one step longer. Throws Error(state) where the array may not grow.
  std::vector<std::int64_t> longer() const;
  /// Throws Error(argument) where no array is as large, Error(state) where its header has no room.
  virtual Reshaped reshaped(std::vector<std::int64_t> shape) const;
  /// How far its bytes reach from now on, before it becomes longer.
  virtual void reach(std::int64_t) {}
  virtual void become(const std::vector<std::int64_t>& shape) { described_.spec.shape = shape; }
  /// Whether what the file says of it changes while it is open.
  virtual bool must_seal() const { return described_.growing && mode_ != Mode::read; }
  /// On every rank, before each write. Throws, on all alike, where the file takes no more.
  virtual void begin_write() {}
  bool is_sealed() const override;
  void seal(Storage& storage) override;
  void before_replacing(const std::string& new_path) override;
  void after_replacing() override;
  void forget_replacing(std::uint64_t inode) noexcept override;
  void mark_sealed() override { sealed_shape_ = described_.spec.shape; }

  /// The record of attributes, JSON; empty where there is none. On rank 0.
  virtual std::string attributes() const;
  /// Replaces it as a whole, or leaves it as it was. On rank 0.
  virtual void set_attributes(const std::string& json);
  /// On every rank, when rank 0 has done that.
  virtual void mark_attributes(const std::string&) {}

 protected:
  const ArraySpec& given() const noexcept { return given_; }
  const Hints& hints() const noexcept { return hints_; }
  void describe(ArraySpec spec, bool growing) {
    described_.spec = std::move(spec);
    described_.growing = growing;
  }
  void describe_attributes(const std::string& json) { described_.spec.chunks.attributes = json; }
  const std::vector<std::int64_t>& sealed_shape() const noexcept { return sealed_shape_; }

 private:
  std::string path_;
  Mode mode_;
  ArraySpec given_;
  Hints hints_;
  Described described_;
  std::vector<std::int64_t> sealed_shape_;  // that the header says
  std::string next_attributes_;             // of a file that replaces another: written with it
};

/// By what the container is said to be, or by the path: zarr where a part of it ends in ".zarr".
std::unique_ptr<ArrayContents> contents_of(const std::string& path, Mode mode,
                                           const ArraySpec& spec, const Hints& hints);

}  // namespace penstock
