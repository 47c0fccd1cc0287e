// The frame of every function of the drop-in: converts a handle to a file, and an exception to an
// error code.
#pragma once

#include <mpi.h>

#include <mutex>

#include "mpi/agree.hpp"
#include "mpi_io/inside.hpp"
#include "mpi_io/mpi_error.hpp"
#include "mpi_io/names/handles.hpp"

namespace penstock::dropin {

template <class Pointer>
Pointer not_null(Pointer pointer, const char* name) {
  if (pointer == nullptr) throw_mpi(MPI_ERR_ARG, std::string(name) + " is a null pointer");
  return pointer;
}

/// For errors without a file, or with a null handle.
inline int raise_without_file(const Error& error) {
  return ErrorHandler::of_null_file().call(MPI_FILE_NULL, MPI_COMM_SELF, mpi_code_of(error),
                                           error.what());
}

template <class Work>
int without_file(Work&& work) {
  const std::optional<Error> error = [&] {
    const Inside inside;
    return attempt(work);
  }();
  return error ? raise_without_file(*error) : MPI_SUCCESS;
}

/// work(std::shared_ptr<MpiFile>&)
template <class Work>
int with_file(MPI_File handle, Work&& work) {
  std::shared_ptr<MpiFile> file = file_of(handle);
  if (file == nullptr)
    return without_file([&] {
      throw_mpi(MPI_ERR_FILE,
                handle == MPI_FILE_NULL ? "the file is MPI_FILE_NULL" : "the file is not open");
    });
  const std::optional<Error> error = [&] {
    const Inside inside;
    const std::lock_guard guard(file->mutex());
    return attempt([&] { work(file); });
  }();
  if (!error) return MPI_SUCCESS;
  return file->raise(handle, *error);
}

}  // namespace penstock::dropin
