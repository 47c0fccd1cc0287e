#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ends_in_npy(const char* path) {
  const size_t length = strlen(path);
  return length >= 4 && strcmp(path + length - 4, ".npy") == 0;
}

/* The same rule as in the library. */
static int is_zarr(const char* path, const char* container) {
  const char* found = path;
  if (container != NULL && strcmp(container, "auto") != 0) return strcmp(container, "zarr") == 0;
  while ((found = strstr(found, ".zarr")) != NULL) {
    found += strlen(".zarr");
    if (*found == 0 || *found == '/') return 1;
  }
  return 0;
}

/* Fortran's order, unless the file has its own, or only allows C's. */
static const char* default_order(const char* path, const char* mode, const penstock_array* array) {
  const int raw = array->container != NULL && strcmp(array->container, "raw") == 0;
  if (is_zarr(path, array->container)) return NULL;
  if (strcmp(mode, "w") == 0) return "F";
  return array->dimensions > 0 && (raw || !ends_in_npy(path)) ? "F" : NULL;
}

/* An unallocated array has a descriptor, too. */
static int is_given(const CFI_cdesc_t* array) {
  return array != NULL && array->base_addr != NULL;
}

/* Splits at commas. */
static void split(const char* names, char* buffer, size_t size,
                  const char* to[PENSTOCK_MAX_DIMENSIONS]) {
  int d = 0;
  snprintf(buffer, size, "%s", names);
  for (to[d++] = buffer; *buffer != 0; ++buffer) {
    if (*buffer != ',') continue;
    *buffer = 0;
    if (d < PENSTOCK_MAX_DIMENSIONS) to[d++] = buffer + 1;
  }
}

/* Extents of chunks; a wrong number of them is reported in `fault`. */
static void put_extents(const CFI_cdesc_t* given, const char* what, int dimensions, int64_t* to,
                        char* fault) {
  int d;
  if (!is_given(given)) return;
  if ((int)given->dim[0].extent != dimensions)
    snprintf(fault, PENSTOCK_FORTRAN_FAULT_SIZE, "%s has %d extents for %d dimensions", what,
             (int)given->dim[0].extent, dimensions);
  else
    for (d = 0; d < dimensions; ++d) to[d] = *penstock_fortran_number(given, d);
}

struct chunk_memory {
  penstock_chunks chunks;
  const char* names[PENSTOCK_MAX_DIMENSIONS];
  char names_text[1000];
  char fault[PENSTOCK_FORTRAN_FAULT_SIZE];
};

/* Checks the number of bytes: the C interface reads as many as the type has. */
static void put_fill(const CFI_cdesc_t* fill, const char* dtype, struct chunk_memory* to) {
  const long size = dtype != NULL && strlen(dtype) > 2 ? strtol(dtype + 2, NULL, 10) : 0;
  if (!is_given(fill)) return;
  if (fill->dim[0].extent != size)
    snprintf(to->fault, sizeof to->fault, "fill_value has %ld bytes, an element of %s has %ld",
             (long)fill->dim[0].extent, dtype != NULL ? dtype : "no type", size);
  to->chunks.fill_value = fill->base_addr;
}

static int put_chunks(const struct fortran_chunks* given, const penstock_array* array,
                      struct chunk_memory* to) {
  memset(to, 0, sizeof *to);
  put_extents(given->chunks, "chunks", array->dimensions, to->chunks.chunks, to->fault);
  put_extents(given->shards, "shards", array->dimensions, to->chunks.shards, to->fault);
  put_fill(given->fill_value, array->dtype, to);
  to->chunks.compressors = given->compressors;
  to->chunks.attributes = given->attributes;
  if (given->dimension_names != NULL) {
    split(given->dimension_names, to->names_text, sizeof to->names_text, to->names);
    to->chunks.dimension_names = to->names;
  }
  return is_given(given->chunks) || is_given(given->shards) || is_given(given->fill_value) ||
         given->compressors != NULL || given->attributes != NULL || given->dimension_names != NULL;
}

int penstock_fortran_open(int comm, const char* path, const char* mode, const CFI_cdesc_t* shape,
                          const char* dtype, const char* order, int64_t offset,
                          const char* container, const char* hints, const CFI_cdesc_t* chunks,
                          const CFI_cdesc_t* shards, const char* compressors,
                          const CFI_cdesc_t* fill_value, const char* dimension_names,
                          const char* attributes, penstock_file** file) {
  const struct fortran_chunks given = {chunks,     shards,          compressors,
                                       fill_value, dimension_names, attributes};
  penstock_array array = {0};
  penstock_file* none = NULL;
  struct chunk_memory memory;
  int d;
  if (shape != NULL) array.dimensions = (int)shape->dim[0].extent;
  for (d = 0; d < array.dimensions && d < PENSTOCK_MAX_DIMENSIONS; ++d)
    array.shape[d] = *penstock_fortran_number(shape, d);
  array.dtype = dtype;
  array.offset = offset;
  array.container = container;
  array.order = order != NULL ? order : default_order(path, mode, &array);
  if (put_chunks(&given, &array, &memory)) array.chunks = &memory.chunks;
  if (memory.fault[0] != 0) array.fault = memory.fault;
  if (*file == NULL)
    return penstock_open(MPI_Comm_f2c((MPI_Fint)comm), path, mode, &array, hints, file);
  array.fault = "this penstock_file is open; close it before it opens another";
  return penstock_open(MPI_Comm_f2c((MPI_Fint)comm), path, mode, &array, hints, &none);
}

/* No lower bounds: this rank has nothing. */
static int part_of(struct fortran_part* part, const penstock_file* file, const CFI_cdesc_t* data,
                   const struct fortran_section* section) {
  if (section->lower == NULL) return 0;
  penstock_fortran_part(part, data, section);
  penstock_fortran_pointed(part, file);
  return 1;
}

int penstock_fortran_transfer(penstock_file* file, int reading, const CFI_cdesc_t* data,
                              const CFI_cdesc_t* lower, const CFI_cdesc_t* upper,
                              const CFI_cdesc_t* stride, const CFI_cdesc_t* block,
                              const char* hints) {
  const struct fortran_section section = {lower, upper, stride, block, 0};
  struct fortran_part part;
  const int count = part_of(&part, file, data, &section);
  return reading ? penstock_read_parts(file, count, &part.part, hints)
                 : penstock_write_parts(file, count, &part.part, hints);
}

int penstock_fortran_append(penstock_file* file, const CFI_cdesc_t* data, const CFI_cdesc_t* lower,
                            const CFI_cdesc_t* upper, const CFI_cdesc_t* stride,
                            const CFI_cdesc_t* block, const char* hints) {
  const struct fortran_section section = {lower, upper, stride, block, 1};
  struct fortran_part part;
  const int count = part_of(&part, file, data, &section);
  return penstock_append_parts(file, count, &part.part, hints);
}

int penstock_fortran_begin(penstock_file* file, int reading, const CFI_cdesc_t* data,
                           const CFI_cdesc_t* lower, const CFI_cdesc_t* upper,
                           const CFI_cdesc_t* stride, const CFI_cdesc_t* block,
                           const char* background, const char* hints, penstock_handle** handle) {
  const struct fortran_section section = {lower, upper, stride, block, 0};
  struct fortran_part part;
  const int count = part_of(&part, file, data, &section);
  return reading ? penstock_read_parts_begin(file, count, &part.part, background, hints, handle)
                 : penstock_write_parts_begin(file, count, &part.part, background, hints, handle);
}

void penstock_fortran_put_text(char* to, int size, const char* text) {
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
  penstock_fortran_put_text(dtype, dtype_size, array.dtype);
  *order = array.order[0];
  return code;
}

int penstock_fortran_last_method(const penstock_file* file, char method[], int size) {
  const char* name = "";
  const int code = penstock_last_method(file, &name);
  penstock_fortran_put_text(method, size, name);
  return code;
}

void penstock_fortran_error_text(char text[], int size) {
  penstock_fortran_put_text(text, size, penstock_error_text());
}

void penstock_fortran_dtype_of(const CFI_cdesc_t* data, char text[PENSTOCK_FORTRAN_DTYPE_SIZE]) {
  char name[PENSTOCK_FORTRAN_DTYPE_SIZE];
  penstock_fortran_dtype(data, name);
  penstock_fortran_put_text(text, PENSTOCK_FORTRAN_DTYPE_SIZE, name);
}
