#include "harness/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knng.h"

const int32_t row_dtypes[ROW_DTYPES] = {KNNG_F32, KNNG_F64, KNNG_F16, KNNG_BF16, KNNG_U8,  KNNG_I8,  KNNG_U16,
                                        KNNG_I16, KNNG_U32, KNNG_I32, KNNG_U64,  KNNG_I64, KNNG_BOOL};

/* Of the types of integers: the values that rows may have, and what data that fills them is around and how wide. */
static const struct integers {
  int32_t dtype;
  double low, high, offset, scale;
} integers[] = {{KNNG_U8, 0, 255, 128, 40},
                {KNNG_I8, -128, 127, 0, 40},
                {KNNG_U16, 0, 65535, 32768, 10000},
                {KNNG_I16, -32768, 32767, 0, 10000},
                {KNNG_U32, 0, 4294967295.0, 2147483648.0, 7e8},
                {KNNG_I32, -2147483648.0, 2147483647.0, 0, 7e8},
                {KNNG_U64, 0, 0x1p53, 0x1p52, 0x1p50},
                {KNNG_I64, -0x1p53, 0x1p53, 0, 0x1p51},
                {KNNG_BOOL, 0, 1, 0.5, 1},
                {0, 0, 0, 0, 1}};

/* The last, which is that of no type, for types that are none of integers. */
static const struct integers* integers_of(int32_t dtype) {
  const struct integers* i = integers;
  while (i->dtype != 0 && i->dtype != dtype) ++i;
  return i;
}

const char* dtype_label(int32_t dtype) {
  switch (dtype) {
    case KNNG_F32: return "f32";
    case KNNG_F64: return "f64";
    case KNNG_F16: return "f16";
    case KNNG_BF16: return "bf16";
    case KNNG_U8: return "u8";
    case KNNG_I8: return "i8";
    case KNNG_U16: return "u16";
    case KNNG_I16: return "i16";
    case KNNG_U32: return "u32";
    case KNNG_I32: return "i32";
    case KNNG_U64: return "u64";
    case KNNG_I64: return "i64";
    case KNNG_BOOL: return "bool";
    default: return "?";
  }
}

int64_t dtype_size(int32_t dtype) { return (dtype & 0xff) / 8; }

int fits_single(int32_t dtype) {
  static const int32_t wide[] = {KNNG_F64, KNNG_U32, KNNG_I32, KNNG_U64, KNNG_I64};
  for (size_t i = 0; i < sizeof wide / sizeof *wide; ++i)
    if (dtype == wide[i]) return 0;
  return 1;
}

uint64_t random_bits(uint64_t* state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

double uniform(uint64_t* state) { return ldexp((double)(random_bits(state) >> 11), -53); }

double roughly_normal(uint64_t* state) {
  double s = -6;
  for (int i = 0; i < 12; ++i) s += uniform(state);
  return s;
}

/* Both half types: 1 sign bit, exponent_bits, fraction_bits, as IEEE 754 lays them out. */
static double decode_small(uint16_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  double value;
  if (exponent == (1 << exponent_bits) - 1)
    value = fraction ? NAN : INFINITY;
  else if (exponent == 0)
    value = ldexp(fraction, 1 - bias - fraction_bits);
  else
    value = ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return bits >> 15 ? -value : value;
}

static uint16_t encode_small(double value, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint16_t sign = signbit(value) ? 0x8000 : 0;
  const uint16_t infinity = (uint16_t)(((1 << exponent_bits) - 1) << fraction_bits);
  const double size = fabs(value);
  if (isnan(value)) return (uint16_t)(sign | infinity | 1);
  if (size == 0) return sign;
  if (isinf(size)) return (uint16_t)(sign | infinity);
  int exponent = ilogb(size);
  if (exponent < 1 - bias) exponent = 1 - bias;
  /* An integer below 2^(fraction_bits + 1); a carry to that moves into the exponent by itself. */
  const double units = rint(ldexp(size, fraction_bits - exponent));
  const double encoded = ldexp(exponent + bias - 1, fraction_bits) + units;
  if (encoded >= (double)infinity) return (uint16_t)(sign | infinity);
  return (uint16_t)(sign | (uint16_t)encoded);
}

double decode(int32_t dtype, const void* data, int64_t index) {
  switch (dtype) {
    case KNNG_F32: return (double)((const float*)data)[index];
    case KNNG_F64: return ((const double*)data)[index];
    case KNNG_F16: return decode_small(((const uint16_t*)data)[index], 5, 10);
    case KNNG_BF16: return decode_small(((const uint16_t*)data)[index], 8, 7);
    case KNNG_U8: return (double)((const uint8_t*)data)[index];
    case KNNG_I8: return (double)((const int8_t*)data)[index];
    case KNNG_U16: return (double)((const uint16_t*)data)[index];
    case KNNG_I16: return (double)((const int16_t*)data)[index];
    case KNNG_U32: return (double)((const uint32_t*)data)[index];
    case KNNG_I32: return (double)((const int32_t*)data)[index];
    case KNNG_U64: return (double)((const uint64_t*)data)[index];
    case KNNG_I64: return (double)((const int64_t*)data)[index];
    case KNNG_BOOL: return (double)((const uint8_t*)data)[index];
    default: abort();
  }
}

void encode(int32_t dtype, void* data, int64_t index, double value) {
  const struct integers* limits = integers_of(dtype);
  const double integer = rint(fmin(fmax(value, limits->low), limits->high));
  switch (dtype) {
    case KNNG_F32: ((float*)data)[index] = (float)value; return;
    case KNNG_F64: ((double*)data)[index] = value; return;
    case KNNG_F16: ((uint16_t*)data)[index] = encode_small(value, 5, 10); return;
    case KNNG_BF16: ((uint16_t*)data)[index] = encode_small(value, 8, 7); return;
    case KNNG_BOOL:
    case KNNG_U8: ((uint8_t*)data)[index] = (uint8_t)integer; return;
    case KNNG_I8: ((int8_t*)data)[index] = (int8_t)integer; return;
    case KNNG_U16: ((uint16_t*)data)[index] = (uint16_t)integer; return;
    case KNNG_I16: ((int16_t*)data)[index] = (int16_t)integer; return;
    case KNNG_U32: ((uint32_t*)data)[index] = (uint32_t)integer; return;
    case KNNG_I32: ((int32_t*)data)[index] = (int32_t)integer; return;
    case KNNG_U64: ((uint64_t*)data)[index] = (uint64_t)integer; return;
    case KNNG_I64: ((int64_t*)data)[index] = (int64_t)integer; return;
    default: abort();
  }
}

static test_rows make_rows(int32_t dtype, int64_t n, int64_t d) {
  test_rows rows = {n, d, dtype, NULL, NULL};
  rows.data = malloc((size_t)(n * d * dtype_size(dtype)));
  rows.x = malloc((size_t)(n * d) * sizeof(double));
  if (!rows.data || !rows.x) abort();
  return rows;
}

static void put(test_rows* rows, int64_t index, double value) {
  encode(rows->dtype, rows->data, index, value);
  rows->x[index] = decode(rows->dtype, rows->data, index);
}

test_rows rows_from(int32_t dtype, int64_t n, int64_t d, const double* values) {
  test_rows rows = make_rows(dtype, n, d);
  for (int64_t i = 0; i < n * d; ++i) put(&rows, i, values[i]);
  return rows;
}

void rows_free(test_rows* rows) {
  free(rows->data);
  free(rows->x);
  memset(rows, 0, sizeof *rows);
}

test_rows rows_normal(int32_t dtype, int64_t n, int64_t d, uint64_t seed) {
  test_rows rows = make_rows(dtype, n, d);
  const struct integers* like = integers_of(dtype);
  for (int64_t i = 0; i < n * d; ++i) put(&rows, i, like->offset + like->scale * roughly_normal(&seed));
  return rows;
}

test_rows rows_positive(int32_t dtype, int64_t n, int64_t d, uint64_t seed) {
  test_rows rows = make_rows(dtype, n, d);
  const struct integers* like = integers_of(dtype);
  const double scale = like->dtype ? like->scale * 5 / 8 : 1;
  for (int64_t i = 0; i < n * d; ++i) {
    const double value = scale * roughly_normal(&seed);
    put(&rows, i, i % d == 0 ? scale * (1 + uniform(&seed)) : fmax(value, 0));
  }
  return rows;
}

test_rows rows_grid(int32_t dtype, int64_t n, int64_t d, int levels, uint64_t seed) {
  test_rows rows = make_rows(dtype, n, d);
  for (int64_t i = 0; i < n * d; ++i) put(&rows, i, floor(levels * uniform(&seed)));
  return rows;
}

test_rows rows_shuttle(int32_t dtype, int64_t n, uint64_t seed) {
  enum { columns = 9, clusters = 7 };
  static const double spread[columns] = {12, 1, 8, 2, 6, 3, 10, 9, 4};
  test_rows rows = make_rows(dtype, n, columns);
  double centres[clusters][columns];
  for (int c = 0; c < clusters; ++c)
    for (int t = 0; t < columns; ++t) centres[c][t] = 20 + floor(80 * uniform(&seed));
  for (int64_t i = 0; i < n; ++i) {
    const double draw = uniform(&seed);
    const int cluster = draw < 0.8 ? 0 : 1 + (int)((draw - 0.8) * 5 * (clusters - 1));
    for (int t = 0; t < columns; ++t) {
      const double step = floor(spread[t] * uniform(&seed) * uniform(&seed));
      put(&rows, i * columns + t, centres[cluster][t] + step);
    }
  }
  return rows;
}

int rows_have_negative(const test_rows* rows) {
  for (int64_t i = 0; i < rows->n * rows->d; ++i)
    if (rows->x[i] < 0) return 1;
  return 0;
}

int rows_have_zero_row(const test_rows* rows) {
  for (int64_t i = 0; i < rows->n; ++i) {
    int zero = 1;
    for (int64_t t = 0; t < rows->d; ++t) zero = zero && rows->x[i * rows->d + t] == 0;
    if (zero) return 1;
  }
  return 0;
}
