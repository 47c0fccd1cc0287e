/* Several sections in one call: records of parts in the program's memory, which it may copy. */
#include <stdlib.h>
#include <string.h>

#include "calls.h"

int penstock_fortran_part_words(void) {
  return (int)((sizeof(struct fortran_part) + sizeof(int64_t) - 1) / sizeof(int64_t));
}

void penstock_fortran_put_part(int64_t* record, const CFI_cdesc_t* data, const CFI_cdesc_t* lower,
                               const CFI_cdesc_t* upper, const CFI_cdesc_t* stride,
                               const CFI_cdesc_t* block) {
  const struct fortran_section section = {lower, upper, stride, block, 0};
  penstock_fortran_part((struct fortran_part*)record, data, &section);
}

static int transfer(penstock_file* file, int reading, int count, const penstock_part* parts,
                    const struct fortran_half* half, const char* hints) {
  if (half == NULL)
    return reading ? penstock_read_parts(file, count, parts, hints)
                   : penstock_write_parts(file, count, parts, hints);
  return reading
             ? penstock_read_parts_begin(file, count, parts, half->background, hints, half->handle)
             : penstock_write_parts_begin(file, count, parts, half->background, hints,
                                          half->handle);
}

/* If there is no memory for the list, the call reports that on all ranks. */
static int transfer_records(penstock_file* file, int reading, int count, int64_t* records,
                            const struct fortran_half* half, const char* hints) {
  const int words = penstock_fortran_part_words();
  penstock_part* parts = malloc(sizeof *parts * (size_t)(count + 1));
  penstock_part refused = {0};
  int i, code;
  refused.fault = "out of memory";
  if (parts == NULL) return transfer(file, reading, 1, &refused, half, hints);
  for (i = 0; i < count; ++i) {
    struct fortran_part* one = (struct fortran_part*)(records + (int64_t)i * words);
    parts[i] = *penstock_fortran_pointed(one, file);
  }
  code = transfer(file, reading, count, parts, half, hints);
  free(parts);
  return code;
}

int penstock_fortran_transfer_parts(penstock_file* file, int reading, int count, int64_t* records,
                                    const char* hints) {
  return transfer_records(file, reading, count, records, NULL, hints);
}

int penstock_fortran_begin_parts(penstock_file* file, int reading, int count, int64_t* records,
                                 const char* background, const char* hints,
                                 penstock_handle** handle) {
  const struct fortran_half half = {background, handle};
  return transfer_records(file, reading, count, records, &half, hints);
}
