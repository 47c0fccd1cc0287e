// FieldsFile: several named arrays in one shared raw file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <penstock/array_file.hpp>
#include <penstock/element_type.hpp>

namespace penstock {

/// One array of a file with several.
struct FieldSpec {
  std::string name;                 ///< unique
  std::vector<std::int64_t> shape;  ///< 1 to 8 dimensions
  std::string dtype;  ///< NumPy dtype: "<f4", ">f8"; "f4" has this machine's byte order
  /// Of its first element, in bytes; default: where the previous one in the list ends.
  std::optional<std::int64_t> offset;
};
/// The contents of a file of several arrays. Not stored in the file: it is passed at each open.
struct FieldsSpec {
  std::vector<FieldSpec> fields;  ///< at least one
  Order order = Order::c;         ///< of the elements of each field
  std::int64_t offset = 0;        ///< byte where the first field begins
};

/// A field of an open file, with collective calls like those of ArrayFile. A value that refers to
/// the file and keeps it alive. A field that does not exist can be obtained, too: its calls take
/// part in what the other ranks do, and throw Error(argument) on all of them, with the existing
/// names. `found` is for bindings, as in ArrayFile.
///
/// Memory may have elements of another type, which are converted one by one: see `converts`. A call
/// that converts needs memory for the section in the field's type. In a write, a number out of the
/// range of the file's type (1e300 as "<f4") is an Error(argument); a read makes it infinite.
class PENSTOCK_EXPORT Field {
 public:
  const FieldSpec& spec() const;      ///< the offset is that of its first element in the file
  std::int64_t element_size() const;  ///< bytes
  std::int64_t data_offset() const;   ///< file offset of its first element
  std::int64_t end_offset() const;    ///< file offset just past it
  Method last_method() const;         ///< what `automatic` chose

  const Hints& hints() const;  ///< effective values of its file

  /// Collective, see ArrayFile::write. All ranks must use the same field. Memory has the field's
  /// elements.
  void write(std::span<const Part<WriteView>> parts, const Hints* call_hints = nullptr,
             const Error* found = nullptr) {
    write(parts, std::string(), call_hints, found);
  }
  /// Collective, see ArrayFile::read.
  void read(std::span<const Part<ReadView>> parts, const Hints* call_hints = nullptr,
            const Error* found = nullptr) {
    read(parts, std::string(), call_hints, found);
  }
  /// Collective, see ArrayFile::write_begin.
  Handle write_begin(std::span<const Part<WriteView>> parts,
                     std::optional<Background> background = Background::storage,
                     const Hints* call_hints = nullptr, const Error* found = nullptr,
                     std::shared_ptr<const void> keeps = nullptr) {
    return write_begin(parts, std::string(), background, call_hints, found, std::move(keeps));
  }
  /// Collective, see ArrayFile::read_begin.
  Handle read_begin(std::span<const Part<ReadView>> parts,
                    std::optional<Background> background = Background::storage,
                    const Hints* call_hints = nullptr, const Error* found = nullptr,
                    std::shared_ptr<const void> keeps = nullptr) {
    return read_begin(parts, std::string(), background, call_hints, found, std::move(keeps));
  }
  /// The same for memory with elements of `memory_dtype`. Empty: the field's own.
  void write(std::span<const Part<WriteView>> parts, const std::string& memory_dtype,
             const Hints* call_hints = nullptr, const Error* found = nullptr);
  /// The same for memory with elements of `memory_dtype`.
  void read(std::span<const Part<ReadView>> parts, const std::string& memory_dtype,
            const Hints* call_hints = nullptr, const Error* found = nullptr);
  /// The same for memory with elements of `memory_dtype`.
  Handle write_begin(std::span<const Part<WriteView>> parts, const std::string& memory_dtype,
                     std::optional<Background> background = Background::storage,
                     const Hints* call_hints = nullptr, const Error* found = nullptr,
                     std::shared_ptr<const void> keeps = nullptr);
  /// The same for memory with elements of `memory_dtype`: Handle::wait() converts.
  Handle read_begin(std::span<const Part<ReadView>> parts, const std::string& memory_dtype,
                    std::optional<Background> background = Background::storage,
                    const Hints* call_hints = nullptr, const Error* found = nullptr,
                    std::shared_ptr<const void> keeps = nullptr);

  /// One section of dense memory, in the file's order.
  template <class T>
  void write(std::span<T> data, const Section& section, const Hints* hints = nullptr) {
    const Part<WriteView> part = dense_part<WriteView>(data.data(), data.size(), section);
    write(std::span<const Part<WriteView>>(&part, 1), dtype_of<T>(), hints);
  }
  /// The same for a vector.
  template <class T>
  void write(const std::vector<T>& data, const Section& section, const Hints* hints = nullptr) {
    write(std::span<const T>(data), section, hints);
  }
  /// One section into dense memory, in the file's order.
  template <class T>
  void read(std::span<T> data, const Section& section, const Hints* hints = nullptr) {
    const Part<ReadView> part = dense_part<ReadView>(data.data(), data.size(), section);
    read(std::span<const Part<ReadView>>(&part, 1), dtype_of<T>(), hints);
  }
  /// The same for a vector, which must have the section's size.
  template <class T>
  void read(std::vector<T>& data, const Section& section, const Hints* hints = nullptr) {
    read(std::span<T>(data), section, hints);
  }
  /// For one section of dense memory, which must not change until Handle::copied() or wait().
  template <class T>
  Handle write_begin(const std::vector<T>& data, const Section& section,
                     Background background = Background::storage, const Hints* hints = nullptr) {
    const Part<WriteView> part = dense_part<WriteView>(data.data(), data.size(), section);
    return write_begin(std::span<const Part<WriteView>>(&part, 1), dtype_of<T>(), background,
                       hints);
  }
  /// For one section of dense memory, which must have the section's size.
  template <class T>
  Handle read_begin(std::vector<T>& data, const Section& section,
                    Background background = Background::storage, const Hints* hints = nullptr) {
    const Part<ReadView> part = dense_part<ReadView>(data.data(), data.size(), section);
    return read_begin(std::span<const Part<ReadView>>(&part, 1), dtype_of<T>(), background, hints);
  }

  class State;

 private:
  friend class FieldsFile;
  explicit Field(std::shared_ptr<State> state) : state_(std::move(state)) {}
  template <class View, class T>
  static Part<View> dense_part(T* data, std::size_t count, const Section& section) {
    View memory;
    memory.data = reinterpret_cast<decltype(memory.data)>(data);
    memory.size_bytes = count * sizeof(T);
    return {section, memory};
  }
  std::shared_ptr<State> state_;
};

/// An open file of several arrays, one after the other without gaps, as Fortran programs write them
/// with stream access. Collective calls are like those of ArrayFile, for all fields at once;
/// statistics are those of the file.
class PENSTOCK_EXPORT FieldsFile {
 public:
  /// Collective over `comm`. Throws Error like ArrayFile::open: argument for impossible fields (two
  /// of one name, overlapping ones), format for a file that is too short for them, disagreement if
  /// ranks passed different fields.
  static FieldsFile open(MPI_Comm comm, const std::filesystem::path& path, Mode mode,
                         const FieldsSpec& spec, const Hints& hints = {},
                         const Error* found = nullptr);
  /// For this process alone; MPI need not be running.
  static FieldsFile open(const std::filesystem::path& path, Mode mode, const FieldsSpec& spec,
                         const Hints& hints = {}, const Error* found = nullptr);

  Field operator[](const std::string& name) const;  ///< not collective
  std::vector<std::string> names() const;           ///< in the order of the list

  void sync();                      ///< collective: the bytes are on the device
  void close();                     ///< collective; the bytes are in the file
  Handle close_begin();             ///< collective, see ArrayFile::close_begin
  std::int64_t file_size();         ///< collective; bytes
  void abandon() noexcept;          ///< not collective: this rank abandons the file
  bool closed() const noexcept;     ///< or closing
  std::int64_t end_offset() const;  ///< byte just past the last field
  const FieldsSpec& spec() const;   ///< as given, with all offsets and the machine's byte order
  std::string device() const;       ///< what storage calls go to, for users
  const Hints& hints() const;       ///< effective values
  Statistics statistics() const;    ///< of this rank, since open
  Statistics last_call() const;     ///< of this rank, of the last call
  std::vector<int> aggregator_ranks() const;   ///< ranks that access the file in collective methods
  const FileSystemFacts& file_system() const;  ///< determined at open, the same on every rank

  class Impl;

 private:
  explicit FieldsFile(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace penstock
