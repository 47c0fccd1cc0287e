// ArrayFile: an n-dimensional array in one shared file, read and written by all ranks together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

#include <penstock/chunks.hpp>
#include <penstock/distribution.hpp>
#include <penstock/error.hpp>
#include <penstock/file_system.hpp>
#include <penstock/first_rank.hpp>
#include <penstock/handle.hpp>
#include <penstock/hints.hpp>
#include <penstock/section.hpp>
#include <penstock/statistics.hpp>

namespace penstock {

/// How a file is opened.
enum class Mode {
  read,        ///< "r"
  read_write,  ///< "r+": it exists, and grows if the array does not fit yet
  create,      ///< "w": made anew, its old content dropped
  create_new,  ///< "x": made, and an error (EEXIST) where there is something of that name
  replace,  ///< "replace": made anew, in a file beside it that takes its place when all ranks have
            ///< closed it: until then, and after any failure, the old one is there as it was
  open_or_create,  ///< "a": as "r+" where it exists when rank 0 looks, else as "x"
};
/// What is around the array in the file.
enum class Container {
  automatic,  ///< "auto": npy for names that end in .npy, and where the file begins as one; zarr
              ///< where the name, or that of a folder on the way, ends in .zarr
  raw,        ///< "raw": bare elements
  npy,        ///< "npy": NumPy's header before them
  zarr,       ///< "zarr": a folder of chunks, Zarr 3
};
PENSTOCK_EXPORT std::string_view to_string(Mode mode) noexcept;
PENSTOCK_EXPORT std::string_view to_string(Container container) noexcept;
PENSTOCK_EXPORT Mode parse_mode(std::string_view text);  ///< throws Error(argument), as the next
/// Collective over `comm`, or by this process alone: Mode::open_or_create as what it comes to by
/// what rank 0 finds, any other mode as it is. Throws Error(disagreement), on all ranks.
PENSTOCK_EXPORT Mode settled_mode(MPI_Comm comm, const std::filesystem::path& path, Mode mode);
PENSTOCK_EXPORT Mode settled_mode(const std::filesystem::path& path, Mode mode);
PENSTOCK_EXPORT Container parse_container(std::string_view text);

/// In ArraySpec::shape, of the slowest dimension (the first in order C, the last in order F): as
/// long as the file has it, 0 in a new one, and longer by each append().
inline constexpr std::int64_t unlimited = -1;

/// What the array in the file looks like. Where the file says so itself (.npy), fields may be
/// left empty, and those given must agree with it.
struct ArraySpec {
  std::vector<std::int64_t> shape;  ///< 1 to 8 dimensions
  std::int64_t element_size = 0;    ///< bytes, 1 to 65536
  std::string dtype;                ///< NumPy descr ("<f8"), needed to create .npy files
  std::optional<Order> order;       ///< default: C
  std::int64_t offset = 0;          ///< byte offset where the array (or its header) starts
  Container container = Container::automatic;  ///< by file name (create) or content (open)
  ChunkSpec chunks;                            ///< of a Zarr array
};

/// Bytes of one element of a type as NumPy writes it ("<f8"); throws Error(argument).
PENSTOCK_EXPORT std::int64_t element_size_of(const std::string& dtype);

/// Memory of one section. `data` points at the section's first element; `strides` are bytes
/// between neighbours in each dimension (any sign). No strides: dense, in the file's order.
template <class Byte>
struct MemoryView {
  Byte* data = nullptr;             ///< the section's first element
  std::vector<std::int64_t> shape;  ///< in elements, to be compared with the section's; empty: any
  std::vector<std::int64_t> strides;  ///< bytes, one for each dimension; empty: dense
  std::size_t size_bytes = 0;         ///< without strides: bytes available
  std::int64_t element_size = 0;      ///< of the memory's type, to be compared; 0: any
};
using ReadView = MemoryView<std::byte>;         ///< a read fills it
using WriteView = MemoryView<const std::byte>;  ///< a write takes from it

/// One piece of a request: a section and its memory.
template <class View>
struct Part {
  Section section;  ///< in elements of the array
  View memory;      ///< of the section's shape
};

/// Removes the new files of replacements (Mode::replace) that programs have left in a folder which
/// were killed. Those that somebody is writing stay. Not collective. What cannot be removed stays.
PENSTOCK_EXPORT void remove_unfinished(const std::filesystem::path& folder);

/// Where an array lies in the bytes of a file, in order C: what a part of a call is about, where a
/// call is about several arrays.
struct ArrayPlace {
  std::vector<std::int64_t> shape;  ///< 1 to 8 dimensions
  std::int64_t element_size = 1;    ///< bytes
  std::int64_t offset = 0;          ///< byte of the file, of the first element
};

/// An n-dimensional array in one shared file.
///
/// Calls that are *collective* are made by all ranks of the communicator that the file was opened
/// with, in the same order. They throw Error, the same class with the same words on every rank:
/// argument, section and state for what one rank passed, disagreement where ranks passed different
/// values or are in different calls (in both cases the file is as it was), storage where the
/// operating system refused.
///
/// `found`, of many of them, is for bindings: what this rank has found wrong with its arguments. It
/// takes part in the call with that in place of a request, and all ranks throw it; a handle that
/// such a call returns (of a begin with Background::all) throws it in wait().
class PENSTOCK_EXPORT ArrayFile {
 public:
  /// Collective over `comm`. The file holds, or will hold, what `spec` says. Throws Error: argument
  /// for values that no file takes, format if the file holds something else, storage if the system
  /// refuses, disagreement if ranks passed different values. No file is changed then.
  static ArrayFile open(MPI_Comm comm, const std::filesystem::path& path, Mode mode,
                        const ArraySpec& spec = {}, const Hints& hints = {},
                        const Error* found = nullptr);
  /// This process alone; MPI need not be running.
  static ArrayFile open(const std::filesystem::path& path, Mode mode, const ArraySpec& spec = {},
                        const Hints& hints = {}, const Error* found = nullptr);
  ArrayFile(ArrayFile&&) noexcept;
  ArrayFile& operator=(ArrayFile&&) noexcept;
  /// Abandons the file on this rank; close() is collective. What could not be written is reported
  /// on stderr.
  ~ArrayFile();

  /// Collective: every rank calls, with no part, one or several. Where parts overlap, the
  /// highest rank and its last part win (with direct and sieved: one writer of each element).
  /// On return the memory is free. The data is in the file after sync(), close() or a read of it by
  /// the same ranks; until then up to active_buffer_size bytes of each process may be on their way.
  /// With active_buffer_size = 0 the data is in the file on return, as after POSIX write. What goes
  /// wrong in the background is thrown by the next call on this file.
  /// `call_hints`: settings for this call in place of the file's; all of them count.
  void write(std::span<const Part<WriteView>> parts, const Hints* call_hints = nullptr,
             const Error* found = nullptr);
  /// Collective, as write. On return the memory of the parts is filled; if it throws, its content
  /// is not defined. No byte is fetched from a device twice, however many ranks ask.
  void read(std::span<const Part<ReadView>> parts, const Hints* call_hints = nullptr,
            const Error* found = nullptr);

  /// The same about other arrays than the file's own, any number of them in one operation. They lie
  /// in the bytes of a raw file's array, and their descriptions are not compared between ranks.
  /// `places`: one for each part. Where they ascend, thousands of parts cost little more than one.
  void write_placed(std::span<const ArrayPlace> places, std::span<const Part<WriteView>> parts,
                    const Hints* call_hints = nullptr, const Error* found = nullptr);
  void read_placed(std::span<const ArrayPlace> places, std::span<const Part<ReadView>> parts,
                   const Hints* call_hints = nullptr, const Error* found = nullptr);

  /// The same with begin and wait. Several may be in flight; calls of one
  /// file are carried out in the order in which they began. The memory of `parts` must stay until
  /// Handle::copied() or wait(). Errors: of arguments here, or with Background::all by wait().
  /// No background: which one was asked for is not known, as `found` says. `keeps`: what the
  /// operation holds as long as it may use that memory, whatever becomes of the handle; any thread
  /// may be the one that destroys it.
  Handle write_begin(std::span<const Part<WriteView>> parts,
                     std::optional<Background> background = Background::storage,
                     const Hints* call_hints = nullptr, const Error* found = nullptr,
                     std::shared_ptr<const void> keeps = nullptr);
  /// The same of a read. Reads queue up behind the writes and reads before them.
  Handle read_begin(std::span<const Part<ReadView>> parts,
                    std::optional<Background> background = Background::storage,
                    const Hints* call_hints = nullptr, const Error* found = nullptr,
                    std::shared_ptr<const void> keeps = nullptr);
  /// Of one section from dense memory, in the file's order.
  template <class T>
  Handle write_begin(const std::vector<T>& data, const Section& section,
                     Background background = Background::storage, const Hints* hints = nullptr) {
    const Part<WriteView> part{section, dense<const std::byte>(data.data(), data.size())};
    return write_begin(std::span<const Part<WriteView>>(&part, 1), background, hints);
  }
  /// Of one section into dense memory, in the file's order, which has its size already.
  template <class T>
  Handle read_begin(std::vector<T>& data, const Section& section,
                    Background background = Background::storage, const Hints* hints = nullptr) {
    const Part<ReadView> part{section, dense<std::byte>(data.data(), data.size())};
    return read_begin(std::span<const Part<ReadView>>(&part, 1), background, hints);
  }

  /// One section from dense memory, in the file's order. T is the element's type, or a type of
  /// one byte.
  template <class T>
  void write(std::span<T> data, const Section& section, const Hints* hints = nullptr) {
    const Part<WriteView> part{section, dense<const std::byte>(data.data(), data.size())};
    write(std::span<const Part<WriteView>>(&part, 1), hints);
  }
  /// The same of a vector.
  template <class T>
  void write(const std::vector<T>& data, const Section& section, const Hints* hints = nullptr) {
    write(std::span<const T>(data), section, hints);
  }
  /// One section into dense memory, in the file's order.
  template <class T>
  void read(std::span<T> data, const Section& section, const Hints* hints = nullptr) {
    const Part<ReadView> part{section, dense<std::byte>(data.data(), data.size())};
    read(std::span<const Part<ReadView>>(&part, 1), hints);
  }
  /// The same into a vector, which has the section's size already.
  template <class T>
  void read(std::vector<T>& data, const Section& section, const Hints* hints = nullptr) {
    read(std::span<T>(data), section, hints);
  }

  /// Collective over `comm`, before a file is opened: rank 0 does something for all. Returns what
  /// the task's work returned, on every rank. `found`: what this rank has found wrong with its
  /// arguments; then nobody does anything. Throws Error, the same class with the same words on
  /// every rank: that of `found`, disagreement where common values differ or ranks are in different
  /// calls, or what the work threw.
  static std::string on_first_rank(MPI_Comm comm, const std::filesystem::path& path,
                                   const FirstRankTask& task, const Error* found = nullptr);
  /// This process alone; MPI need not be running.
  static std::string on_first_rank(const std::filesystem::path& path, const FirstRankTask& task,
                                   const Error* found = nullptr);
  /// The same by the ranks of an open file. What is on its way to the file stays so.
  std::string on_first_rank(const FirstRankTask& task, const Error* found = nullptr);

  void sync();   ///< collective: the bytes are on the device
  void close();  ///< collective; the bytes are in the file. A second call does nothing
  /// Collective. The file counts as closed at once; its data is in the file after the handle's
  /// wait(). A handle that goes without it waits for this rank's own data.
  Handle close_begin();
  std::int64_t file_size();  ///< collective; bytes, with all that was written
  /// Collective; longer too, with zeros.
  void truncate(std::int64_t bytes, const Error* found = nullptr);
  /// Collective: the array becomes one step longer along its slowest dimension, and the parts are
  /// written; their sections are of the longer array, whose new index is the extent before. The
  /// file must have been opened with `unlimited` there. Where it throws, the shape is as it was. An
  /// .npy header and zarr.json say the new extent from the next sync() or close() on, so that
  /// whoever reads the file after a crash finds what was there then.
  void append(std::span<const Part<WriteView>> parts, const Hints* call_hints = nullptr,
              const Error* found = nullptr);

  /// Collective. The record of attributes, a JSON object: that of a Zarr array, else as it is
  /// written beside the file (its path and ".attrs.json"). Empty where there is none. An array at
  /// an offset has none.
  std::string attributes();
  /// Collective: replaces the record as a whole. A crash leaves the old one or the new one. Throws
  /// Error(argument) unless it is a JSON object, as far as there is a JSON library.
  void set_attributes(const std::string& json, const Error* found = nullptr);

  /// Not collective: this rank abandons the file, as its destructor does.
  void abandon() noexcept;
  bool closed() const noexcept;  ///< or closing, after close_begin()

  const ArraySpec& spec() const;     ///< shape, element size, order as they are in the file
  std::int64_t data_offset() const;  ///< byte offset of the first element
  std::int64_t end_offset() const;   ///< byte offset just past the array
  /// Found out at open, the same on every rank.
  const FileSystemFacts& file_system() const;
  std::string device() const;                 ///< what storage calls go to, in words
  const Hints& hints() const;                 ///< effective values
  std::vector<int> aggregator_ranks() const;  ///< who touches the file in collective methods
  Statistics statistics() const;              ///< of this rank, since open; in the background too
  Statistics last_call() const;               ///< of this rank, of the last call, without
                                              ///< what the I/O thread does
  Method last_method() const;                 ///< what `automatic` chose

  class Impl;

 private:
  explicit ArrayFile(std::shared_ptr<Impl> impl);
  template <class Byte, class T>
  static MemoryView<Byte> dense(T* data, std::size_t count) {
    return {reinterpret_cast<Byte*>(data),
            {},
            {},
            count * sizeof(T),
            sizeof(T) == 1 ? 0 : static_cast<std::int64_t>(sizeof(T))};
  }
  std::shared_ptr<Impl> impl_;
};

}  // namespace penstock
