// The error handler of a file (MPI 4.1, section 9.3.3). Handlers belong to the MPI library, which
// counts their references, but does not say what function is behind one: it is noted when the
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
  /// What a handler of a program does. It may change both.
  using Function = std::function<void(MPI_File& file, int& code)>;

  /// MPI_ERRORS_RETURN, as for every file that is not told otherwise.
  ErrorHandler() = default;

  /// Keeps the handler, also when the program frees its handle. Throws an Error of class
  /// MPI_ERR_ARG for one that is not of files.
  void set(MPI_Errhandler handler);
  /// The handle that was set, once more: the caller frees it.
  MPI_Errhandler get() const;
  /// What the handler does about `code`; `text` is said where it ends the program, or `ranks` of
  /// it. Returns what the MPI function returns.
  int call(MPI_File file, MPI_Comm ranks, int code, const std::string& text) const;

  /// A new handle of the MPI library. Returns its error code.
  static int create(const Function& function, MPI_Errhandler* handler);
  /// `handler` is one of files, and does this.
  static void note(MPI_Errhandler handler, const Function& function);
  /// Of files that are opened from now on, and of what goes wrong without one (MPI_FILE_NULL).
  static ErrorHandler& of_null_file();

 private:
  enum class Kind { returns, ends, ends_ranks, calls };
  Kind kind_ = Kind::returns;
  Function function_;
  std::shared_ptr<const MPI_Errhandler> held_;  // null: MPI_ERRORS_RETURN
};

}  // namespace penstock
