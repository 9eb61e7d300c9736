#include "harness/device_memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"

void* (*fake_allocate)(int32_t space, int32_t device, int64_t bytes);
void (*fake_release)(void* address);
void (*fake_copy)(void* to, const void* from, int64_t bytes, uint64_t stream);

layout layout_of(int i, int64_t n, int64_t d) {
  const layout layouts[LAYOUTS] = {{d, 1, 0, n * d},
                                   {1, n, 0, n * d},
                                   {d + 3, 1, 2, n * (d + 3) + 2},
                                   {2 * d, 2, 1, 2 * n * d + 1},
                                   {-d, 1, (n - 1) * d, n * d}};
  return layouts[i];
}

device_rows on_device(const test_rows* rows, int32_t space, int32_t device, const layout* l, uint64_t stream) {
  const int64_t size = dtype_size(rows->dtype);
  char* packed = calloc((size_t)l->size, (size_t)size);
  assert_non_null(packed);
  for (int64_t i = 0; i < rows->n; ++i)
    for (int64_t t = 0; t < rows->d; ++t)
      memcpy(packed + (l->first + i * l->row_stride + t * l->col_stride) * size,
             (const char*)rows->data + (i * rows->d + t) * size, (size_t)size);
  device_rows r;
  r.block = fake_allocate(space, device, l->size * size);
  assert_non_null(r.block);
  fake_copy(r.block, packed, l->size * size, stream);
  free(packed);
  r.m = knng_packed(rows->dtype, rows->n, rows->d, (char*)r.block + l->first * size);
  r.m.space = space;
  r.m.device = device;
  r.m.stream = stream;
  r.m.row_stride = l->row_stride;
  r.m.col_stride = l->col_stride;
  return r;
}

device_rows packed_on_device(const test_rows* rows, int32_t device) {
  const layout l = layout_of(0, rows->n, rows->d);
  return on_device(rows, KNNG_CUDA, device, &l, 0);
}

knng* borrower(const knng_matrix* m, const char* device) {
  knng* h = HANDLE(NULL, "device", device);
  expect_ok(knng_borrow(h, m, NULL, NULL), "knng_borrow");
  return h;
}

device_rows empty_on_device(int32_t dtype, int64_t n, int64_t d, int32_t device, int way) {
  const layout l = layout_of(way, n, d);
  device_rows r;
  r.block = fake_allocate(KNNG_CUDA, device, l.size * 8);
  assert_non_null(r.block);
  const int64_t size = (dtype & 0xff) / 8; /* as in DLPack */
  r.m = knng_packed(dtype, n, d, (char*)r.block + l.first * size);
  r.m.space = KNNG_CUDA;
  r.m.device = device;
  r.m.row_stride = l.row_stride;
  r.m.col_stride = l.col_stride;
  return r;
}

void expect_written(const device_rows* r, const void* expected, int64_t size) {
  char element[8];
  for (int64_t i = 0; i < r->m.rows; ++i)
    for (int64_t t = 0; t < r->m.cols; ++t) {
      fake_copy(element, (char*)r->m.data + (i * r->m.row_stride + t * r->m.col_stride) * size, size, 0);
      assert_memory_equal(element, (const char*)expected + (i * r->m.cols + t) * size, (size_t)size);
    }
}

int find_fake_memory(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/libknng_cuda.so", getenv("KNNG_BACKEND_DIR"));
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 0;
  }
  /* C has no conversion from data to functions. */
  void* symbols[] = {dlsym(library, "knng_fake_allocate"), dlsym(library, "knng_fake_release"),
                     dlsym(library, "knng_fake_copy"), dlsym(library, "knng_fake_count")};
  memcpy(&fake_allocate, &symbols[0], sizeof symbols[0]);
  memcpy(&fake_release, &symbols[1], sizeof symbols[0]);
  memcpy(&fake_copy, &symbols[2], sizeof symbols[0]);
  memcpy(&fake_count, &symbols[3], sizeof symbols[0]);
  const int all = symbols[0] && symbols[1] && symbols[2] && symbols[3];
  if (!all) fprintf(stderr, "%s has no memory of fake devices, which this program is about\n", path);
  return all;
}
