// The error handler of a file (MPI 4.1, section 9.3.3). Handlers belong to the MPI library, which
// counts references to them but does not return the function behind one: it is recorded when the
// handler is made.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <string>

#include <penstock/error.hpp>

namespace penstock {

class ErrorHandler {
 public:
  /// The function of a program's handler. It may change both arguments.
  using Function = std::function<void(MPI_File& file, int& code)>;

  /// MPI_ERRORS_RETURN, the default for files.
  ErrorHandler() = default;

  /// Keeps the handler, even if the program frees its handle. Throws an Error of class MPI_ERR_ARG
  /// for one that is not a file error handler.
  void set(MPI_Errhandler handler);
  /// A new reference to the handle: the caller frees it.
  MPI_Errhandler get() const;
  /// Calls the handler for `code`; `text` is printed if it ends the program, or `ranks` of it.
  /// Returns the result of the MPI function.
  int call(MPI_File file, MPI_Comm ranks, int code, const std::string& text) const;

  /// Creates a handle of the MPI library. Returns its error code.
  static int create(const Function& function, MPI_Errhandler* handler);
  /// Records that `handler` is one of files, with this function.
  static void note(MPI_Errhandler handler, const Function& function);
  /// For files that are opened from now on, and for errors without a file (MPI_FILE_NULL).
  static ErrorHandler& of_null_file();

 private:
  enum class Kind { returns, ends, ends_ranks, calls };
  Kind kind_ = Kind::returns;
  Function function_;
  std::shared_ptr<const MPI_Errhandler> held_;  // null: MPI_ERRORS_RETURN
};

}  // namespace penstock
