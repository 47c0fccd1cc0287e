// Field::State: a field of an open file, or the error that its calls pass to the agreement.
// FieldsFile::Impl: the file and its fields.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <penstock/fields_file.hpp>

#include "formats/dataset.hpp"
#include "formats/element_kind.hpp"
#include "formats/fields/fields_contents.hpp"

namespace penstock {

class FieldsFile::Impl {
 public:
  /// `background`: the process's.
  Impl(BackgroundIo& background, Communicator comm, const std::filesystem::path& path, Mode mode,
       const FieldsSpec& spec, const Hints& hints);

  ByteFile& bytes() noexcept { return file_; }
  const FieldsSpec& spec() const noexcept { return contents_.spec(); }
  FileUnits units() const { return contents_.units(); }
  ArrayLayout layout(const FieldSpec& field) const { return contents_.layout(field); }
  /// Null: there is no field of that name.
  const FieldSpec* find(const std::string& name) const;
  std::string names() const;

 private:
  FieldsContents contents_;
  ByteFile file_;
};

/// The arguments of a read or a write.
template <class View>
struct FieldCall {
  std::span<const Part<View>> parts;
  const std::string& dtype;  // type of the memory; empty: the field's
  const Hints* hints;
  const Error* found;                           // by a binding
  std::shared_ptr<const void> keeps = nullptr;  // kept by the operation
};

/// The parts of a call in the field's type, and the program's own if elements are converted.
template <class View>
struct FieldMemory {
  struct Converted {
    Part<View> users;
    std::vector<std::int64_t> strides, field_strides;  // bytes
    std::unique_ptr<std::byte[]> elements;             // of the field's type, dense
  };
  std::vector<Part<View>> parts;
  std::vector<Converted> converted;
  ElementKind memory, field;
  std::shared_ptr<const void> keeps;  // the program's memory, while the operation may use it

  /// For a read: fills the program's memory.
  void deliver() const;
};

class Field::State {
 public:
  State(std::shared_ptr<FieldsFile::Impl> file, const FieldSpec& spec);
  /// For a field that does not exist.
  State(std::shared_ptr<FieldsFile::Impl> file, Error fault)
      : file_(std::move(file)),
        fault_(std::move(fault)),
        dataset_(ArrayLayout{}),
        calls_(file_->bytes(), dataset_) {}

  template <class View>
  void transfer(Direction direction, const FieldCall<View>& call);
  template <class View>
  Handle begin(Direction direction, std::optional<Background> background,
               const FieldCall<View>& call);

  const FieldSpec& spec() const;
  const Dataset& dataset() const;
  const Hints& hints() const { return file_->bytes().hints(); }
  Method last_method() const { return calls_.last_method(); }

 private:
  template <class View>
  FieldMemory<View> prepare(const FieldCall<View>& call) const;
  template <class View>
  void add_converted(FieldMemory<View>& memory, const Part<View>& part) const;

  std::shared_ptr<FieldsFile::Impl> file_;
  std::optional<Error> fault_;
  FieldSpec spec_;
  ContiguousDataset dataset_;
  DatasetCalls calls_;
};

}  // namespace penstock
