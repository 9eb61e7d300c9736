/* Memory of simulated devices (tests/backend/fake_memory.h), whose addresses nobody can read: rows in it, results
 * in it, streams that fill it. */
#ifndef KNNG_TESTS_HARNESS_DEVICE_MEMORY_H
#define KNNG_TESTS_HARNESS_DEVICE_MEMORY_H

#include "harness/devices.h"

/* What main() begins with, before a library is loaded: 0 if there is none. */
int find_fake_memory(void);
extern void* (*fake_allocate)(int32_t space, int32_t device, int64_t bytes);
extern void (*fake_release)(void* address);
/* Between memory of both kinds; in a stream (not 0) when somebody waits for it. */
extern void (*fake_copy)(void* to, const void* from, int64_t bytes, uint64_t stream);

/* How rows lie in a block: strides in elements, the first element, elements in all. */
typedef struct layout {
  int64_t row_stride, col_stride, first, size;
} layout;
enum { LAYOUTS = 5 };
layout layout_of(int i, int64_t n, int64_t d);

/* A block of a device with the rows in it. */
typedef struct device_rows {
  knng_matrix m;
  void* block;
} device_rows;

device_rows on_device(const test_rows* rows, int32_t space, int32_t device, const layout* l, uint64_t stream);
device_rows packed_on_device(const test_rows* rows, int32_t device);
/* A handle that has borrowed the rows. */
knng* borrower(const knng_matrix* m, const char* device);

/* A matrix of that shape, to write to, in a block of that layout. */
device_rows empty_on_device(int32_t dtype, int64_t n, int64_t d, int32_t device, int way);
/* What is in the matrix, against packed elements of `size` bytes. */
void expect_written(const device_rows* r, const void* expected, int64_t size);

#endif
