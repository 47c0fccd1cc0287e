// The error handler of a file (MPI 4.1, section 9.3.3). Those that programs make belong to the MPI
// library, which does not say what function is behind one: it is noted when it is made.
#pragma once

#include <mpi.h>

#include <functional>
#include <string>

#include <penstock/error.hpp>

namespace penstock {

class ErrorHandler {
 public:
  /// What a handler of a program does. It may change both.
  using Function = std::function<void(MPI_File& file, int& code)>;

  /// MPI_ERRORS_RETURN, as for every file that is not told otherwise.
  ErrorHandler() = default;

  /// Throws an Error of class MPI_ERR_ARG for a handler that is not one of files.
  void set(MPI_Errhandler handler);
  /// A handle that the caller frees.
  MPI_Errhandler get() const;
  /// What the handler does about `code`; `text` is said where it ends the program. Returns what the
  /// MPI function returns.
  int call(MPI_File file, int code, const std::string& text) const;

  /// A new handle of the MPI library. Returns its error code.
  static int create(const Function& function, MPI_Errhandler* handler);
  /// Of files that are opened from now on, and of what goes wrong without one (MPI_FILE_NULL).
  static ErrorHandler& of_null_file();

 private:
  enum class Kind { returns, ends, ends_alone, calls };
  Kind kind_ = Kind::returns;
  Function function_;
};

}  // namespace penstock
