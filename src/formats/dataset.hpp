// Dataset: converts sections of an array in a file to bytes. DatasetCalls: turns a program's calls
// on one into requests to its file.
#pragma once

#include <penstock/array_file.hpp>

#include "array/lower.hpp"
#include "file/byte_file.hpp"

namespace penstock {

class Dataset {
 public:
  virtual ~Dataset() = default;

  const std::vector<std::int64_t>& shape() const noexcept { return shape_; }
  std::int64_t element_size() const noexcept { return element_size_; }
  /// Order of elements in the file, and in memory without strides.
  Order order() const noexcept { return order_; }

  /// Adds the bytes of a section, which must fit the shape and not be empty, and their places in
  /// memory: `base` is its first element, `strides` are bytes.
  virtual void lower(const Section& section, std::byte* base,
                     const std::vector<std::int64_t>& strides, std::vector<FilePattern>& file,
                     std::vector<MemoryMap>& memory) const = 0;

 protected:
  Dataset(std::vector<std::int64_t> shape, std::int64_t element_size, Order order)
      : shape_(std::move(shape)), element_size_(element_size), order_(order) {}
  Dataset(const Dataset&) = default;
  Dataset& operator=(const Dataset&) = default;

 private:
  std::vector<std::int64_t> shape_;
  std::int64_t element_size_;
  Order order_;
};

/// All elements contiguously.
class ContiguousDataset final : public Dataset {
 public:
  explicit ContiguousDataset(ArrayLayout layout)
      : Dataset(layout.shape, layout.element_size, layout.order), layout_(std::move(layout)) {}
  void lower(const Section& section, std::byte* base, const std::vector<std::int64_t>& strides,
             std::vector<FilePattern>& file, std::vector<MemoryMap>& memory) const override;

 private:
  ArrayLayout layout_;
};

ArrayLayout layout_of(const ArrayPlace& place);

/// Strides of a part's memory, for elements of that size; throws if it does not fit the section.
template <class View>
std::vector<std::int64_t> memory_strides(const Dataset& dataset, const Part<View>& part,
                                         std::int64_t element_size);

/// The arguments of a read or a write; `found`: an error found by a binding.
template <class View>
struct ArrayCall {
  std::span<const Part<View>> parts;
  const Hints* hints = nullptr;
  const Error* found = nullptr;
  std::shared_ptr<const void> keeps;  // owner of the memory, kept by the operation
  /// The array of each part; empty: all are parts of the dataset.
  std::span<const ArrayPlace> places = {};
};

class DatasetCalls {
 public:
  /// Both must outlive this object. `region`: the part of the file with the dataset; null: all of
  /// it.
  DatasetCalls(ByteFile& file, const Dataset& dataset,
               std::shared_ptr<const Region> region = nullptr)
      : file_(file), dataset_(&dataset), region_(std::move(region)) {}
  /// Uses another dataset from now on, which must outlive this object.
  void show(const Dataset& dataset) noexcept { dataset_ = &dataset; }

  template <class View>
  void transfer(Direction direction, const ArrayCall<View>& call);
  /// No background: the mode is unknown, and `call.found` is the error.
  template <class View>
  std::shared_ptr<ByteFile::Begun> begin(Direction direction, std::optional<Background> background,
                                         const ArrayCall<View>& call);
  /// This rank's request, and any error in it.
  template <class View>
  ByteRequest request(Direction direction, const ArrayCall<View>& call) const;
  void transfer(ByteRequest request);
  Method last_method() const {
    const CallGate::Pass pass = file_.look();
    return last_method_;
  }

 private:
  template <class View>
  void lower_part(const ArrayCall<View>& call, std::size_t number, std::vector<FilePattern>& file,
                  std::vector<MemoryMap>& memory) const;

  ByteFile& file_;
  const Dataset* dataset_;
  std::shared_ptr<const Region> region_;
  Method last_method_ = Method::automatic;
};

}  // namespace penstock
