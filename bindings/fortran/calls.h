/* The functions called by the Fortran module penstock: with descriptors of Fortran arrays, and
   strings that end with a NUL; omitted optional ones are NULL. */
#ifndef PENSTOCK_FORTRAN_CALLS_H
#define PENSTOCK_FORTRAN_CALLS_H

#include "section.h"

/* For a new Zarr array; NULL: not given. */
struct fortran_chunks {
  const CFI_cdesc_t *chunks, *shards;
  const char* compressors;
  const CFI_cdesc_t* fill_value;
  const char *dimension_names, *attributes;
};

int penstock_fortran_open(int comm, const char* path, const char* mode, const CFI_cdesc_t* shape,
                          const char* dtype, const char* order, int64_t offset,
                          const char* container, const char* hints, const CFI_cdesc_t* chunks,
                          const CFI_cdesc_t* shards, const char* compressors,
                          const CFI_cdesc_t* fill_value, const char* dimension_names,
                          const char* attributes, penstock_file** file);
int penstock_fortran_append(penstock_file* file, const CFI_cdesc_t* data, const CFI_cdesc_t* lower,
                            const CFI_cdesc_t* upper, const CFI_cdesc_t* stride,
                            const CFI_cdesc_t* block, const char* hints);
int penstock_fortran_transfer(penstock_file* file, int reading, const CFI_cdesc_t* data,
                              const CFI_cdesc_t* lower, const CFI_cdesc_t* upper,
                              const CFI_cdesc_t* stride, const CFI_cdesc_t* block,
                              const char* hints);
int penstock_fortran_begin(penstock_file* file, int reading, const CFI_cdesc_t* data,
                           const CFI_cdesc_t* lower, const CFI_cdesc_t* upper,
                           const CFI_cdesc_t* stride, const CFI_cdesc_t* block,
                           const char* background, const char* hints, penstock_handle** handle);
/* For a call with begin and wait. */
struct fortran_half {
  const char* background;
  penstock_handle** handle;
};

/* Size of a part's record in words of 64 bits. */
int penstock_fortran_part_words(void);
void penstock_fortran_put_part(int64_t* record, const CFI_cdesc_t* data, const CFI_cdesc_t* lower,
                               const CFI_cdesc_t* upper, const CFI_cdesc_t* stride,
                               const CFI_cdesc_t* block);
int penstock_fortran_transfer_parts(penstock_file* file, int reading, int count, int64_t* records,
                                    const char* hints);
int penstock_fortran_begin_parts(penstock_file* file, int reading, int count, int64_t* records,
                                 const char* background, const char* hints,
                                 penstock_handle** handle);
int penstock_fortran_last_method(const penstock_file* file, char method[], int size);
int penstock_fortran_describe(const penstock_file* file, int* dimensions, int64_t shape[],
                              int64_t* element_size, char dtype[], int dtype_size, char* order);
int penstock_fortran_distribute(const CFI_cdesc_t* shape, const char* kinds, int64_t ranks,
                                int64_t rank, const CFI_cdesc_t* lower, const CFI_cdesc_t* upper,
                                const CFI_cdesc_t* stride, const CFI_cdesc_t* block,
                                const CFI_cdesc_t* width, const CFI_cdesc_t* periodic, int frame,
                                const CFI_cdesc_t* before, const CFI_cdesc_t* after,
                                char refusal[PENSTOCK_FORTRAN_FAULT_SIZE]);
int penstock_fortran_read_share(penstock_file* file, const CFI_cdesc_t* data, const char* kinds,
                                int64_t ranks, int64_t rank, const CFI_cdesc_t* width,
                                const CFI_cdesc_t* periodic, int frame);
/* Fortran strings are padded with blanks. */
void penstock_fortran_put_text(char* to, int size, const char* text);
void penstock_fortran_error_text(char text[], int size);
void penstock_fortran_dtype_of(const CFI_cdesc_t* data, char text[PENSTOCK_FORTRAN_DTYPE_SIZE]);

#endif
