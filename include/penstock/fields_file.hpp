// FieldsFile: several arrays with names in one shared file of bare elements.
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

/// One array of a file that has several.
struct FieldSpec {
  std::string name;                    ///< no other field has it
  std::vector<std::int64_t> shape;     ///< 1 to 8 dimensions
  std::string dtype;                   ///< NumPy descr: "<f4", ">f8"; "f4" is this machine's order
  std::optional<std::int64_t> offset;  ///< byte of its first element; default: where the one before
                                       ///< it in the list ends
};
/// What is in a file of several arrays. The file does not tell it: it is given at each open.
struct FieldsSpec {
  std::vector<FieldSpec> fields;  ///< at least one
  Order order = Order::c;         ///< of the elements of each
  std::int64_t offset = 0;        ///< byte where the first field begins
};

/// A field of an open file: what it is, and collective calls as those of ArrayFile. A value that
/// refers to the file and keeps it. One that the file does not have can be had, too: its calls take
/// part in what the other ranks do, and throw Error(argument) on all of them, with the names that
/// there are. `found` is for bindings, as that of ArrayFile.
///
/// Memory may have elements of another type, which are converted one by one: see `converts`. A call
/// that converts needs memory for the section in the field's type. In a write, a number that the
/// type of the file does not reach (1e300 as "<f4") is an Error(argument); a read makes it
/// infinite.
class PENSTOCK_EXPORT Field {
 public:
  const FieldSpec& spec() const;      ///< its offset is that of its first element in the file
  std::int64_t element_size() const;  ///< bytes
  std::int64_t data_offset() const;   ///< byte of the file where its first element is
  std::int64_t end_offset() const;    ///< byte of the file just past it
  Method last_method() const;         ///< what `automatic` chose

  const Hints& hints() const;  ///< effective values of its file

  /// Collective, see ArrayFile::write. All ranks name the same field. Memory has its elements.
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
  /// The same from memory with elements of `memory_dtype`. Empty: the field's own.
  void write(std::span<const Part<WriteView>> parts, const std::string& memory_dtype,
             const Hints* call_hints = nullptr, const Error* found = nullptr);
  /// The same into memory with elements of `memory_dtype`.
  void read(std::span<const Part<ReadView>> parts, const std::string& memory_dtype,
            const Hints* call_hints = nullptr, const Error* found = nullptr);
  /// The same from memory with elements of `memory_dtype`.
  Handle write_begin(std::span<const Part<WriteView>> parts, const std::string& memory_dtype,
                     std::optional<Background> background = Background::storage,
                     const Hints* call_hints = nullptr, const Error* found = nullptr,
                     std::shared_ptr<const void> keeps = nullptr);
  /// The same into memory with elements of `memory_dtype`: Handle::wait() converts.
  Handle read_begin(std::span<const Part<ReadView>> parts, const std::string& memory_dtype,
                    std::optional<Background> background = Background::storage,
                    const Hints* call_hints = nullptr, const Error* found = nullptr,
                    std::shared_ptr<const void> keeps = nullptr);

  /// One section from dense memory, in the file's order.
  template <class T>
  void write(std::span<T> data, const Section& section, const Hints* hints = nullptr) {
    const Part<WriteView> part = dense_part<WriteView>(data.data(), data.size(), section);
    write(std::span<const Part<WriteView>>(&part, 1), dtype_of<T>(), hints);
  }
  /// The same of a vector.
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
  /// The same into a vector, which has the section's size already.
  template <class T>
  void read(std::vector<T>& data, const Section& section, const Hints* hints = nullptr) {
    read(std::span<T>(data), section, hints);
  }
  /// Of one section from dense memory, which stays as it is until Handle::copied() or wait().
  template <class T>
  Handle write_begin(const std::vector<T>& data, const Section& section,
                     Background background = Background::storage, const Hints* hints = nullptr) {
    const Part<WriteView> part = dense_part<WriteView>(data.data(), data.size(), section);
    return write_begin(std::span<const Part<WriteView>>(&part, 1), dtype_of<T>(), background,
                       hints);
  }
  /// Of one section into dense memory, which has its size already.
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

/// An open file of several arrays, one after the other without anything between them, as a Fortran
/// program writes them with stream access. Collective calls are those of ArrayFile, of all fields
/// at once; statistics, too, are of the file.
class PENSTOCK_EXPORT FieldsFile {
 public:
  /// Collective over `comm`. Throws Error as ArrayFile::open: argument for fields that no file has
  /// (two of one name, overlapping ones), format for a file that is too short for them,
  /// disagreement if ranks passed different fields.
  static FieldsFile open(MPI_Comm comm, const std::filesystem::path& path, Mode mode,
                         const FieldsSpec& spec, const Hints& hints = {},
                         const Error* found = nullptr);
  /// This process alone; MPI need not be running.
  static FieldsFile open(const std::filesystem::path& path, Mode mode, const FieldsSpec& spec,
                         const Hints& hints = {}, const Error* found = nullptr);

  Field operator[](const std::string& name) const;  ///< not collective
  std::vector<std::string> names() const;           ///< in the order in which they were given

  void sync();                      ///< collective: the bytes are on the device
  void close();                     ///< collective; the bytes are in the file
  Handle close_begin();             ///< collective, see ArrayFile::close_begin
  std::int64_t file_size();         ///< collective; bytes
  void abandon() noexcept;          ///< not collective: this rank abandons the file
  bool closed() const noexcept;     ///< or closing
  std::int64_t end_offset() const;  ///< byte just past the last field
  const FieldsSpec& spec() const;   ///< as given, with all offsets and the machine's byte order
  std::string device() const;       ///< what storage calls go to, in words
  const Hints& hints() const;       ///< effective values
  Statistics statistics() const;    ///< of this rank, since open
  Statistics last_call() const;     ///< of this rank, of the last call
  std::vector<int> aggregator_ranks() const;   ///< who touches the file in collective methods
  const FileSystemFacts& file_system() const;  ///< found out at open, the same on every rank

  class Impl;

 private:
  explicit FieldsFile(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace penstock
