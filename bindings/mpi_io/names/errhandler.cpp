// MPI 4.1, section 9.3.3: the error handlers of files, in C and in Fortran, and error texts.
#include <cstring>

#include "mpi/library.hpp"
#include "mpi_io/names/export.hpp"
#include "mpi_io/names/guard.hpp"

using namespace penstock;
using namespace penstock::dropin;

namespace {

/// Fortran's INTEGER, used for handles.
#ifdef PENSTOCK_HAVE_MPI_FILE_C2F
using Integer = MPI_Fint;
Integer number_of(MPI_Errhandler handler) {
  return MPI_Errhandler_c2f(handler);
}
#else
using Integer = int;  // the header of the standard ABI has no Fortran
Integer number_of(MPI_Errhandler handler) {
  return MPI_Errhandler_toint(handler);
}
#endif
using FortranFunction = void(Integer* file, Integer* code, ...);

/// Creates a handle whose handler calls `function` through `call`.
template <class Function>
int create(Function* function, const ErrorHandler::Function& call, MPI_Errhandler* handler) {
  int code = MPI_SUCCESS;
  const int wrong = without_file([&] {
    not_null(function, "file_errhandler_fn");
    code = ErrorHandler::create(call, not_null(handler, "errhandler"));
  });
  return wrong != MPI_SUCCESS ? wrong : code;
}

ErrorHandler& handler_of(MpiFile* file) {
  return file != nullptr ? file->error_handler() : ErrorHandler::of_null_file();
}

/// The last handle made by this thread: libmpichcxx makes handlers like C, and then sets the
/// language.
struct Made {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_File_errhandler_function* function = nullptr;
};
thread_local Made last_made;

/// Calls work(ErrorHandler&) with the handler of a file, or of MPI_FILE_NULL.
template <class Work>
int with_handler(MPI_File fh, Work&& work) {
  if (fh == MPI_FILE_NULL) return without_file([&] { work(handler_of(nullptr)); });
  return with_file(fh, [&](auto& file) { work(handler_of(file.get())); });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int PMPI_File_create_errhandler(MPI_File_errhandler_function* function, MPI_Errhandler* handler) {
  const int made = create(
      function, [=](MPI_File& file, int& code) { function(&file, &code); }, handler);
  if (made == MPI_SUCCESS) last_made = {*handler, function};
  return made;
}

int PMPI_File_set_errhandler(MPI_File fh, MPI_Errhandler handler) {
  return with_handler(fh, [&](ErrorHandler& of_file) { of_file.set(handler); });
}

int PMPI_File_get_errhandler(MPI_File fh, MPI_Errhandler* handler) {
  return with_handler(
      fh, [&](const ErrorHandler& of_file) { *not_null(handler, "errhandler") = of_file.get(); });
}

int PMPI_File_call_errhandler(MPI_File fh, int code) {
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  ErrorHandler handler;
  MPI_Comm ranks = MPI_COMM_SELF;
  const int wrong = with_handler(fh, [&](const ErrorHandler& of_file) { handler = of_file; });
  if (wrong != MPI_SUCCESS) return wrong;
  if (const std::shared_ptr<MpiFile> file = file_of(fh)) ranks = file->ranks_to_end();
  handler.call(fh, ranks, code, text);
  return MPI_SUCCESS;
}

int PMPI_Error_string(int code, char* text, int* length) {
  static const auto real =
      reinterpret_cast<decltype(&PMPI_Error_string)>(library::find("PMPI_Error_string"));
  const std::optional<std::string> ours = text_of_code(code);
  if (!ours || text == nullptr || length == nullptr) return real(code, text, length);
  std::memcpy(text, ours->c_str(), ours->size() + 1);
  *length = static_cast<int>(ours->size());
  return MPI_SUCCESS;
}

/// Libraries make handlers of Fortran programs by separate functions, which do not set the
/// language. `ierror` is null if mpi_f08's optional argument was omitted.
void pmpi_file_create_errhandler_(FortranFunction* function, Integer* errhandler, Integer* ierror) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  const int code = create(
      function,
      [=](MPI_File& file, int& error) {
        Integer number = to_fortran(file), error_code = error;
        function(&number, &error_code);
      },
      &handler);
  if (code == MPI_SUCCESS) *errhandler = number_of(handler);
  if (ierror != nullptr) *ierror = code;
}

// The C++ bindings of MPI-2. Their handlers take an MPI::File, which only the bindings can make.

#ifdef MPICH_VERSION
/// `call` calls a handler: of a communicator (0), a file (1) or a window (2). The bindings treat a
/// returned error as one that no handler has seen.
void MPII_Errhandler_set_cxx(MPI_Errhandler handler, void (*call)(void)) {
  static const auto real = reinterpret_cast<decltype(&MPII_Errhandler_set_cxx)>(
      library::find("MPII_Errhandler_set_cxx"));
  real(handler, call);
  if (handler != last_made.handler) return;
  const auto call_file = reinterpret_cast<void (*)(int, void*, int*, void (*)(void))>(call);
  const auto function = reinterpret_cast<void (*)(void)>(last_made.function);
  ErrorHandler::note(handler, [=](MPI_File& file, int& code) {
    call_file(1, static_cast<void*>(&file), &code, function);
    code = MPI_SUCCESS;
  });
}
#endif

#ifdef OPEN_MPI
MPI_Errhandler ompi_cxx_errhandler_create_file(void (*function)(void)) {
  static const auto real = reinterpret_cast<decltype(&ompi_cxx_errhandler_create_file)>(
      library::find("ompi_cxx_errhandler_create_file"));
  using Call = void(MPI_File*, int*, const char*, void*);
  static const auto call =
      reinterpret_cast<Call*>(library::find("ompi_mpi_cxx_file_errhandler_invoke"));
  const MPI_Errhandler handler = real(function);
  ErrorHandler::note(handler, [=](MPI_File& file, int& code) {
    call(&file, &code, "", reinterpret_cast<void*>(function));
  });
  return handler;
}
#endif

}  // extern "C"
#pragma GCC visibility pop

PENSTOCK_MPI_NAME(MPI_File_create_errhandler);
PENSTOCK_MPI_NAME(MPI_File_set_errhandler);
PENSTOCK_MPI_NAME(MPI_File_get_errhandler);
PENSTOCK_MPI_NAME(MPI_File_call_errhandler);
PENSTOCK_MPI_NAME(MPI_Error_string);

/// Other names of that function: those that compilers make of a Fortran name, those of mpi_f08 in
/// MPICH and Open MPI, and those by which Open MPI's mpi_f08 calls the other one.
#define PENSTOCK_FORTRAN_NAME(name)                                \
  extern "C" __attribute__((alias("pmpi_file_create_errhandler_"), \
                            visibility("default"))) decltype(pmpi_file_create_errhandler_) name

PENSTOCK_FORTRAN_NAME(mpi_file_create_errhandler);
PENSTOCK_FORTRAN_NAME(mpi_file_create_errhandler_);
PENSTOCK_FORTRAN_NAME(mpi_file_create_errhandler__);  // NOLINT(bugprone-reserved-identifier)
PENSTOCK_FORTRAN_NAME(MPI_FILE_CREATE_ERRHANDLER);
PENSTOCK_FORTRAN_NAME(pmpi_file_create_errhandler);
PENSTOCK_FORTRAN_NAME(pmpi_file_create_errhandler__);  // NOLINT(bugprone-reserved-identifier)
PENSTOCK_FORTRAN_NAME(PMPI_FILE_CREATE_ERRHANDLER);
PENSTOCK_FORTRAN_NAME(mpi_file_create_errhandler_f08_);
PENSTOCK_FORTRAN_NAME(pmpi_file_create_errhandler_f08_);
PENSTOCK_FORTRAN_NAME(pmpir_file_create_errhandler_f08_);
PENSTOCK_FORTRAN_NAME(ompi_file_create_errhandler_f);
PENSTOCK_FORTRAN_NAME(pompi_file_create_errhandler_f);
