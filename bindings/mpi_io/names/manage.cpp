// MPI 4.1, sections 14.2, 14.3, 14.5.3 and 14.6: files and their views.
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/process_id.hpp"
#include "mpi_io/names/export.hpp"
#include "mpi_io/names/guard.hpp"
#include "mpi_io/requests.hpp"

using namespace penstock;
using namespace penstock::dropin;

namespace {

/// `Count`: of the function. `none`: the library's value for no function.
template <class Count, class Function>
ConversionFunction conversion_of(Function* function, Function* none, void* extra) {
  if (function == none || function == nullptr) return {};
  return [=](void* buffer, MPI_Datatype type, std::int64_t count, void* bytes) {
    return function(buffer, type, checked_cast<Count>(count), bytes, 0, extra);
  };
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int PMPI_File_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh) {
  return without_file([&] {
    *not_null(fh, "fh") = MPI_FILE_NULL;
    *fh = make_handle(
        owned_by_process<MpiFile>(comm, filename == nullptr ? "" : filename, amode, info));
  });
}

int PMPI_File_close(MPI_File* fh) {
  if (fh == nullptr) return without_file([&] { not_null(fh, "fh"); });
  const int code = with_file(*fh, [&](const std::shared_ptr<MpiFile>& file) {
    finish_requests(*file);
    file->close();
  });
  // If ranks are in different calls it stays open.
  const std::shared_ptr<MpiFile> file = file_of(*fh);
  if (file == nullptr || file->is_open()) return code;
  free_handle(*fh);
  *fh = MPI_FILE_NULL;
  return code;
}

int PMPI_File_delete(const char* filename, MPI_Info) {
  return without_file([&] {
    const std::string path = path_without_prefix(not_null(filename, "filename"));
    if (::unlink(path.c_str()) != 0) throw_errno("cannot delete", path, -errno);
  });
}

int PMPI_File_set_size(MPI_File fh, MPI_Offset size) {
  return with_file(fh, [&](auto& file) { file->set_size(size); });
}

int PMPI_File_preallocate(MPI_File fh, MPI_Offset size) {
  return with_file(fh, [&](auto& file) { file->preallocate(size); });
}

int PMPI_File_get_size(MPI_File fh, MPI_Offset* size) {
  return with_file(fh, [&](auto& file) { *not_null(size, "size") = file->size(); });
}

int PMPI_File_get_group(MPI_File fh, MPI_Group* group) {
  return with_file(fh, [&](auto& file) { *not_null(group, "group") = file->group(); });
}

int PMPI_File_get_amode(MPI_File fh, int* amode) {
  return with_file(fh, [&](auto& file) { *not_null(amode, "amode") = file->amode(); });
}

int PMPI_File_set_info(MPI_File fh, MPI_Info info) {
  return with_file(fh, [&](auto& file) { file->set_info(info); });
}

int PMPI_File_get_info(MPI_File fh, MPI_Info* info) {
  return with_file(fh, [&](auto& file) { *not_null(info, "info_used") = file->info(); });
}

int PMPI_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                       const char* datarep, MPI_Info info) {
  return with_file(fh, [&](auto& file) {
    file->set_view(disp, etype, filetype, datarep == nullptr ? "" : datarep, info);
  });
}

int PMPI_File_get_view(MPI_File fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype,
                       char* datarep) {
  return with_file(fh, [&](auto& file) {
    std::string name;
    file->get_view(*not_null(disp, "disp"), *not_null(etype, "etype"),
                   *not_null(filetype, "filetype"), name);
    std::memcpy(not_null(datarep, "datarep"), name.c_str(), name.size() + 1);
  });
}

int PMPI_File_seek(MPI_File fh, MPI_Offset offset, int whence) {
  return with_file(fh, [&](auto& file) { file->seek(offset, whence); });
}

int PMPI_File_get_position(MPI_File fh, MPI_Offset* offset) {
  return with_file(fh, [&](auto& file) { *not_null(offset, "offset") = file->position(); });
}

int PMPI_File_seek_shared(MPI_File fh, MPI_Offset offset, int whence) {
  return with_file(fh, [&](auto& file) { file->seek_shared(offset, whence); });
}

int PMPI_File_get_position_shared(MPI_File fh, MPI_Offset* offset) {
  return with_file(fh, [&](auto& file) { *not_null(offset, "offset") = file->shared_position(); });
}

int PMPI_File_get_byte_offset(MPI_File fh, MPI_Offset offset, MPI_Offset* disp) {
  return with_file(fh, [&](auto& file) { *not_null(disp, "disp") = file->byte_offset(offset); });
}

int PMPI_File_get_type_extent(MPI_File fh, MPI_Datatype datatype, MPI_Aint* extent) {
  return with_file(fh,
                   [&](auto& file) { *not_null(extent, "extent") = file->type_extent(datatype); });
}

int PMPI_File_set_atomicity(MPI_File fh, int flag) {
  return with_file(fh, [&](auto& file) { file->set_atomicity(flag != 0); });
}

int PMPI_File_get_atomicity(MPI_File fh, int* flag) {
  return with_file(fh, [&](auto& file) { *not_null(flag, "flag") = file->atomicity(); });
}

int PMPI_File_sync(MPI_File fh) {
  return with_file(fh, [&](auto& file) { file->sync(); });
}

int PMPI_Register_datarep(const char* datarep, MPI_Datarep_conversion_function* read,
                          MPI_Datarep_conversion_function* write,
                          MPI_Datarep_extent_function* extent, void* extra) {
  return without_file([&] {
    DataRepresentation::add(
        datarep == nullptr ? "" : datarep, conversion_of<int>(read, MPI_CONVERSION_FN_NULL, extra),
        conversion_of<int>(write, MPI_CONVERSION_FN_NULL, extra), extent, extra);
  });
}

// The header of the standard ABI has no Fortran.
#ifdef PENSTOCK_HAVE_MPI_FILE_C2F
MPI_Fint PMPI_File_c2f(MPI_File fh) {
  return to_fortran(fh);
}

MPI_File PMPI_File_f2c(MPI_Fint fh) {
  return from_fortran(fh);
}
#endif

#ifdef PENSTOCK_HAVE_MPI_FILE_TOINT
int PMPI_File_toint(MPI_File fh) {
  return to_fortran(fh);
}

MPI_File PMPI_File_fromint(int fh) {
  return from_fortran(fh);
}
#endif

#ifdef PENSTOCK_HAVE_MPI_FILE_READ_C
int PMPI_Register_datarep_c(const char* datarep, MPI_Datarep_conversion_function_c* read,
                            MPI_Datarep_conversion_function_c* write,
                            MPI_Datarep_extent_function* extent, void* extra) {
  return without_file([&] {
    DataRepresentation::add(datarep == nullptr ? "" : datarep,
                            conversion_of<MPI_Count>(read, MPI_CONVERSION_FN_NULL_C, extra),
                            conversion_of<MPI_Count>(write, MPI_CONVERSION_FN_NULL_C, extra),
                            extent, extra);
  });
}

int PMPI_File_get_type_extent_c(MPI_File fh, MPI_Datatype datatype, MPI_Count* extent) {
  return with_file(fh,
                   [&](auto& file) { *not_null(extent, "extent") = file->type_extent(datatype); });
}
#endif

}  // extern "C"
#pragma GCC visibility pop

PENSTOCK_MPI_NAME(MPI_File_open);
PENSTOCK_MPI_NAME(MPI_File_close);
PENSTOCK_MPI_NAME(MPI_File_delete);
PENSTOCK_MPI_NAME(MPI_File_set_size);
PENSTOCK_MPI_NAME(MPI_File_preallocate);
PENSTOCK_MPI_NAME(MPI_File_get_size);
PENSTOCK_MPI_NAME(MPI_File_get_group);
PENSTOCK_MPI_NAME(MPI_File_get_amode);
PENSTOCK_MPI_NAME(MPI_File_set_info);
PENSTOCK_MPI_NAME(MPI_File_get_info);
PENSTOCK_MPI_NAME(MPI_File_set_view);
PENSTOCK_MPI_NAME(MPI_File_get_view);
PENSTOCK_MPI_NAME(MPI_File_seek);
PENSTOCK_MPI_NAME(MPI_File_get_position);
PENSTOCK_MPI_NAME(MPI_File_seek_shared);
PENSTOCK_MPI_NAME(MPI_File_get_position_shared);
PENSTOCK_MPI_NAME(MPI_File_get_byte_offset);
PENSTOCK_MPI_NAME(MPI_File_get_type_extent);
PENSTOCK_MPI_NAME(MPI_File_set_atomicity);
PENSTOCK_MPI_NAME(MPI_File_get_atomicity);
PENSTOCK_MPI_NAME(MPI_File_sync);
PENSTOCK_MPI_NAME(MPI_Register_datarep);
#ifdef PENSTOCK_HAVE_MPI_FILE_C2F
PENSTOCK_MPI_NAME(MPI_File_c2f);
PENSTOCK_MPI_NAME(MPI_File_f2c);
#endif
#ifdef PENSTOCK_HAVE_MPI_FILE_TOINT
PENSTOCK_MPI_NAME(MPI_File_toint);
PENSTOCK_MPI_NAME(MPI_File_fromint);
#endif
#ifdef PENSTOCK_HAVE_MPI_FILE_READ_C
PENSTOCK_MPI_NAME(MPI_Register_datarep_c);
PENSTOCK_MPI_NAME(MPI_File_get_type_extent_c);
#endif
