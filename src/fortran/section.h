/* A Fortran array and a section as the C interface takes them. */
#ifndef PENSTOCK_FORTRAN_SECTION_H
#define PENSTOCK_FORTRAN_SECTION_H

#include <ISO_Fortran_binding.h>
#include <penstock/penstock.h>

/* A section as the papers have it: 1-based, upper bounds included. stride and block may be NULL. */
struct fortran_section {
  const CFI_cdesc_t *lower, *upper, *stride, *block;
};

/* One part of a request, and what its pointers point at. */
struct fortran_part {
  penstock_part part;
  penstock_range section[PENSTOCK_MAX_DIMENSIONS];
  int64_t strides[PENSTOCK_MAX_DIMENSIONS];
  int64_t shape[PENSTOCK_MAX_DIMENSIONS];
  char fault[300];
};

/* The part of a file that `section` is, with the memory of `data`. What is wrong goes into its
   fault, which all ranks then return. */
void penstock_fortran_part(struct fortran_part* to, const penstock_file* file,
                           const CFI_cdesc_t* data, const struct fortran_section* section);

/* The type of an array's elements as NumPy writes it. */
enum { PENSTOCK_FORTRAN_DTYPE_SIZE = 32 };
void penstock_fortran_dtype(const CFI_cdesc_t* data, char text[PENSTOCK_FORTRAN_DTYPE_SIZE]);

/* A number of an array of 64-bit integers, which may be strided. */
int64_t* penstock_fortran_number(const CFI_cdesc_t* numbers, int index);

#endif
