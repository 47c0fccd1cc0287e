#include "section.h"

#include <stdio.h>
#include <string.h>

int64_t* penstock_fortran_number(const CFI_cdesc_t* numbers, int index) {
  return (int64_t*)((char*)numbers->base_addr + index * numbers->dim[0].sm);
}

static char byte_order(void) {
  const int one = 1;
  return *(const char*)&one == 1 ? '<' : '>';
}

/* NumPy's letter for a type's kind; 0 if NumPy does not have the type. */
static char kind_letter(const CFI_cdesc_t* data) {
  const int kind = data->type >> CFI_type_kind_shift;
  switch (data->type & CFI_type_mask) {
    case CFI_type_Integer: return data->elem_len <= 8 ? 'i' : 0;
    case CFI_type_Logical: return data->elem_len == 1 ? 'b' : data->elem_len <= 8 ? 'i' : 0;
    case CFI_type_Real: return kind != 16 || sizeof(long double) == 8 ? 'f' : 0;
    case CFI_type_Complex: return kind != 16 || sizeof(long double) == 8 ? 'c' : 0;
    case CFI_type_Character: return kind == 1 ? 'S' : 0;
    default: return 0;
  }
}

void penstock_fortran_dtype(const CFI_cdesc_t* data, char text[PENSTOCK_FORTRAN_DTYPE_SIZE]) {
  const char letter = kind_letter(data);
  const int whole = letter == 0 || letter == 'S' || data->elem_len == 1;
  snprintf(text, PENSTOCK_FORTRAN_DTYPE_SIZE, "%c%c%zu", whole ? '|' : byte_order(),
           letter != 0 ? letter : 'V', data->elem_len);
}

/* Whether the array's numeric type differs from the file's. Fortran has no unsigned integers: they
   are read as signed ones. */
static int is_other_type(const char* memory, const char* file) {
  const char* numbers = "iufcb";
  const char order = file[0], kind = file[0] != 0 ? file[1] : 0;
  if (kind == 0 || strchr(numbers, kind) == NULL || strchr(numbers, memory[1]) == NULL) return 0;
  if (order != '|' && order != '=' && order != byte_order() && memory[0] != '|') return 1;
  return memory[1] != (kind == 'u' ? 'i' : kind);
}

static int64_t count_of(const penstock_range* range) {
  const int64_t length = range->upper - range->lower;
  const int64_t rest = length > 0 && range->stride > 0 ? length % range->stride : 0;
  if (length <= 0 || range->stride <= 0) return 0;
  return length / range->stride * range->block + (rest < range->block ? rest : range->block);
}

static void fill_ranges(struct fortran_part* to, const struct fortran_section* section) {
  const CFI_cdesc_t* given[4] = {section->lower, section->upper, section->stride, section->block};
  const int64_t dimensions = section->lower->dim[0].extent;
  int i, d;
  for (i = 1; i < 4; ++i)
    if (given[i] != NULL && given[i]->dim[0].extent != dimensions) {
      snprintf(to->fault, sizeof to->fault, "the section has %lld lower bounds and %lld of its %s",
               (long long)dimensions, (long long)given[i]->dim[0].extent,
               i == 1   ? "upper bounds"
               : i == 2 ? "strides"
                        : "blocks");
      return;
    }
  if (dimensions < (section->in_step ? 0 : 1) || dimensions > PENSTOCK_MAX_DIMENSIONS) {
    snprintf(to->fault, sizeof to->fault, "the section has %lld dimensions, not 1 to 8",
             (long long)dimensions);
    return;
  }
  to->part.dimensions = (int)dimensions;
  for (d = 0; d < (int)dimensions; ++d) {
    to->section[d].lower = *penstock_fortran_number(section->lower, d) - 1;
    to->section[d].upper = *penstock_fortran_number(section->upper, d);
    to->section[d].stride = given[2] != NULL ? *penstock_fortran_number(given[2], d) : 1;
    to->section[d].block = given[3] != NULL ? *penstock_fortran_number(given[3], d) : 1;
  }
}

void penstock_fortran_put_shape(char* text, size_t size, int dimensions, const int64_t* shape) {
  int d, used = snprintf(text, size, "(");
  for (d = 0; d < dimensions && used < (int)size; ++d)
    used += snprintf(text + used, size - (size_t)used, "%s%lld", d > 0 ? ", " : "",
                     (long long)shape[d]);
  if (used < (int)size) snprintf(text + used, size - (size_t)used, ")");
}

static void say_shapes_differ(struct fortran_part* to, const CFI_cdesc_t* data) {
  char array[120], section[120];
  int64_t shape[CFI_MAX_RANK];
  int d;
  for (d = 0; d < data->rank; ++d) shape[d] = data->dim[d].extent;
  penstock_fortran_put_shape(array, sizeof array, data->rank, shape);
  penstock_fortran_put_shape(section, sizeof section, to->part.dimensions, to->shape);
  snprintf(to->fault, sizeof to->fault, "the array has shape %s, the section has shape %s", array,
           section);
}

/* The array's dimensions are the section's, in order; dimensions of one element may be omitted or
   added. For a section without elements the memory is ignored. */
static void fill_memory(struct fortran_part* to, const CFI_cdesc_t* data) {
  int d, of_data = 0, same = 1, empty = 0;
  for (d = 0; d < to->part.dimensions; ++d) {
    to->shape[d] = count_of(&to->section[d]);
    empty = empty || to->shape[d] == 0;
  }
  if (empty) return;
  for (d = 0; d < to->part.dimensions; ++d) {
    const int equal = data->rank == to->part.dimensions;
    while (!equal && of_data < data->rank && data->dim[of_data].extent == 1) ++of_data;
    to->strides[d] = (int64_t)data->elem_len;
    if (!equal && to->shape[d] == 1) continue;
    same = same && of_data < data->rank && data->dim[of_data].extent == to->shape[d];
    if (of_data < data->rank) to->strides[d] = data->dim[of_data].sm;
    ++of_data;
  }
  while (of_data < data->rank && data->dim[of_data].extent == 1) ++of_data;
  if (!same || of_data != data->rank) say_shapes_differ(to, data);
}

void penstock_fortran_compare_types(const penstock_file* file, const char* dtype,
                                    char fault[PENSTOCK_FORTRAN_FAULT_SIZE]) {
  penstock_array array;
  if (file != NULL && penstock_describe(file, &array) == PENSTOCK_SUCCESS &&
      is_other_type(dtype, array.dtype))
    snprintf(fault, PENSTOCK_FORTRAN_FAULT_SIZE, "the array holds %s, the file %s", dtype,
             array.dtype);
}

void penstock_fortran_part(struct fortran_part* to, const CFI_cdesc_t* data,
                           const struct fortran_section* section) {
  memset(to, 0, sizeof *to);
  fill_ranges(to, section);
  if (to->fault[0] == 0) fill_memory(to, data);
  penstock_fortran_dtype(data, to->dtype);
  to->part.data = data->base_addr;
  to->part.element_size = (int64_t)data->elem_len;
}

const penstock_part* penstock_fortran_pointed(struct fortran_part* to, const penstock_file* file) {
  if (to->fault[0] == 0) penstock_fortran_compare_types(file, to->dtype, to->fault);
  to->part.section = to->section;
  to->part.strides = to->strides;
  to->part.shape = to->shape;
  to->part.fault = to->fault[0] != 0 ? to->fault : NULL;
  return &to->part;
}
