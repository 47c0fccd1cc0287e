/// @file
/// The C interface: an n-dimensional array in one shared file, read and written by all ranks
/// together. C99. It is part of the library, like C++'s ArrayFile (penstock/array_file.hpp).
#ifndef PENSTOCK_PENSTOCK_H
#define PENSTOCK_PENSTOCK_H

#include <stdint.h>

#include <mpi.h>

#include <penstock/export.hpp>

#ifdef __cplusplus
extern "C" {
#endif

/// Maximal number of dimensions of an array.
#define PENSTOCK_MAX_DIMENSIONS 8

/// Return values of all functions. The numbers order by gravity: if ranks fail differently, all of
/// them return the largest.
enum penstock_code {
  PENSTOCK_SUCCESS = 0,
  PENSTOCK_ERROR_ARGUMENT = 1,      ///< an invalid value
  PENSTOCK_ERROR_SECTION = 2,       ///< a section that does not fit the array
  PENSTOCK_ERROR_DISAGREEMENT = 3,  ///< ranks passed different values, or are in different calls
  PENSTOCK_ERROR_FORMAT = 4,        ///< the content of the file is not as expected
  PENSTOCK_ERROR_STATE = 5,         ///< the file is closed, or was opened in another mode
  PENSTOCK_ERROR_STORAGE = 6,       ///< the operating system refused
  PENSTOCK_ERROR_INTERNAL = 7       ///< a defect of Penstock or of the MPI library; no memory
};

/// The error message of the last call of this thread that failed: which argument, which rank, which
/// path. Valid until the next failure; "" if there was none.
PENSTOCK_EXPORT const char* penstock_error_text(void);
/// The name of a code: "success", "argument", "section"...; "unknown" for others.
PENSTOCK_EXPORT const char* penstock_error_name(int code);

/// An open file. For one thread at a time.
typedef struct penstock_file penstock_file;
/// A read, write or close that has begun.
typedef struct penstock_handle penstock_handle;

/// In an array's shape, for the slowest dimension (the first in order "C", the last in order "F"):
/// its length in the file, 0 in a new one; each penstock_append increases it.
#define PENSTOCK_UNLIMITED ((int64_t)-1)

/// How a Zarr array is divided into chunks, and how these are stored. All zero (`{0}`): chunks of
/// some MiB, without a compressor.
typedef struct penstock_chunks {
  int64_t chunks[PENSTOCK_MAX_DIMENSIONS];  ///< extents of a chunk; the first 0: chosen
  int64_t shards[PENSTOCK_MAX_DIMENSIONS];  ///< of a file of several chunks; the first 0: one file
                                            ///< per chunk
  const char* compressors;  ///< names with levels, "zstd:3" or "blosc:5,crc32c"; or JSON as in
                            ///< zarr.json; NULL: none
  const void* fill_value;   ///< an element, for chunks that nobody has written; NULL: zeros
  const char* const* dimension_names;  ///< one per dimension, some of which may be NULL; NULL: none
  const char* attributes;              ///< a JSON object; NULL: none
} penstock_chunks;

/// Description of the array in the file. All zero (`{0}`): as in the file (.npy, Zarr). A field
/// that is given must agree with the file.
typedef struct penstock_array {
  int dimensions;                          ///< 1 to 8; 0: not given
  int64_t shape[PENSTOCK_MAX_DIMENSIONS];  ///< elements in each dimension; PENSTOCK_UNLIMITED: it
                                           ///< grows
  /// As in NumPy: "<f8"; NULL: not given. Needed to create .npy files and Zarr arrays.
  const char* dtype;
  int64_t element_size;           ///< bytes; 0: that of dtype
  const char* order;              ///< "C" or "F"; NULL: "C"
  int64_t offset;                 ///< byte offset where the array (or its header) starts
  const char* container;          ///< "raw", "npy", "zarr"; "auto" or NULL: by file name or content
  const char* fault;              ///< for bindings, as in penstock_part; NULL
  const penstock_chunks* chunks;  ///< of a Zarr array; NULL: not given
} penstock_array;

/// Half-open range of indices in one dimension, taking `block` neighbours at every step.
typedef struct penstock_range {
  int64_t lower;   ///< first index, from 0
  int64_t upper;   ///< past the last
  int64_t stride;  ///< from step to step; 0: 1
  int64_t block;   ///< neighbours at every step; 0: 1
} penstock_range;

/// One piece of a request: a section and its memory.
typedef struct penstock_part {
  const penstock_range* section;  ///< a range per dimension; NULL: nothing
  int dimensions;          ///< ranges of the section, must be those of the array; 0: not checked
  void* data;              ///< the section's first element; a write only reads it
  const int64_t* strides;  ///< bytes between neighbours in each dimension, of any sign; NULL:
                           ///< dense, in the file's order
  const int64_t* shape;    ///< of the memory, must equal the section's; NULL: not checked
  int64_t element_size;    ///< of the memory, must equal the array's; 0: not checked
  const char* fault;  ///< for bindings: an error that they found on this rank, which all ranks then
                      ///< return as PENSTOCK_ERROR_ARGUMENT; NULL: none
} penstock_part;

/// Collective over `comm`: opens `path`; mode "r" (reading), "r+" (it exists, and grows if the
/// array does not fit yet), "w" (recreated, its old content is dropped), "x" (created, an error if
/// it exists), "a" ("r+" if it exists, else "x") or "replace" (written to a new file beside it,
/// which takes its place when all ranks have closed it; until then, and after any failure, the old
/// file is unchanged). `array` NULL: as in the file. `hints`: settings,
/// "name=value;name=value"; NULL: none. After an error *file is NULL.
PENSTOCK_EXPORT int penstock_open(MPI_Comm comm, const char* path, const char* mode,
                                  const penstock_array* array, const char* hints,
                                  penstock_file** file);
/// For this process alone; MPI need not be running.
PENSTOCK_EXPORT int penstock_open_alone(const char* path, const char* mode,
                                        const penstock_array* array, const char* hints,
                                        penstock_file** file);
/// Collective: on return, everything written is in the file. *file is freed and set to NULL, also
/// after errors, except PENSTOCK_ERROR_DISAGREEMENT, after which the file is still open.
PENSTOCK_EXPORT int penstock_close(penstock_file** file);
/// Collective: the file counts as closed at once and *file is set to NULL; the data is in the file
/// after penstock_handle_wait.
PENSTOCK_EXPORT int penstock_close_begin(penstock_file** file, penstock_handle** handle);
/// Not collective: this rank abandons the file. The other ranks' next call returns
/// PENSTOCK_ERROR_STATE. *file is freed and set to NULL.
PENSTOCK_EXPORT int penstock_abandon(penstock_file** file);
/// Collective: on return, the bytes are on the device.
PENSTOCK_EXPORT int penstock_sync(penstock_file* file);
/// Collective: the size of the file in bytes, including everything written.
PENSTOCK_EXPORT int penstock_file_size(penstock_file* file, int64_t* bytes);
/// Collective: sets the size of the file; new bytes are zeros.
PENSTOCK_EXPORT int penstock_truncate(penstock_file* file, int64_t bytes);

/// Describes the array, with all fields set. The strings are valid as long as the file is open.
PENSTOCK_EXPORT int penstock_describe(const penstock_file* file, penstock_array* array);
/// Byte offset of the first element.
PENSTOCK_EXPORT int penstock_data_offset(const penstock_file* file, int64_t* offset);
/// Collective: the attributes of the array, the text of a JSON object; "" if it has none. They are
/// in a Zarr array's zarr.json, otherwise in a file beside the array's, its path and ".attrs.json".
/// The text is valid until the next call of this function, or the end of the file.
PENSTOCK_EXPORT int penstock_attributes(penstock_file* file, const char** json);
/// Collective: replaces the attributes as a whole by those of `json`, an object. A crash leaves the
/// old ones or the new ones.
PENSTOCK_EXPORT int penstock_set_attributes(penstock_file* file, const char* json);
/// The effective value of a hint, as text; valid as long as the file is open.
PENSTOCK_EXPORT int penstock_hint(const penstock_file* file, const char* name, const char** value);

/// Collective: writes one section from dense memory, in the file's order. `section`: a range per
/// dimension; NULL: this rank has nothing. On return the memory may be reused. The data is in the
/// file after penstock_sync, penstock_close, or a read.
PENSTOCK_EXPORT int penstock_write(penstock_file* file, const penstock_range* section,
                                   const void* data);
/// Collective: reads one section into dense memory, in the file's order.
PENSTOCK_EXPORT int penstock_read(penstock_file* file, const penstock_range* section, void* data);
/// Collective: `count` parts of any strides; where they overlap, the highest rank and its last part
/// win. `hints`: settings for this call instead of the file's; NULL: the file's.
PENSTOCK_EXPORT int penstock_write_parts(penstock_file* file, int count, const penstock_part* parts,
                                         const char* hints);
/// Collective: like penstock_write_parts. No byte is read from a device twice.
PENSTOCK_EXPORT int penstock_read_parts(penstock_file* file, int count, const penstock_part* parts,
                                        const char* hints);

/// Collective: extends the array by one step along its slowest dimension, and writes this rank's
/// section of the step from dense memory. `section`: a range for each of the other dimensions (for
/// an array of one dimension: any pointer); NULL: this rank has nothing. Elements that no rank
/// writes are zeros, or a Zarr array's fill value. The file must have been opened with
/// PENSTOCK_UNLIMITED. After an error the shape is unchanged. An .npy header and zarr.json have the
/// new extent from the next penstock_sync or penstock_close on.
PENSTOCK_EXPORT int penstock_append(penstock_file* file, const penstock_range* section,
                                    const void* data);
/// Collective: the same for `count` parts, whose sections, strides and shapes are those of a step:
/// without the slowest dimension.
PENSTOCK_EXPORT int penstock_append_parts(penstock_file* file, int count,
                                          const penstock_part* parts, const char* hints);

/// With begin and wait. `background`: what runs meanwhile: "storage" (NULL: this), "all" (needs
/// MPI_THREAD_MULTIPLE) or "none". The memory must not change until penstock_handle_copied or
/// penstock_handle_wait. After an error *handle is NULL.
PENSTOCK_EXPORT int penstock_write_begin(penstock_file* file, const penstock_range* section,
                                         const void* data, const char* background,
                                         penstock_handle** handle);
/// The memory is filled after penstock_handle_wait.
PENSTOCK_EXPORT int penstock_read_begin(penstock_file* file, const penstock_range* section,
                                        void* data, const char* background,
                                        penstock_handle** handle);
/// For several parts, like penstock_write_parts.
PENSTOCK_EXPORT int penstock_write_parts_begin(penstock_file* file, int count,
                                               const penstock_part* parts, const char* background,
                                               const char* hints, penstock_handle** handle);
/// For several parts, like penstock_read_parts.
PENSTOCK_EXPORT int penstock_read_parts_begin(penstock_file* file, int count,
                                              const penstock_part* parts, const char* background,
                                              const char* hints, penstock_handle** handle);

/// Collective: ends the operation and returns its error. *handle is freed and set to NULL. A handle
/// that is NULL already has ended.
PENSTOCK_EXPORT int penstock_handle_wait(penstock_handle** handle);
/// Not collective. *done: this rank's part is in the file (for a read: wait would only copy).
PENSTOCK_EXPORT int penstock_handle_test(penstock_handle* handle, int* done);
/// Not collective. *copied (may be NULL): the memory of a write may be changed again. With `wait`,
/// waits for that.
PENSTOCK_EXPORT int penstock_handle_copied(penstock_handle* handle, int wait, int* copied);
/// Not collective: frees a handle without waiting; the operation continues, and penstock_close ends
/// it. The memory must stay valid until then. *handle is set to NULL.
PENSTOCK_EXPORT int penstock_handle_free(penstock_handle** handle);

/// Cells around a rank's block, in dimensions that are block or "*".
typedef struct penstock_halo {
  int64_t width[PENSTOCK_MAX_DIMENSIONS];  ///< cells on each side
  int periodic[PENSTOCK_MAX_DIMENSIONS];   ///< not 0: the ends of this dimension are neighbours
  int frame;  ///< not 0: also cells at the array's edge, where it is not periodic
} penstock_halo;

/// A part of a local array with its halo, and the elements of the array that belong there.
typedef struct penstock_halo_piece {
  penstock_range section[PENSTOCK_MAX_DIMENSIONS];  ///< elements of the array
  int64_t start[PENSTOCK_MAX_DIMENSIONS];           ///< where they begin in local memory
} penstock_halo_piece;

/// One rank's share of a distributed array.
typedef struct penstock_share {
  penstock_range section[PENSTOCK_MAX_DIMENSIONS];    ///< elements that it owns
  penstock_range with_halo[PENSTOCK_MAX_DIMENSIONS];  ///< with the elements under the halo
  int64_t local_shape[PENSTOCK_MAX_DIMENSIONS];       ///< memory: owned elements and halo cells
  int64_t halo_before[PENSTOCK_MAX_DIMENSIONS];       ///< halo cells before the owned ones
  int piece_count;              ///< pieces that fill local memory, except for the cells of a frame
  penstock_halo_piece* pieces;  ///< NULL without a halo, else freed by penstock_share_free
} penstock_share;

/// Not collective: the share of `rank` of `ranks` of an array of `shape`. `kinds`: how each
/// dimension is distributed, "block,cyclic(3),*" ("block", "cyclic", "cyclic(k)", "*": not
/// distributed); NULL: block. `grid`: processes in each dimension; NULL: as square as the shape
/// allows. `halo`: cells around the blocks, clipped at the array's edge unless it has a frame or is
/// periodic; NULL: none. With a halo the share has memory, which penstock_share_free frees.
PENSTOCK_EXPORT int penstock_distribute(int dimensions, const int64_t* shape, const char* kinds,
                                        const int64_t* grid, const penstock_halo* halo,
                                        int64_t ranks, int64_t rank, penstock_share* share);
/// Not collective: frees the memory of a share. Does nothing for NULL, and for a share without a
/// halo.
PENSTOCK_EXPORT void penstock_share_free(penstock_share* share);
/// Collective: reads the elements that the share owns and its halo, around the ends of periodic
/// dimensions, into dense memory of its local_shape, in the file's order. Cells of a frame are not
/// changed. NULL: this rank has nothing.
PENSTOCK_EXPORT int penstock_read_share(penstock_file* file, const penstock_share* share,
                                        void* data);

/// The method of the last read or write, as chosen by "auto": "extended", "direct"...
PENSTOCK_EXPORT int penstock_last_method(const penstock_file* file, const char** method);
/// A count or time of this rank since the file was opened, by its name in docs/statistics.md
/// ("bytes_written").
PENSTOCK_EXPORT int penstock_statistic(const penstock_file* file, const char* name, double* value);
/// The same for the last read or write alone.
PENSTOCK_EXPORT int penstock_last_call(const penstock_file* file, const char* name, double* value);
/// Names of statistics by number, from 0; NULL past the last.
PENSTOCK_EXPORT const char* penstock_statistic_name(int number);

#ifdef __cplusplus
}
#endif

#endif
