/* Converts a Fortran array and a section for the C interface. */
#ifndef PENSTOCK_FORTRAN_SECTION_H
#define PENSTOCK_FORTRAN_SECTION_H

#include <ISO_Fortran_binding.h>
#include <penstock/penstock.h>
#include <stddef.h>

/* A section as in the papers: 1-based, upper bounds included. stride and block may be NULL.
   in_step: within a step to append, without the slowest dimension. */
struct fortran_section {
  const CFI_cdesc_t *lower, *upper, *stride, *block;
  int in_step;
};

/* For a distribution; empty arrays: not given. */
struct fortran_halo {
  const CFI_cdesc_t *width, *periodic;
  int frame;
};

enum { PENSTOCK_FORTRAN_FAULT_SIZE = 300 };

enum { PENSTOCK_FORTRAN_DTYPE_SIZE = 32 };

/* One part of a request, and what its pointers point at once penstock_fortran_pointed has been
   called: until then it may be copied. */
struct fortran_part {
  penstock_part part;
  char dtype[PENSTOCK_FORTRAN_DTYPE_SIZE];
  penstock_range section[PENSTOCK_MAX_DIMENSIONS];
  int64_t strides[PENSTOCK_MAX_DIMENSIONS];
  int64_t shape[PENSTOCK_MAX_DIMENSIONS];
  char fault[PENSTOCK_FORTRAN_FAULT_SIZE];
};

/* The part that `section` is, with the memory of `data`. What is wrong goes into its fault, which
   all ranks then return. */
void penstock_fortran_part(struct fortran_part* to, const CFI_cdesc_t* data,
                           const struct fortran_section* section);
/* The same for a call of `file`, where it stays until that returns. */
const penstock_part* penstock_fortran_pointed(struct fortran_part* part, const penstock_file* file);
/* "(3, 4)" */
void penstock_fortran_put_shape(char* text, size_t size, int dimensions, const int64_t* shape);

/* Says in `fault` where elements of `dtype` are of another type than the file's. */
void penstock_fortran_compare_types(const penstock_file* file, const char* dtype,
                                    char fault[PENSTOCK_FORTRAN_FAULT_SIZE]);

/* The type of an array's elements as NumPy writes it. */
void penstock_fortran_dtype(const CFI_cdesc_t* data, char text[PENSTOCK_FORTRAN_DTYPE_SIZE]);

/* A number of an array of 64-bit integers, which may be strided. */
int64_t* penstock_fortran_number(const CFI_cdesc_t* numbers, int index);

#endif
