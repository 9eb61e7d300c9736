/* Sizes and offsets of the public structs, as frozen: bindings in other languages repeat them. No struct has padding.
 */
#include <stddef.h>

#include "harness/cmocka.h"
#include "knng.h"

/* member by member: (struct, member, offset) */
#define AT(type, member, offset) assert_int_equal(offsetof(type, member), offset)

static void layouts(void** state) {
  (void)state;
  AT(knng_matrix, struct_size, 0);
  AT(knng_matrix, dtype, 4);
  AT(knng_matrix, space, 8);
  AT(knng_matrix, device, 12);
  AT(knng_matrix, rows, 16);
  AT(knng_matrix, cols, 24);
  AT(knng_matrix, row_stride, 32);
  AT(knng_matrix, col_stride, 40);
  AT(knng_matrix, stream, 48);
  AT(knng_matrix, data, 56);
  AT(knng_matrix, release, 64);
  AT(knng_matrix, owner, 72);
  assert_int_equal(sizeof(knng_matrix), 80);

  AT(knng_control, struct_size, 0);
  AT(knng_control, interval_ms, 4);
  AT(knng_control, progress, 8);
  AT(knng_control, log, 16);
  AT(knng_control, user, 24);
  AT(knng_control, stop, 32);
  AT(knng_control, max_bytes, 40);
  assert_int_equal(sizeof(knng_control), 48);

  AT(knng_error, struct_size, 0);
  AT(knng_error, code, 4);
  AT(knng_error, row, 8);
  AT(knng_error, col, 16);
  AT(knng_error, given, 24);
  AT(knng_error, limit, 32);
  AT(knng_error, argument, 40);
  AT(knng_error, message, 72);
  AT(knng_error, reason, 552);
  assert_int_equal(sizeof(knng_error), 968);

  AT(knng_option, struct_size, 0);
  AT(knng_option, type, 4);
  AT(knng_option, name, 8);
  AT(knng_option, fallback, 16);
  AT(knng_option, range, 24);
  AT(knng_option, doc, 32);
  AT(knng_option, environment, 40);
  assert_int_equal(sizeof(knng_option), 48);

  AT(knng_plan, struct_size, 0);
  AT(knng_plan, devices, 4);
  AT(knng_plan, host_bytes, 8);
  AT(knng_plan, device_bytes, 16);
  AT(knng_plan, smallest_host, 24);
  AT(knng_plan, smallest_device, 32);
  AT(knng_plan, tile_rows, 40);
  AT(knng_plan, tile_cols, 48);
  AT(knng_plan, tiles, 56);
  AT(knng_plan, seconds, 64);
  assert_int_equal(sizeof(knng_plan), 72);

  AT(knng_device, struct_size, 0);
  AT(knng_device, usable, 4);
  AT(knng_device, memory, 8);
  AT(knng_device, memory_free, 16);
  AT(knng_device, name, 24);
  AT(knng_device, why_not, 120);
  assert_int_equal(sizeof(knng_device), 376);
}

/* Numbers that are written into other languages, and into files. */
static void constants(void** state) {
  (void)state;
  static const int status[] = {
      KNNG_OK,         KNNG_ERR_ARGUMENT,    KNNG_ERR_RANGE,  KNNG_ERR_OPTION,    KNNG_ERR_DATA,
      KNNG_ERR_STATE,  KNNG_ERR_MEMORY,      KNNG_ERR_BUDGET, KNNG_ERR_CANCELLED, KNNG_ERR_IO,
      KNNG_ERR_FORMAT, KNNG_ERR_UNSUPPORTED, KNNG_ERR_DEVICE, KNNG_ERR_INTERNAL,  KNNG_ERR_CHECK};
  for (int i = 0; i < 15; ++i) assert_int_equal(status[i], -i);
  static const int dtypes[][3] = {{KNNG_I8, 0, 8},   {KNNG_I16, 0, 16}, {KNNG_I32, 0, 32}, {KNNG_I64, 0, 64},
                                  {KNNG_U8, 1, 8},   {KNNG_U16, 1, 16}, {KNNG_U32, 1, 32}, {KNNG_U64, 1, 64},
                                  {KNNG_F16, 2, 16}, {KNNG_F32, 2, 32}, {KNNG_F64, 2, 64}, {KNNG_BF16, 4, 16},
                                  {KNNG_BOOL, 6, 8}}; /* DLPack: code, bits */
  for (int i = 0; i < 13; ++i) assert_int_equal(dtypes[i][0], dtypes[i][1] << 8 | dtypes[i][2]);
  assert_int_equal(KNNG_ANY, 0);
  assert_int_equal(KNNG_HOST, 1);
  assert_int_equal(KNNG_CUDA, 2);
  assert_int_equal(KNNG_PINNED, 3);
  assert_int_equal(KNNG_MANAGED, 13);
}

static void host_matrices(void** state) {
  (void)state;
  float x[6];
  const knng_matrix m = knng_packed(KNNG_F32, 3, 2, x);
  assert_int_equal(m.struct_size, sizeof m);
  assert_true(m.dtype == KNNG_F32 && m.space == KNNG_HOST && m.device == 0 && m.rows == 3 && m.cols == 2);
  assert_true(m.row_stride == 0 && m.col_stride == 0 && m.stream == 0 && m.data == x && !m.release && !m.owner);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(layouts), cmocka_unit_test(constants),
                                     cmocka_unit_test(host_matrices)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
