/// @file
/// The C interface: an n-dimensional array in one shared file, read and written by all ranks
/// together. C99. It is part of the library, beside C++'s ArrayFile (penstock/array_file.hpp).
#ifndef PENSTOCK_PENSTOCK_H
#define PENSTOCK_PENSTOCK_H

#include <stdint.h>

#include <mpi.h>

#include <penstock/export.hpp>

#ifdef __cplusplus
extern "C" {
#endif

/// Dimensions of an array at most.
#define PENSTOCK_MAX_DIMENSIONS 8

/// What every function returns. The numbers order by gravity: where ranks fail differently, all of
/// them return the largest.
enum penstock_code {
  PENSTOCK_SUCCESS = 0,
  PENSTOCK_ERROR_ARGUMENT = 1,      ///< a value that no call accepts
  PENSTOCK_ERROR_SECTION = 2,       ///< a section that does not fit the array
  PENSTOCK_ERROR_DISAGREEMENT = 3,  ///< ranks passed different values, or are in different calls
  PENSTOCK_ERROR_FORMAT = 4,        ///< the file is not what it should be
  PENSTOCK_ERROR_STATE = 5,         ///< the file is closed, or was opened in another mode
  PENSTOCK_ERROR_STORAGE = 6,       ///< the operating system refused
  PENSTOCK_ERROR_INTERNAL = 7       ///< a defect of Penstock or of the MPI library; no memory
};

/// What went wrong in the last call of this thread that failed, in words: which argument, which
/// rank, which path. Stays until the next failure; "" where there was none.
PENSTOCK_EXPORT const char* penstock_error_text(void);
/// A code in a word: "success", "argument", "section"...; "unknown" for what is none.
PENSTOCK_EXPORT const char* penstock_error_name(int code);

/// An open file. One thread at a time uses it.
typedef struct penstock_file penstock_file;
/// A read, write or close that has begun.
typedef struct penstock_handle penstock_handle;

/// In an array's shape, of the slowest dimension (the first in order "C", the last in order "F"):
/// as long as the file has it, 0 in a new one, and longer by each penstock_append.
#define PENSTOCK_UNLIMITED ((int64_t)-1)

/// How a Zarr array is divided into chunks, and how these are stored. All zero (`{0}`): chunks of
/// some MiB, without a compressor.
typedef struct penstock_chunks {
  int64_t chunks[PENSTOCK_MAX_DIMENSIONS];  ///< extents of a chunk; the first 0: chosen
  int64_t shards[PENSTOCK_MAX_DIMENSIONS];  ///< of a file of several chunks; the first 0: a file
                                            ///< for each
  const char* compressors;  ///< names with levels, "zstd:3" or "blosc:5,crc32c"; or JSON as
                            ///< zarr.json has it; NULL: none
  const void* fill_value;   ///< an element, for chunks that nobody has written; NULL: zeros
  const char* const* dimension_names;  ///< one for each dimension, of which some may be NULL; NULL:
                                       ///< none
  const char* attributes;              ///< a JSON object; NULL: none
} penstock_chunks;

/// What the array in the file looks like. All zero (`{0}`): as the file tells (.npy, Zarr). A field
/// that is given must agree with the file.
typedef struct penstock_array {
  int dimensions;                          ///< 1 to 8; 0: not given
  int64_t shape[PENSTOCK_MAX_DIMENSIONS];  ///< elements in each dimension; PENSTOCK_UNLIMITED: it
                                           ///< grows
  const char* dtype;      ///< as NumPy writes it: "<f8"; NULL: not given. Needed to create .npy
                          ///< files and Zarr arrays
  int64_t element_size;   ///< bytes; 0: that of dtype
  const char* order;      ///< "C" or "F"; NULL: "C"
  int64_t offset;         ///< byte offset where the array (or its header) starts
  const char* container;  ///< "raw", "npy", "zarr"; "auto" or NULL: by file name or content
  const char* fault;      ///< for bindings, as in penstock_part; NULL
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
  const penstock_range* section;  ///< a range for each dimension; NULL: nothing
  int dimensions;          ///< ranges of the section, to be compared with the array's; 0: any
  void* data;              ///< the section's first element; a write only reads it
  const int64_t* strides;  ///< bytes between neighbours in each dimension, of any sign; NULL:
                           ///< dense, in the file's order
  const int64_t* shape;    ///< of the memory, to be compared with the section's; NULL: any
  int64_t element_size;    ///< of the memory, to be compared with the array's; 0: any
  const char* fault;       ///< for bindings: what they found wrong on this rank, which all ranks
                           ///< then return as PENSTOCK_ERROR_ARGUMENT; NULL: nothing
} penstock_part;

/// Collective over `comm`: opens `path`; mode "r" (reading), "r+" (it exists, and grows if the
/// array does not fit yet), "w" (made anew, its old content dropped), "x" (made, and an error where
/// there is one), "a" ("r+" where there is one, else "x") or "replace" (made anew in a file beside
/// it, which takes its place when all ranks have closed it; until then, and after any failure, the
/// old one is there as it was). `array` NULL: as the file tells. `hints`: settings,
/// "name=value;name=value"; NULL: none. After an error *file is NULL.
PENSTOCK_EXPORT int penstock_open(MPI_Comm comm, const char* path, const char* mode,
                                  const penstock_array* array, const char* hints,
                                  penstock_file** file);
/// This process alone; MPI need not be running.
PENSTOCK_EXPORT int penstock_open_alone(const char* path, const char* mode,
                                        const penstock_array* array, const char* hints,
                                        penstock_file** file);
/// Collective: what was written is in the file. *file is freed and set to NULL, after an error too;
/// not after PENSTOCK_ERROR_DISAGREEMENT, where the file is as open as before.
PENSTOCK_EXPORT int penstock_close(penstock_file** file);
/// Collective: the file counts as closed at once and *file is set to NULL; the data is in the file
/// after penstock_handle_wait.
PENSTOCK_EXPORT int penstock_close_begin(penstock_file** file, penstock_handle** handle);
/// Not collective: this rank abandons the file. The other ranks' next call returns
/// PENSTOCK_ERROR_STATE. *file is freed and set to NULL.
PENSTOCK_EXPORT int penstock_abandon(penstock_file** file);
/// Collective: the bytes are on the device.
PENSTOCK_EXPORT int penstock_sync(penstock_file* file);
/// Collective: bytes of the file, with all that was written.
PENSTOCK_EXPORT int penstock_file_size(penstock_file* file, int64_t* bytes);
/// Collective: sets the size of the file; what is new holds zeros.
PENSTOCK_EXPORT int penstock_truncate(penstock_file* file, int64_t bytes);

/// What the array is, all fields set. Its texts live as long as the file is open.
PENSTOCK_EXPORT int penstock_describe(const penstock_file* file, penstock_array* array);
/// Byte offset of the first element.
PENSTOCK_EXPORT int penstock_data_offset(const penstock_file* file, int64_t* offset);
/// Collective: the attributes of the array, the text of a JSON object; "" where it has none. They
/// are in a Zarr array's zarr.json, else in a file beside it, its path and ".attrs.json". The text
/// lives until the next call of this function, or the end of the file.
PENSTOCK_EXPORT int penstock_attributes(penstock_file* file, const char** json);
/// Collective: replaces the attributes as a whole by those of `json`, an object. A crash leaves the
/// old ones or the new ones.
PENSTOCK_EXPORT int penstock_set_attributes(penstock_file* file, const char* json);
/// The effective value of a hint, as text; it lives as long as the file is open.
PENSTOCK_EXPORT int penstock_hint(const penstock_file* file, const char* name, const char** value);

/// Collective: one section from dense memory, in the file's order. `section`: a range for each
/// dimension; NULL: this rank has nothing. On return the memory is free. The data is in the file
/// after penstock_sync, penstock_close, or a read.
PENSTOCK_EXPORT int penstock_write(penstock_file* file, const penstock_range* section,
                                   const void* data);
/// Collective: one section into dense memory, in the file's order.
PENSTOCK_EXPORT int penstock_read(penstock_file* file, const penstock_range* section, void* data);
/// Collective: `count` parts of any strides; where they overlap, the highest rank and its last part
/// win. `hints`: settings of this call in place of the file's; NULL: the file's.
PENSTOCK_EXPORT int penstock_write_parts(penstock_file* file, int count, const penstock_part* parts,
                                         const char* hints);
/// Collective: as penstock_write_parts. No byte is fetched from a device twice.
PENSTOCK_EXPORT int penstock_read_parts(penstock_file* file, int count, const penstock_part* parts,
                                        const char* hints);

/// Collective: the array becomes one step longer along its slowest dimension, and this rank writes
/// a section of the step from dense memory. `section`: a range for each of the other dimensions (of
/// an array of one dimension: any pointer); NULL: this rank has nothing. What no rank writes is
/// zeros, or a Zarr array's fill value. The file was opened with PENSTOCK_UNLIMITED. After an error
/// the shape is as it was. An .npy header and zarr.json say the new extent from the next
/// penstock_sync or penstock_close on.
PENSTOCK_EXPORT int penstock_append(penstock_file* file, const penstock_range* section,
                                    const void* data);
/// Collective: the same of `count` parts, whose sections, strides and shapes are those of a step:
/// without the slowest dimension.
PENSTOCK_EXPORT int penstock_append_parts(penstock_file* file, int count,
                                          const penstock_part* parts, const char* hints);

/// With begin and wait. `background`: what happens meanwhile: "storage" (NULL: this), "all"
/// (needs MPI_THREAD_MULTIPLE) or "none". The memory stays as it is until penstock_handle_copied or
/// penstock_handle_wait. After an error *handle is NULL.
PENSTOCK_EXPORT int penstock_write_begin(penstock_file* file, const penstock_range* section,
                                         const void* data, const char* background,
                                         penstock_handle** handle);
/// Its memory is filled after penstock_handle_wait.
PENSTOCK_EXPORT int penstock_read_begin(penstock_file* file, const penstock_range* section,
                                        void* data, const char* background,
                                        penstock_handle** handle);
/// Of several parts, as penstock_write_parts.
PENSTOCK_EXPORT int penstock_write_parts_begin(penstock_file* file, int count,
                                               const penstock_part* parts, const char* background,
                                               const char* hints, penstock_handle** handle);
/// Of several parts, as penstock_read_parts.
PENSTOCK_EXPORT int penstock_read_parts_begin(penstock_file* file, int count,
                                              const penstock_part* parts, const char* background,
                                              const char* hints, penstock_handle** handle);

/// Collective: ends what has begun and returns what went wrong. *handle is freed and set to NULL. A
/// handle that is NULL already has ended.
PENSTOCK_EXPORT int penstock_handle_wait(penstock_handle** handle);
/// Not collective. *done: this rank's part is in the file (of a read: wait would only copy).
PENSTOCK_EXPORT int penstock_handle_test(penstock_handle* handle, int* done);
/// Not collective. *copied (NULL: nobody wants to know): the memory of a write may be changed
/// again. With `wait` it waits for that.
PENSTOCK_EXPORT int penstock_handle_copied(penstock_handle* handle, int wait, int* copied);
/// Not collective: frees a handle without waiting; what has begun goes on, and penstock_close ends
/// it. The memory must stay until then. *handle is set to NULL.
PENSTOCK_EXPORT int penstock_handle_free(penstock_handle** handle);

/// Cells around the blocks of ranks, in dimensions that are block or "*".
typedef struct penstock_halo {
  int64_t width[PENSTOCK_MAX_DIMENSIONS];  ///< cells on each side
  int periodic[PENSTOCK_MAX_DIMENSIONS];   ///< not 0: the ends of this dimension are neighbours
  int frame;  ///< not 0: cells at the array's edge, too, where it is not periodic
} penstock_halo;

/// A part of a local array with its halo, and what of the array belongs there.
typedef struct penstock_halo_piece {
  penstock_range section[PENSTOCK_MAX_DIMENSIONS];  ///< elements of the array
  int64_t start[PENSTOCK_MAX_DIMENSIONS];           ///< where they begin in local memory
} penstock_halo_piece;

/// What one rank has of a distributed array.
typedef struct penstock_share {
  penstock_range section[PENSTOCK_MAX_DIMENSIONS];    ///< what it owns
  penstock_range with_halo[PENSTOCK_MAX_DIMENSIONS];  ///< the same with the elements under the halo
  int64_t local_shape[PENSTOCK_MAX_DIMENSIONS];       ///< memory: owned elements and halo cells
  int64_t halo_before[PENSTOCK_MAX_DIMENSIONS];       ///< halo cells before the owned ones
  int piece_count;              ///< pieces that fill local memory, but for the cells of a frame
  penstock_halo_piece* pieces;  ///< NULL without a halo, else freed by penstock_share_free
} penstock_share;

/// Not collective: what `rank` of `ranks` has of an array of `shape`. `kinds`: how each dimension
/// is dealt, "block,cyclic(3),*" ("block", "cyclic", "cyclic(k)", "*": not distributed); NULL:
/// block. `grid`: processes in each dimension; NULL: as square as the shape allows. `halo`: cells
/// around the blocks, clipped at the array's edge unless it says otherwise; NULL: none. With a halo
/// the share has memory, which penstock_share_free frees.
PENSTOCK_EXPORT int penstock_distribute(int dimensions, const int64_t* shape, const char* kinds,
                                        const int64_t* grid, const penstock_halo* halo,
                                        int64_t ranks, int64_t rank, penstock_share* share);
/// Not collective: frees what a share has. NULL, and a share without a halo: nothing.
PENSTOCK_EXPORT void penstock_share_free(penstock_share* share);
/// Collective: reads what the share owns and its halo, around the ends of periodic dimensions, into
/// dense memory of its local_shape, in the file's order. Cells of a frame stay as they are. NULL:
/// this rank has nothing.
PENSTOCK_EXPORT int penstock_read_share(penstock_file* file, const penstock_share* share,
                                        void* data);

/// The method of the last read or write, which is what "auto" chose: "extended", "direct"...
PENSTOCK_EXPORT int penstock_last_method(const penstock_file* file, const char** method);
/// One count or time of this rank since the file was opened, by its name in docs/statistics.md
/// ("bytes_written").
PENSTOCK_EXPORT int penstock_statistic(const penstock_file* file, const char* name, double* value);
/// The same of the last read or write alone.
PENSTOCK_EXPORT int penstock_last_call(const penstock_file* file, const char* name, double* value);
/// Names of statistics by their numbers, from 0; NULL past the last.
PENSTOCK_EXPORT const char* penstock_statistic_name(int number);

#ifdef __cplusplus
}
#endif

#endif
