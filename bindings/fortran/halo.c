/* Distributions, and shares with their halos. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

/* Copies the numbers of a Fortran array, at most one per dimension. */
static int take(const CFI_cdesc_t* numbers, int64_t to[PENSTOCK_MAX_DIMENSIONS]) {
  const int count = (int)numbers->dim[0].extent;
  int d;
  for (d = 0; d < count && d < PENSTOCK_MAX_DIMENSIONS; ++d)
    to[d] = *penstock_fortran_number(numbers, d);
  return count;
}

struct dealing {
  int dimensions;
  int64_t shape[PENSTOCK_MAX_DIMENSIONS];
  const char* kinds;
  int64_t ranks, rank;
};

/* Errors in the halo itself are reported in `fault`. */
static penstock_halo halo_of(int dimensions, const struct fortran_halo* given, char* fault) {
  penstock_halo halo;
  int64_t periodic[PENSTOCK_MAX_DIMENSIONS] = {0};
  int widths, flags, d;
  memset(&halo, 0, sizeof halo);
  widths = take(given->width, halo.width);
  flags = take(given->periodic, periodic);
  for (d = 0; d < PENSTOCK_MAX_DIMENSIONS; ++d) halo.periodic[d] = periodic[d] != 0;
  halo.frame = given->frame;
  if (widths != 0 && widths != dimensions)
    snprintf(fault, PENSTOCK_FORTRAN_FAULT_SIZE, "halo has %d widths for %d dimensions", widths,
             dimensions);
  else if (flags != 0 && flags != dimensions)
    snprintf(fault, PENSTOCK_FORTRAN_FAULT_SIZE, "periodic has %d values for %d dimensions", flags,
             dimensions);
  return halo;
}

static int share_of(const struct dealing* dealing, const struct fortran_halo* given,
                    penstock_share* share, char* fault) {
  const penstock_halo halo = halo_of(dealing->dimensions, given, fault);
  memset(share, 0, sizeof *share);
  if (fault[0] != 0) return PENSTOCK_ERROR_ARGUMENT;
  return penstock_distribute(dealing->dimensions, dealing->shape, dealing->kinds, NULL, &halo,
                             dealing->ranks, dealing->rank, share);
}

int penstock_fortran_distribute(const CFI_cdesc_t* shape, const char* kinds, int64_t ranks,
                                int64_t rank, const CFI_cdesc_t* lower, const CFI_cdesc_t* upper,
                                const CFI_cdesc_t* stride, const CFI_cdesc_t* block,
                                const CFI_cdesc_t* width, const CFI_cdesc_t* periodic, int frame,
                                const CFI_cdesc_t* before, const CFI_cdesc_t* after,
                                char refusal[PENSTOCK_FORTRAN_FAULT_SIZE]) {
  const struct fortran_halo halo = {width, periodic, frame};
  char fault[PENSTOCK_FORTRAN_FAULT_SIZE] = "";
  struct dealing dealing = {0, {0}, kinds, ranks, rank};
  penstock_share share;
  int d, code;
  dealing.dimensions = take(shape, dealing.shape);
  code = share_of(&dealing, &halo, &share, fault);
  penstock_fortran_put_text(refusal, PENSTOCK_FORTRAN_FAULT_SIZE, fault);
  for (d = 0; code == PENSTOCK_SUCCESS && d < dealing.dimensions; ++d) {
    const penstock_range* range = &share.section[d];
    const int64_t owned = share.local_shape[d] - share.halo_before[d];
    const int64_t count = range->upper - range->lower;
    *penstock_fortran_number(lower, d) = range->lower + 1;
    *penstock_fortran_number(upper, d) = range->upper;
    *penstock_fortran_number(stride, d) = range->stride;
    *penstock_fortran_number(block, d) = range->block;
    *penstock_fortran_number(before, d) = share.halo_before[d];
    *penstock_fortran_number(after, d) = share.pieces != NULL && owned > count ? owned - count : 0;
  }
  penstock_share_free(&share);
  return code;
}

/* Checks that the local array has the shape of the share. */
static void compare_shapes(const CFI_cdesc_t* data, const penstock_share* share, int dimensions,
                           char* fault) {
  char array[110], local[110];
  int64_t shape[CFI_MAX_RANK];
  int d, same = data->rank == dimensions;
  for (d = 0; d < data->rank; ++d) shape[d] = data->dim[d].extent;
  for (d = 0; same && d < dimensions; ++d) same = shape[d] == share->local_shape[d];
  if (same) return;
  penstock_fortran_put_shape(array, sizeof array, data->rank, shape);
  penstock_fortran_put_shape(local, sizeof local, dimensions, share->local_shape);
  snprintf(fault, PENSTOCK_FORTRAN_FAULT_SIZE,
           "the array has shape %s, this rank's share with its halo has shape %s", array, local);
}

/* The parts that fill the array, and their strides. */
static void fill_parts(const CFI_cdesc_t* data, const penstock_share* share, int64_t* strides,
                       penstock_part* parts) {
  int i, d;
  for (d = 0; d < data->rank; ++d) strides[d] = data->dim[d].sm;
  for (i = 0; i < share->piece_count; ++i) {
    char* begin = data->base_addr;
    for (d = 0; d < data->rank; ++d) begin += share->pieces[i].start[d] * strides[d];
    memset(&parts[i], 0, sizeof parts[i]);
    parts[i].section = share->pieces[i].section;
    parts[i].dimensions = data->rank;
    parts[i].data = begin;
    parts[i].strides = strides;
    parts[i].element_size = (int64_t)data->elem_len;
  }
}

static int read_share(penstock_file* file, const CFI_cdesc_t* data, const penstock_share* share) {
  int64_t strides[CFI_MAX_RANK];
  penstock_part* parts = malloc(sizeof *parts * (size_t)(share->piece_count + 1));
  penstock_part refused;
  int code;
  if (parts == NULL) {
    memset(&refused, 0, sizeof refused);
    refused.fault = "out of memory";
    return penstock_read_parts(file, 1, &refused, NULL);
  }
  fill_parts(data, share, strides, parts);
  code = penstock_read_parts(file, share->piece_count, parts, NULL);
  free(parts);
  return code;
}

int penstock_fortran_read_share(penstock_file* file, const CFI_cdesc_t* data, const char* kinds,
                                int64_t ranks, int64_t rank, const CFI_cdesc_t* width,
                                const CFI_cdesc_t* periodic, int frame) {
  const struct fortran_halo halo = {width, periodic, frame};
  char fault[PENSTOCK_FORTRAN_FAULT_SIZE] = "", dtype[PENSTOCK_FORTRAN_DTYPE_SIZE];
  struct dealing dealing = {0, {0}, kinds, ranks, rank};
  penstock_part refused;
  penstock_array array;
  penstock_share share;
  int code = penstock_describe(file, &array);
  if (code != PENSTOCK_SUCCESS) return code;
  dealing.dimensions = array.dimensions;
  memcpy(dealing.shape, array.shape, sizeof array.shape);
  code = share_of(&dealing, &halo, &share, fault);
  if (code != PENSTOCK_SUCCESS && fault[0] == 0)
    snprintf(fault, sizeof fault, "%s", penstock_error_text());
  if (fault[0] == 0) compare_shapes(data, &share, dealing.dimensions, fault);
  penstock_fortran_dtype(data, dtype);
  if (fault[0] == 0) penstock_fortran_compare_types(file, dtype, fault);
  if (fault[0] == 0) {
    code = read_share(file, data, &share);
  } else {
    memset(&refused, 0, sizeof refused);
    refused.fault = fault;
    code = penstock_read_parts(file, 1, &refused, NULL);
  }
  penstock_share_free(&share);
  return code;
}
