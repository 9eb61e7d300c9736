/* Files of rows, written byte by byte. Knows nothing of the API but its codes. */
#ifndef KNNG_TESTS_HARNESS_ROW_FILES_H
#define KNNG_TESTS_HARNESS_ROW_FILES_H

#include <stddef.h>

#include "harness/rows.h"

/* NumPy's format 1.0: magic, version, header length, a Python dictionary, the array. */
void write_npy(const char* path, const char* descr, int fortran, int64_t n, int64_t d, const void* data, size_t size);
/* The format that the name asks for; the element type is the format's. */
void write_rows(const char* path, const test_rows* rows);

#endif
