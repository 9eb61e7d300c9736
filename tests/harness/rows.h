/* Deterministic test data in every element type, with the stored values read back exactly as fp64. Encoding and
 * decoding of the half types are written here anew; the library is not asked. Knows nothing of keys or of the API but
 * its codes. */
#ifndef KNNG_TESTS_HARNESS_ROWS_H
#define KNNG_TESTS_HARNESS_ROWS_H

#include <stdint.h>

typedef struct test_rows {
  int64_t n, d;
  int32_t dtype;
  void* data; /* n x d of dtype, packed */
  double* x;  /* the same values as fp64 */
} test_rows;

/* The row types, for loops over all of them. */
#define ROW_DTYPES 13
extern const int32_t row_dtypes[ROW_DTYPES];
const char* dtype_label(int32_t dtype);
int64_t dtype_size(int32_t dtype);
/* Whether single precision holds all values of the type. */
int fits_single(int32_t dtype);

/* splitmix64; uniform in [0, 1). */
uint64_t random_bits(uint64_t* state);
double uniform(uint64_t* state);
/* Sum of 12 uniforms minus 6: roughly normal, exact arithmetic apart from the sum. */
double roughly_normal(uint64_t* state);

/* Values are rounded to the nearest of dtype, integers clamped to its range, or to +-2^53 if that is less. The values
 * are copied. */
test_rows rows_from(int32_t dtype, int64_t n, int64_t d, const double* values);
void rows_free(test_rows* rows);

/* Generators. */
test_rows rows_normal(int32_t dtype, int64_t n, int64_t d, uint64_t seed);   /* scaled to fill integer types */
test_rows rows_positive(int32_t dtype, int64_t n, int64_t d, uint64_t seed); /* no negative value, no zero row */
/* Small integers, 0 to levels - 1: full of ties and duplicates. */
test_rows rows_grid(int32_t dtype, int64_t n, int64_t d, int levels, uint64_t seed);
/* Like the Shuttle data: integer columns of very different spread, most rows from few clusters, many ties. */
test_rows rows_shuttle(int32_t dtype, int64_t n, uint64_t seed);

/* One element of any dtype that rows can have, exactly. */
double decode(int32_t dtype, const void* data, int64_t index);
/* Rounded to nearest, ties to even; too large becomes infinity, integers are clamped as above. */
void encode(int32_t dtype, void* data, int64_t index, double value);

int rows_have_negative(const test_rows* rows);
int rows_have_zero_row(const test_rows* rows);

#endif
