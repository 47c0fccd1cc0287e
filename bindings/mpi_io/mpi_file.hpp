// MpiFile: an open MPI file (MPI 4.1, chapter 14): a file of bytes, this process's view of it, its
// file pointers and its error handler. open.cpp opens and closes one, manage.cpp has queries and
// settings, data_access.cpp reads and writes.
//
// Its functions throw Error, which names/guard.hpp passes to the error handler. Concurrent calls on
// one file are serialised.
#pragma once

#include <mpi.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "file/byte_file.hpp"
#include "mpi_io/amode.hpp"
#include "mpi_io/conversion.hpp"
#include "mpi_io/error_handler.hpp"
#include "mpi_io/file_mutex.hpp"
#include "mpi_io/mpi_hints.hpp"
#include "mpi_io/report.hpp"
#include "mpi_io/shared_pointer.hpp"
#include "mpi_io/view.hpp"

namespace penstock {

/// One data access routine (MPI 4.1, table 14.1).
struct DataAccess {
  enum class At { explicit_offset, individual, shared, ordered };

  Direction direction = Direction::read;
  At at = At::explicit_offset;
  Company company = Company::independent;
  MPI_Offset offset = 0;  // in etypes, if explicit
  void* buffer = nullptr;
  std::int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;

  bool writes() const noexcept { return direction == Direction::write; }
};

/// An access in flight.
class PendingAccess {
 public:
  std::shared_ptr<ByteFile::Begun> begun;
  /// After the end: converts what was read into the program's buffer. Returns the bytes moved
  /// there, as a status counts them.
  std::int64_t finish();
  Company company() const noexcept { return company_; }
  /// Grows as the operation progresses.
  std::int64_t steps() const noexcept { return begun->steps(); }
  /// Number of the call that began it; 0: a call of this rank alone.
  std::int64_t call() const noexcept { return begun->call(); }

 private:
  friend class MpiFile;
  std::unique_ptr<Conversion> conversion_;  // null: no conversion
  std::int64_t moved_ = 0;                  // by a write, in the program's buffer
  Company company_ = Company::independent;
  double seconds_ = 0;  // in the call that began it
  bool is_split_ = false;
  /// The program may continue although the operation has not ended: the bytes of an independent
  /// write are buffered, and this process and others of its node wait for them where they read
  /// them. Those of a collective write may still be with a rank that has not resumed it.
  bool is_as_good_as_written() const;
};

class MpiFile {
 public:
  /// Collective.
  MpiFile(MPI_Comm comm, const std::string& name, int amode, MPI_Info info);
  MpiFile(const MpiFile&) = delete;
  ~MpiFile();
  void close();  // collective
  bool is_open() const noexcept { return bytes_->is_open(); }

  FileMutex& mutex() noexcept { return mutex_; }
  ErrorHandler& error_handler() noexcept { return error_handler_; }
  /// Calls its error handler. Returns the result of the MPI function.
  int raise(MPI_File handle, const Error& error);
  /// The ranks that MPI_ERRORS_ABORT ends (MPI 4.1, section 9.3).
  MPI_Comm ranks_to_end() const noexcept;
  const std::string& path() const noexcept { return bytes_->path(); }
  const Communicator& comm() const noexcept { return bytes_->comm(); }
  int amode() const noexcept { return amode_; }
  MPI_Group group() const;
  /// Its operations make no MPI calls, unless they need messages.
  bool is_within_node() const noexcept;

  // Collective.
  void set_size(MPI_Offset bytes);
  void preallocate(MPI_Offset bytes);
  void set_view(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                const std::string& representation, MPI_Info info);
  void set_info(MPI_Info info);
  void set_atomicity(bool atomic);
  void seek_shared(MPI_Offset offset, int whence);
  void sync();

  // Not collective.
  MPI_Offset size() { return bytes_->size_now(); }
  MPI_Info info() const;
  void get_view(MPI_Offset& displacement, MPI_Datatype& etype, MPI_Datatype& filetype,
                std::string& representation) const;
  bool atomicity() const noexcept { return atomic_; }
  void seek(MPI_Offset offset, int whence);
  MPI_Offset position();
  MPI_Offset shared_position();
  MPI_Offset byte_offset(MPI_Offset offset) const;
  MPI_Aint type_extent(MPI_Datatype type) const;

  /// Returns when it is done.
  void access(const DataAccess& access, MPI_Status* status);
  /// Begins it; test() returns whether it has ended.
  PendingAccess begin(const DataAccess& access);
  bool test(PendingAccess& transfer);
  /// Counts time that the program spent in a call that waits for requests including this one.
  void count_wait(const PendingAccess& transfer, std::chrono::nanoseconds time) {
    report_.count_wait(*transfer.begun, transfer.company_, time);
  }
  /// Waits for its end, and throws its error. Returns the bytes moved.
  std::int64_t end(PendingAccess& transfer);
  /// For a split collective call, whose buffer is that of its begin.
  void begin_split(const char* name, const DataAccess& access);
  void end_split(const char* name, MPI_Status* status);

 private:
  struct AccessToBegin;
  struct Split {
    std::string name;
    PendingAccess transfer;
  };

  void check(const DataAccess& access) const;
  AccessToBegin prepare(const DataAccess& access);
  void fill_in(AccessToBegin& prepared, const DataAccess& access, std::int64_t offset,
               std::int64_t bytes);
  std::int64_t take_offset(const DataAccess& access, std::int64_t etypes);
  std::int64_t take_ordered(std::int64_t etypes);
  std::int64_t etypes_of(std::int64_t bytes) const noexcept;
  bool move_simply(const DataAccess& access, MPI_Status* status);
  void require_no_split(const char* what) const;
  void require_not_sequential(const char* what) const;
  std::optional<Error> check_resize(const char* what, MPI_Offset bytes) const;
  void take_hints(MpiHints hints);
  void update_call_hints();
  void report_ignored_hints();
  std::optional<Error> delete_file();
  void free_types();
  std::int64_t offset_from(MPI_Offset offset, int whence, std::int64_t current);

  FileMutex mutex_;
  ErrorHandler error_handler_;
  int amode_ = 0;
  MPI_Group group_ = MPI_GROUP_NULL;
  MpiHints hints_;
  Hints call_hints_[2][2];  // by direction and company
  std::unique_ptr<ByteFile> bytes_;
  std::unique_ptr<SharedPointer> shared_;
  View view_;
  std::shared_ptr<const DataRepresentation> representation_;
  MPI_Datatype etype_ = MPI_BYTE, filetype_ = MPI_BYTE;  // the program's handles
  std::int64_t position_ = 0;                            // the individual file pointer, in etypes
  bool atomic_ = false;
  std::optional<Split> split_;
  FileReport report_;
};

/// Sets the results of MPI_Get_count and MPI_Get_elements.
void set_status(MPI_Status* status, std::int64_t bytes);

}  // namespace penstock
