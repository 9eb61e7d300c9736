#include "harness/row_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "knng/types.h"

static FILE* created(const char* path) {
  FILE* f = fopen(path, "wb");
  if (!f) abort();
  return f;
}

static void put(FILE* f, const void* data, size_t size) {
  if (fwrite(data, 1, size, f) != size) abort();
}

void write_npy(const char* path, const char* descr, int fortran, int64_t n, int64_t d, const void* data, size_t size) {
  char header[256];
  const int text =
      snprintf(header + 10, sizeof header - 10, "{'descr': '%s', 'fortran_order': %s, 'shape': (%lld, %lld), }", descr,
               fortran ? "True" : "False", (long long)n, (long long)d);
  const int total = (10 + text + 1 + 63) / 64 * 64;
  memset(header + 10 + text, ' ', (size_t)(total - 10 - text));
  header[total - 1] = '\n';
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  header[8] = (char)((total - 10) & 255);
  header[9] = (char)((total - 10) >> 8);
  FILE* f = created(path);
  put(f, header, (size_t)total);
  put(f, data, size);
  fclose(f);
}

static int ends_with(const char* path, const char* suffix) {
  const size_t a = strlen(path), b = strlen(suffix);
  return a >= b && strcmp(path + a - b, suffix) == 0;
}

static const char* numpy_type(int32_t dtype) {
  switch (dtype) {
    case KNNG_F32: return "<f4";
    case KNNG_F64: return "<f8";
    case KNNG_F16: return "<f2";
    case KNNG_U8: return "|u1";
    case KNNG_I8: return "|i1";
    case KNNG_U16: return "<u2";
    case KNNG_I16: return "<i2";
    case KNNG_U32: return "<u4";
    case KNNG_I32: return "<i4";
    case KNNG_U64: return "<u8";
    case KNNG_I64: return "<i8";
    case KNNG_BOOL: return "|b1";
    default: abort();
  }
}

void write_rows(const char* path, const test_rows* rows) {
  const size_t row_bytes = (size_t)(rows->d * dtype_size(rows->dtype)), size = (size_t)rows->n * row_bytes;
  if (ends_with(path, ".npy")) {
    write_npy(path, numpy_type(rows->dtype), 0, rows->n, rows->d, rows->data, size);
    return;
  }
  FILE* f = created(path);
  if (ends_with(path, "vecs")) {
    for (int64_t i = 0; i < rows->n; ++i) {
      const int32_t d = (int32_t)rows->d;
      put(f, &d, sizeof d);
      put(f, (const char*)rows->data + (size_t)i * row_bytes, row_bytes);
    }
  } else if (ends_with(path, "bin")) {
    const uint32_t shape[2] = {(uint32_t)rows->n, (uint32_t)rows->d};
    put(f, shape, sizeof shape);
    put(f, rows->data, size);
  } else { /* IDX: counts are big-endian */
    unsigned char header[12] = {0, 0, 8, 2};
    for (int b = 0; b < 4; ++b) {
      header[4 + b] = (unsigned char)(rows->n >> (24 - 8 * b));
      header[8 + b] = (unsigned char)(rows->d >> (24 - 8 * b));
    }
    put(f, header, sizeof header);
    put(f, rows->data, size);
  }
  fclose(f);
}
