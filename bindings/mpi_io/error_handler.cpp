#include "mpi_io/error_handler.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include "mpi/communicator.hpp"
#include "mpi/library.hpp"
#include "mpi_io/mpi_error.hpp"

namespace penstock {
namespace {

/// Handles differ in size between libraries.
using Key = std::string;
Key key_of(MPI_Errhandler handler) {
  return {reinterpret_cast<const char*>(&handler), sizeof handler};
}

/// A new handle may have the value of a freed one: the last function recorded is valid.
class Functions {
 public:
  void note(MPI_Errhandler handler, const ErrorHandler::Function& function) {
    const std::lock_guard guard(mutex_);
    all_[key_of(handler)] = function;
  }
  /// Empty: none is recorded.
  ErrorHandler::Function find(MPI_Errhandler handler) {
    const std::lock_guard guard(mutex_);
    const auto found = all_.find(key_of(handler));
    return found == all_.end() ? ErrorHandler::Function() : found->second;
  }
  static Functions& of_process() {
    static Functions functions;
    return functions;
  }

 private:
  std::mutex mutex_;
  std::map<Key, ErrorHandler::Function> all_;
};

/// Placeholder: the library needs a function for a handle, but never has a file to call it for.
void never_called(MPI_File*, int*, ...) {}

/// Freed with the last file that uses it.
std::shared_ptr<const MPI_Errhandler> hold(MPI_Errhandler handler) {
  MPI_Errhandler held = MPI_ERRHANDLER_NULL;
  if (library::file_hold_errhandler(handler, &held) != MPI_SUCCESS)
    throw_mpi(MPI_ERR_ARG, "this error handler is not one of files");
  return {new MPI_Errhandler(held), [](MPI_Errhandler* last) {
            if (Communicator::mpi_is_running()) MPI_Errhandler_free(last);
            delete last;
          }};
}

}  // namespace

int ErrorHandler::create(const Function& function, MPI_Errhandler* handler) {
  const int code = library::file_create_errhandler(&never_called, handler);
  if (code == MPI_SUCCESS) note(*handler, function);
  return code;
}

void ErrorHandler::note(MPI_Errhandler handler, const Function& function) {
  Functions::of_process().note(handler, function);
}

ErrorHandler& ErrorHandler::of_null_file() {
  static ErrorHandler handler;
  return handler;
}

void ErrorHandler::set(MPI_Errhandler handler) {
  ErrorHandler next;
  next.held_ = hold(handler);
  next.function_ = Functions::of_process().find(handler);
  if (handler == MPI_ERRORS_RETURN) {
    next.kind_ = Kind::returns;
  } else if (handler == MPI_ERRORS_ARE_FATAL) {
    next.kind_ = Kind::ends;
#ifdef MPI_ERRORS_ABORT
  } else if (handler == MPI_ERRORS_ABORT) {
    next.kind_ = Kind::ends_ranks;
#endif
  } else if (library::is_throwing_errhandler(handler)) {
    MPI_File_errhandler_function* const throws = library::throwing_function();
    next.kind_ = throws != nullptr ? Kind::calls : Kind::returns;
    next.function_ = [=](MPI_File& file, int& code) { throws(&file, &code); };
  } else if (next.function_) {
    next.kind_ = Kind::calls;
  } else {
    throw_mpi(MPI_ERR_ARG, "this error handler was not made by MPI_File_create_errhandler");
  }
  *this = std::move(next);
}

MPI_Errhandler ErrorHandler::get() const {
  MPI_Errhandler handler = MPI_ERRORS_RETURN;
  library::file_hold_errhandler(held_ ? *held_ : MPI_ERRORS_RETURN, &handler);
  return handler;
}

int ErrorHandler::call(MPI_File file, MPI_Comm ranks, int code, const std::string& text) const {
  if (kind_ == Kind::calls) {
    const Function function = function_;  // copied: it may set another handler
    function(file, code);
  } else if (kind_ != Kind::returns) {
    std::fprintf(stderr, "penstock: %s\n", text.c_str());
    MPI_Abort(kind_ == Kind::ends ? MPI_COMM_WORLD : ranks, code);
    std::_Exit(EXIT_FAILURE);  // MPICH's MPI_Abort returns if the launcher is to end the ranks
  }
  return code;
}

}  // namespace penstock
