#include "calls.h"

#include <stdio.h>
#include <string.h>

static int ends_in_npy(const char* path) {
  const size_t length = strlen(path);
  return length >= 4 && strcmp(path + length - 4, ".npy") == 0;
}

/* Fortran's order, but where the file tells its own. */
static const char* default_order(const char* path, const char* mode, const penstock_array* array) {
  const int raw = array->container != NULL && strcmp(array->container, "raw") == 0;
  if (strcmp(mode, "w") == 0) return "F";
  return array->dimensions > 0 && (raw || !ends_in_npy(path)) ? "F" : NULL;
}

int penstock_fortran_open(int comm, const char* path, const char* mode, const CFI_cdesc_t* shape,
                          const char* dtype, const char* order, int64_t offset,
                          const char* container, const char* hints, penstock_file** file) {
  penstock_array array = {0};
  int d;
  if (*file != NULL) array.fault = "this penstock_file is open; close it before it opens another";
  if (shape != NULL) array.dimensions = (int)shape->dim[0].extent;
  for (d = 0; d < array.dimensions && d < PENSTOCK_MAX_DIMENSIONS; ++d)
    array.shape[d] = *penstock_fortran_number(shape, d);
  array.dtype = dtype;
  array.offset = offset;
  array.container = container;
  array.order = order != NULL ? order : default_order(path, mode, &array);
  if (array.fault != NULL) {
    penstock_file* none = NULL;  /* *file stays open */
    return penstock_open(MPI_Comm_f2c((MPI_Fint)comm), path, mode, &array, hints, &none);
  }
  return penstock_open(MPI_Comm_f2c((MPI_Fint)comm), path, mode, &array, hints, file);
}

/* No lower bounds: this rank has nothing. */
static int part_of(struct fortran_part* part, const penstock_file* file, const CFI_cdesc_t* data,
                   const struct fortran_section* section) {
  if (section->lower == NULL) return 0;
  penstock_fortran_part(part, file, data, section);
  return 1;
}

int penstock_fortran_transfer(penstock_file* file, int reading, const CFI_cdesc_t* data,
                              const CFI_cdesc_t* lower, const CFI_cdesc_t* upper,
                              const CFI_cdesc_t* stride, const CFI_cdesc_t* block,
                              const char* hints) {
  const struct fortran_section section = {lower, upper, stride, block};
  struct fortran_part part;
  const int count = part_of(&part, file, data, &section);
  return reading ? penstock_read_parts(file, count, &part.part, hints)
                 : penstock_write_parts(file, count, &part.part, hints);
}

int penstock_fortran_begin(penstock_file* file, int reading, const CFI_cdesc_t* data,
                           const CFI_cdesc_t* lower, const CFI_cdesc_t* upper,
                           const CFI_cdesc_t* stride, const CFI_cdesc_t* block,
                           const char* background, const char* hints, penstock_handle** handle) {
  const struct fortran_section section = {lower, upper, stride, block};
  struct fortran_part part;
  const int count = part_of(&part, file, data, &section);
  return reading
             ? penstock_read_parts_begin(file, count, &part.part, background, hints, handle)
             : penstock_write_parts_begin(file, count, &part.part, background, hints, handle);
}

/* Texts of Fortran are filled up with blanks. */
static void put_text(char* to, int size, const char* text) {
  const size_t length = strlen(text), room = (size_t)size;
  memset(to, ' ', room);
  memcpy(to, text, length < room ? length : room);
}

int penstock_fortran_describe(const penstock_file* file, int* dimensions, int64_t shape[],
                              int64_t* element_size, char dtype[], int dtype_size, char* order) {
  penstock_array array;
  const int code = penstock_describe(file, &array);
  if (code != PENSTOCK_SUCCESS) return code;
  *dimensions = array.dimensions;
  memcpy(shape, array.shape, sizeof array.shape);
  *element_size = array.element_size;
  put_text(dtype, dtype_size, array.dtype);
  *order = array.order[0];
  return code;
}

int penstock_fortran_distribute(const CFI_cdesc_t* shape, const char* kinds, int64_t ranks,
                                int64_t rank, const CFI_cdesc_t* lower, const CFI_cdesc_t* upper,
                                const CFI_cdesc_t* stride, const CFI_cdesc_t* block) {
  const int dimensions = (int)shape->dim[0].extent;
  int64_t extents[PENSTOCK_MAX_DIMENSIONS] = {0};
  penstock_share share;
  int d, code;
  for (d = 0; d < dimensions && d < PENSTOCK_MAX_DIMENSIONS; ++d)
    extents[d] = *penstock_fortran_number(shape, d);
  code = penstock_distribute(dimensions, extents, kinds, NULL, NULL, ranks, rank, &share);
  if (code != PENSTOCK_SUCCESS) return code;
  for (d = 0; d < dimensions; ++d) {
    const penstock_range* range = &share.section[d];
    *penstock_fortran_number(lower, d) = range->lower + 1;
    *penstock_fortran_number(upper, d) = range->upper;
    *penstock_fortran_number(stride, d) = range->stride;
    *penstock_fortran_number(block, d) = range->block;
  }
  return code;
}

void penstock_fortran_error_text(char text[], int size) {
  put_text(text, size, penstock_error_text());
}

void penstock_fortran_dtype_of(const CFI_cdesc_t* data, char text[PENSTOCK_FORTRAN_DTYPE_SIZE]) {
  char name[PENSTOCK_FORTRAN_DTYPE_SIZE];
  penstock_fortran_dtype(data, name);
  put_text(text, PENSTOCK_FORTRAN_DTYPE_SIZE, name);
}
