// Field::State: a field of an open file, or the fault that its calls bring to the other ranks.
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
  /// `background`: of the process.
  Impl(BackgroundIo& background, Communicator comm, const std::filesystem::path& path, Mode mode,
       const FieldsSpec& spec, const Hints& hints);

  ByteFile& bytes() noexcept { return file_; }
  const FieldsSpec& spec() const noexcept { return contents_.spec(); }
  FileUnits units() const { return contents_.units(); }
  ArrayLayout layout(const FieldSpec& field) const { return contents_.layout(field); }
  /// Null: there is none of that name.
  const FieldSpec* find(const std::string& name) const;
  std::string names() const;

 private:
  FieldsContents contents_;
  ByteFile file_;
};

/// The parts of a call in the field's type, and the program's own where elements are converted.
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

  /// Of a read: fills the program's memory.
  void deliver() const;
};

class Field::State {
 public:
  State(std::shared_ptr<FieldsFile::Impl> file, const FieldSpec& spec);
  /// A field that there is not.
  State(std::shared_ptr<FieldsFile::Impl> file, Error fault)
      : file_(std::move(file)), fault_(std::move(fault)) {}

  template <class View>
  void transfer(Direction direction, std::span<const Part<View>> parts, const std::string& dtype,
                const Hints* hints);
  template <class View>
  Handle begin(Direction direction, std::span<const Part<View>> parts, const std::string& dtype,
               Background background, const Hints* hints);
  void take_part(Direction direction, const Error& error);
  Handle take_part_in_begin(Direction direction, std::optional<Background> background,
                            const Error& error);

  const FieldSpec& spec() const;
  const Dataset& dataset() const;
  const Hints& hints() const { return file_->bytes().hints(); }
  Method last_method() const { return calls_ ? calls_->last_method() : Method::automatic; }

 private:
  template <class View>
  FieldMemory<View> prepare(std::span<const Part<View>> parts, const std::string& dtype) const;
  template <class View>
  void add_converted(FieldMemory<View>& memory, const Part<View>& part) const;

  std::shared_ptr<FieldsFile::Impl> file_;
  std::optional<Error> fault_;
  FieldSpec spec_;
  std::optional<ContiguousDataset> dataset_;
  std::optional<DatasetCalls> calls_;
};

}  // namespace penstock
