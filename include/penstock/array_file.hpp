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
  create,      ///< "w": recreated, its old content is dropped
  create_new,  ///< "x": created; an error (EEXIST) if something of that name exists
  replace,     ///< "replace": written to a new file beside it, which takes its place when all ranks
               ///< have closed it: until then, and after any failure, the old file is unchanged
  open_or_create,  ///< "a": like "r+" if it exists when rank 0 looks, else like "x"
};
/// The file format around the array.
enum class Container {
  automatic,  ///< "auto": npy for names that end in .npy, and for files that begin like one; zarr
              ///< if a component of the path ends in .zarr
  raw,        ///< "raw": bare elements
  npy,        ///< "npy": elements after NumPy's header
  zarr,       ///< "zarr": a folder of chunks, Zarr 3
};
PENSTOCK_EXPORT std::string_view to_string(Mode mode) noexcept;
PENSTOCK_EXPORT std::string_view to_string(Container container) noexcept;
/// These throw Error(argument).
PENSTOCK_EXPORT Mode parse_mode(std::string_view text);
PENSTOCK_EXPORT Container parse_container(std::string_view text);
/// Resolves Mode::open_or_create to read_write or create_new, by whether rank 0 finds the file;
/// returns any other mode unchanged. Collective over `comm`, or for this process alone. Throws
/// Error(disagreement) on all ranks.
PENSTOCK_EXPORT Mode settled_mode(MPI_Comm comm, const std::filesystem::path& path, Mode mode);
PENSTOCK_EXPORT Mode settled_mode(const std::filesystem::path& path, Mode mode);

/// In ArraySpec::shape, for the slowest dimension (the first in order C, the last in order F): its
/// length in the file, 0 in a new one; each append() increases it.
inline constexpr std::int64_t unlimited = -1;

/// Steps of an array in a raw file that do not follow each other without gaps, as records of a
/// classic netCDF file, which have those of other arrays between them.
struct Records {
  std::int64_t step = 0;   ///< bytes from one step to the next; 0: there are no gaps
  std::int64_t count = 0;  ///< of existing steps, if the slowest dimension is `unlimited`
};

/// Description of the array in the file. If the file describes itself (.npy, Zarr), fields may be
/// left empty, and those given must agree with it.
struct ArraySpec {
  std::vector<std::int64_t> shape;  ///< 1 to 8 dimensions
  std::int64_t element_size = 0;    ///< bytes, 1 to 65536
  std::string dtype;  ///< NumPy descr ("<f8"), needed to create .npy files; of a Zarr array also
                      ///< the name of a type that NumPy lacks ("bfloat16")
  std::optional<Order> order;  ///< default: C
  std::int64_t offset = 0;     ///< byte offset where the array (or its header) starts
  Container container = Container::automatic;  ///< by file name (create) or content (open)
  ChunkSpec chunks;                            ///< of a Zarr array
  Records records;                             ///< of a raw file
  bool is_scalar = false;  ///< one element, without dimensions in the file's description: shape {1}
};

/// Bytes of one element of a NumPy dtype ("<f8"); throws Error(argument).
PENSTOCK_EXPORT std::int64_t element_size_of(const std::string& dtype);

/// Memory of one section. `data` points at the section's first element; `strides` are bytes between
/// neighbours in each dimension (of any sign). Without strides: dense, in the file's order.
template <class Byte>
struct MemoryView {
  Byte* data = nullptr;               ///< the section's first element
  std::vector<std::int64_t> shape;    ///< in elements, must equal the section's; empty: not checked
  std::vector<std::int64_t> strides;  ///< bytes, one for each dimension; empty: dense
  std::size_t size_bytes = 0;         ///< without strides: bytes available
  std::int64_t element_size = 0;  ///< of the memory's type, must equal the array's; 0: not checked
};
using ReadView = MemoryView<std::byte>;         ///< a read fills it
using WriteView = MemoryView<const std::byte>;  ///< a write reads from it

/// One piece of a request: a section and its memory.
template <class View>
struct Part {
  Section section;  ///< in elements of the array
  View memory;      ///< of the section's shape
};

/// Removes new files of replacements (Mode::replace) that killed programs have left in a folder.
/// Files that are still being written stay, and so do those that cannot be removed. Not collective.
PENSTOCK_EXPORT void remove_unfinished(const std::filesystem::path& folder);

/// Where an array lies in the bytes of a file, in order C. For calls on several arrays: the array
/// of a part.
struct ArrayPlace {
  std::vector<std::int64_t> shape;  ///< 1 to 8 dimensions
  std::int64_t element_size = 1;    ///< bytes
  std::int64_t offset = 0;          ///< of the first element, in bytes
};

/// An n-dimensional array in one shared file.
///
/// *Collective* calls are made by all ranks of the communicator that the file was opened with, in
/// the same order. They throw Error, the same class and message on every rank: argument, section
/// and state for an error of one rank, disagreement if ranks passed different values or are in
/// different calls (in both cases the file is unchanged), storage if the operating system refused.
///
/// `found`, in many of them, is for bindings: an error that the binding has found in this rank's
/// arguments. The rank takes part in the call with it instead of a request, and all ranks throw it;
/// a handle returned by such a call (of a begin with Background::all) throws it in wait().
class PENSTOCK_EXPORT ArrayFile {
 public:
  /// Collective over `comm`. The file has, or will have, the content that `spec` describes. Throws
  /// Error: argument for values that no file can have, format if the file has other content,
  /// storage if the system refuses, disagreement if ranks passed different values. On error no file
  /// is changed.
  static ArrayFile open(MPI_Comm comm, const std::filesystem::path& path, Mode mode,
                        const ArraySpec& spec = {}, const Hints& hints = {},
                        const Error* found = nullptr);
  /// For this process alone; MPI need not be running.
  static ArrayFile open(const std::filesystem::path& path, Mode mode, const ArraySpec& spec = {},
                        const Hints& hints = {}, const Error* found = nullptr);
  ArrayFile(ArrayFile&&) noexcept;
  ArrayFile& operator=(ArrayFile&&) noexcept;
  /// Abandons the file on this rank; close() is collective. Data that could not be written is
  /// reported on stderr.
  ~ArrayFile();

  /// Collective: every rank calls it, with no part, one or several. Where parts overlap, the
  /// highest rank and its last part win (with direct and sieved: one writer of each element). On
  /// return the memory may be reused. The data is in the file after sync(), close() or a read of it
  /// by the same ranks; until then up to active_buffer_size bytes of each process may be pending.
  /// With active_buffer_size = 0 the data is in the file on return, as after POSIX write. Errors in
  /// the background are thrown by the next call on this file. `call_hints`: settings for this call,
  /// all of which replace the file's.
  void write(std::span<const Part<WriteView>> parts, const Hints* call_hints = nullptr,
             const Error* found = nullptr);
  /// Collective, like write. On return the memory of the parts is filled; if it throws, its content
  /// is undefined. No byte is read from a device twice, however many ranks want it.
  void read(std::span<const Part<ReadView>> parts, const Hints* call_hints = nullptr,
            const Error* found = nullptr);

  /// The same for other arrays than the file's own, any number of them in one operation. They lie
  /// in the bytes of a raw file's array, and their descriptions are not compared between ranks.
  /// `places`: one for each part. If they ascend, thousands of parts cost little more than one.
  void write_placed(std::span<const ArrayPlace> places, std::span<const Part<WriteView>> parts,
                    const Hints* call_hints = nullptr, const Error* found = nullptr);
  void read_placed(std::span<const ArrayPlace> places, std::span<const Part<ReadView>> parts,
                   const Hints* call_hints = nullptr, const Error* found = nullptr);

  /// The same with begin and wait. Several operations may be in flight; those of one file are
  /// carried out in the order in which they began. The memory of `parts` must remain valid and
  /// unchanged until Handle::copied() or wait(). Errors in arguments are thrown here, or with
  /// Background::all by wait(). No background: the mode is unknown, and `found` is the error.
  /// `keeps`: kept by the operation as long as it may use the memory, whatever happens to the
  /// handle; any thread may destroy it.
  Handle write_begin(std::span<const Part<WriteView>> parts,
                     std::optional<Background> background = Background::storage,
                     const Hints* call_hints = nullptr, const Error* found = nullptr,
                     std::shared_ptr<const void> keeps = nullptr);
  /// The same for a read. Reads queue up behind earlier writes and reads.
  Handle read_begin(std::span<const Part<ReadView>> parts,
                    std::optional<Background> background = Background::storage,
                    const Hints* call_hints = nullptr, const Error* found = nullptr,
                    std::shared_ptr<const void> keeps = nullptr);
  /// For one section of dense memory, in the file's order.
  template <class T>
  Handle write_begin(const std::vector<T>& data, const Section& section,
                     Background background = Background::storage, const Hints* hints = nullptr) {
    const Part<WriteView> part{section, dense<const std::byte>(data.data(), data.size())};
    return write_begin(std::span<const Part<WriteView>>(&part, 1), background, hints);
  }
  /// For one section of dense memory, in the file's order, which must have the section's size.
  template <class T>
  Handle read_begin(std::vector<T>& data, const Section& section,
                    Background background = Background::storage, const Hints* hints = nullptr) {
    const Part<ReadView> part{section, dense<std::byte>(data.data(), data.size())};
    return read_begin(std::span<const Part<ReadView>>(&part, 1), background, hints);
  }

  /// One section of dense memory, in the file's order. T is the element's type, or a type of one
  /// byte.
  template <class T>
  void write(std::span<T> data, const Section& section, const Hints* hints = nullptr) {
    const Part<WriteView> part{section, dense<const std::byte>(data.data(), data.size())};
    write(std::span<const Part<WriteView>>(&part, 1), hints);
  }
  /// The same for a vector.
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
  /// The same for a vector, which must have the section's size.
  template <class T>
  void read(std::vector<T>& data, const Section& section, const Hints* hints = nullptr) {
    read(std::span<T>(data), section, hints);
  }

  /// Collective over `comm`, before a file is opened: rank 0 runs a task for all. Returns the
  /// result of the task's work on every rank. `found`: an error that this rank has found in its
  /// arguments; then nothing is done. Throws Error, the same class and message on every rank:
  /// `found`, disagreement if common values differ or ranks are in different calls, or the
  /// exception of the work.
  static std::string on_first_rank(MPI_Comm comm, const std::filesystem::path& path,
                                   const FirstRankTask& task, const Error* found = nullptr);
  /// For this process alone; MPI need not be running.
  static std::string on_first_rank(const std::filesystem::path& path, const FirstRankTask& task,
                                   const Error* found = nullptr);
  /// The same for the ranks of an open file. Pending data stays pending.
  std::string on_first_rank(const FirstRankTask& task, const Error* found = nullptr);

  /// For bindings: throws the first error that kept bytes of this rank out of the file, also where
  /// a call has reported it before. Not collective.
  void check_whole() const;
  void sync();   ///< collective: the bytes are on the device
  void close();  ///< collective; the bytes are in the file. A second call does nothing
  /// Collective. The file counts as closed at once; its data is in the file after the handle's
  /// wait(). The destructor of a handle without wait() waits for this rank's own data.
  Handle close_begin();
  std::int64_t file_size();  ///< collective; in bytes, including everything written
  /// Collective; may also extend the file, with zeros.
  void truncate(std::int64_t bytes, const Error* found = nullptr);
  /// Collective: extends the array by one step along its slowest dimension, and writes the parts;
  /// their sections are of the longer array, in which the new index is the previous extent. The
  /// file must have been opened with `unlimited` there. If it throws, the shape is unchanged. An
  /// .npy header and zarr.json have the new extent from the next sync() or close() on, so that
  /// readers after a crash find consistent data.
  void append(std::span<const Part<WriteView>> parts, const Hints* call_hints = nullptr,
              const Error* found = nullptr);

  /// Collective. The attributes, as a JSON object: those of a Zarr array, otherwise from the file
  /// beside the array's (its path and ".attrs.json"). Empty if there are none. An array at an
  /// offset has none.
  std::string attributes();
  /// Collective: replaces the attributes as a whole. A crash leaves the old ones or the new ones.
  /// Throws Error(argument) unless it is a JSON object, if the library was built with JSON.
  void set_attributes(const std::string& json, const Error* found = nullptr);

  /// Not collective: this rank abandons the file, as its destructor does.
  void abandon() noexcept;
  bool closed() const noexcept;  ///< or closing, after close_begin()

  const ArraySpec& spec() const;     ///< shape, element size, order as they are in the file
  std::int64_t data_offset() const;  ///< byte offset of the first element
  std::int64_t end_offset() const;   ///< byte offset just past the array
  /// Determined at open, the same on every rank.
  const FileSystemFacts& file_system() const;
  std::string device() const;                 ///< what storage calls go to, for users
  const Hints& hints() const;                 ///< effective values
  std::vector<int> aggregator_ranks() const;  ///< ranks that access the file in collective methods
  Statistics statistics() const;  ///< of this rank, since open; including background work
  Statistics last_call()
      const;  ///< of this rank, for the last call, without the work of the I/O thread
  Method last_method() const;  ///< what `automatic` chose

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
