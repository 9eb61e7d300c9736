/* knng_graph_describe: a graph that was kept as arrays and texts becomes the graph that it was, to the last byte of its
 * file; what it cannot be is refused, and changes nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmocka.h"
#include "harness/compare.h"
#include "harness/folder.h"

enum { n = 90, k = 6, most = 1 << 16 };

static size_t read_whole(const char* path, unsigned char* out) {
  FILE* f = fopen(path, "rb");
  assert_non_null(f);
  const size_t got = fread(out, 1, most, f);
  fclose(f);
  assert_true(got > 0 && got < most);
  return got;
}

/* All that a graph says of itself, as lines. */
static void facts_of(const knng_graph* g, char* facts) {
  static const char* const texts[] = {"metric", "p",       "precision",   "engine", "selector",
                                      "device", "version", "fingerprint", "value",  "self"};
  char text[256];
  facts[0] = '\0';
  for (size_t t = 0; t < sizeof texts / sizeof *texts; ++t) {
    expect_ok(knng_graph_text(g, texts[t], text, sizeof text, NULL, NULL), texts[t]);
    sprintf(facts + strlen(facts), "text.%s=%s\n", texts[t], text);
  }
  const char* name = NULL;
  for (int32_t i = 0; knng_stat_name(i, &name, NULL, NULL) == KNNG_OK; ++i)
    if (!isnan(stat_of(g, name))) sprintf(facts + strlen(facts), "stat.%s=%.17g\n", name, stat_of(g, name));
}

static knng_graph* imported(const knng_graph* g, int32_t same_points) {
  knng_matrix ids = knng_packed(KNNG_I64, 0, 0, NULL), values = ids;
  expect_ok(knng_graph_view(g, &ids, &values, NULL), "view");
  int64_t columns = 0;
  expect_ok(knng_graph_shape(g, NULL, &columns, NULL, NULL, NULL), "shape");
  knng_graph* made = NULL;
  expect_ok(knng_graph_import(&made, &ids, &values, 0, columns, same_points, NULL), "import");
  return made;
}

static knng_matrix marks_of(const knng_graph* g, const char* what, unsigned char* marks) {
  knng_matrix m = knng_packed(KNNG_U8, n, 1, marks);
  expect_ok(knng_graph_rows(g, what, &m, NULL), what);
  return m;
}

static void a_graph_becomes_what_it_was(void** state) {
  (void)state;
  static unsigned char a[most], b[most];
  for (int variant = 0; variant < 8; ++variant) {
    test_rows rows = rows_grid(variant & 1 ? KNNG_F64 : KNNG_F32, n, 3, 4, 7);
    knng* h = HANDLE(&rows, "device", "cpu", "self", variant & 2 && !(variant & 4) ? "first" : "exclude", "metric",
                     variant & 2 ? "cosine" : "minkowski", "value", variant == 6 ? "similarity" : "distance", "p",
                     variant & 2 ? "auto" : "3");
    knng_graph* g = NULL;
    const knng_matrix q = matrix_of(&rows);
    if (variant & 4)
      expect_ok(knng_query(h, &q, NULL, 0, k, NULL, &g, NULL), "query");
    else
      g = built(h, k);
    char facts[4096];
    facts_of(g, facts);
    unsigned char tie[n], how[n];
    const knng_matrix ties = marks_of(g, "ties", tie), proof = marks_of(g, "proof", how);
    knng_graph* again = imported(g, !(variant & 4));
    expect_ok(knng_graph_describe(again, facts, &ties, &proof, NULL), "describe");
    expect_ok(knng_graph_save(g, "made.knng", NULL, NULL, NULL), "save");
    expect_ok(knng_graph_save(again, "described.knng", NULL, NULL, NULL), "save");
    const size_t bytes = read_whole("made.knng", a);
    assert_int_equal(read_whole("described.knng", b), bytes);
    assert_memory_equal(a, b, bytes);
    EXPECT_ERROR(knng_graph_describe(again, facts, &ties, &proof, &reported), KNNG_ERR_STATE, "g");
    EXPECT_ERROR(knng_graph_describe(g, facts, &ties, &proof, &reported), KNNG_ERR_STATE, "g");
    knng_graph_destroy(again);
    knng_graph_destroy(g);
    knng_destroy(h);
    rows_free(&rows);
  }
}

static void expect_text(const knng_graph* g, const char* name, const char* expected) {
  char text[64];
  expect_ok(knng_graph_text(g, name, text, sizeof text, NULL, NULL), name);
  assert_string_equal(text, expected);
}

/* What another library found, described a part at a time. */
static void what_is_not_told_stays_unknown(void** state) {
  (void)state;
  const int32_t ids[] = {1, 2, /**/ 0, 2, /**/ 0, -1};
  const float values[] = {1, 2, /**/ 1, 3, /**/ 2, INFINITY};
  const knng_matrix im = knng_packed(KNNG_I32, 3, 2, (void*)ids), vm = knng_packed(KNNG_F32, 3, 2, (void*)values);
  knng_graph* g = NULL;
  expect_ok(knng_graph_import(&g, &im, &vm, 0, 3, 1, NULL), "import");
  expect_ok(knng_graph_describe(g, "", NULL, NULL, NULL), "nothing");
  expect_text(g, "metric", "unknown");
  expect_ok(knng_graph_describe(g, "text.metric=L2\n", NULL, NULL, NULL), "an alias");
  expect_text(g, "metric", "euclidean");
  expect_text(g, "value", "distance");
  expect_text(g, "self", "exclude");
  expect_text(g, "engine", "unknown");
  expect_ok(knng_graph_describe(g, "text.engine=a\\nb\\\\\ntext.colour=blue\nstat.duplicates=1\n", NULL, NULL, NULL),
            "more");
  expect_text(g, "engine", "a?b\\"); /* plain: a terminal would obey the line end */
  expect_text(g, "metric", "euclidean");
  expect_ok(knng_graph_describe(g, "text.metric=Minkowski\n", NULL, NULL, NULL), "minkowski");
  expect_text(g, "p", "2");
  expect_ok(knng_graph_describe(g, "text.p=3.0\n", NULL, NULL, NULL), "p");
  expect_text(g, "metric", "minkowski");
  expect_text(g, "p", "3");
  assert_true(stat_of(g, "duplicates") == 1 && stat_of(g, "rows") == 3);

  unsigned char strided[] = {1, 9, 0, 9, 0, 9};
  knng_matrix ties = knng_packed(KNNG_U8, 3, 1, strided);
  ties.row_stride = 2;
  int64_t marks[3];
  knng_matrix out = knng_packed(KNNG_I64, 3, 1, marks);
  assert_true(isnan(stat_of(g, "ties_at_k")) && isnan(stat_of(g, "proved")));
  EXPECT_ERROR(knng_graph_rows(g, "ties", &out, &reported), KNNG_ERR_STATE, "ties");
  expect_ok(knng_graph_describe(g, "stat.ties_at_k=1\n", &ties, NULL, NULL), "marks");
  expect_ok(knng_graph_rows(g, "ties", &out, NULL), "ties");
  assert_true(marks[0] == 1 && marks[1] == 0 && marks[2] == 0);
  /* Marks that are told anew are counted anew; those of all rows may be 0. */
  strided[0] = 0;
  expect_ok(knng_graph_describe(g, "", &ties, &ties, NULL), "no marks");
  assert_true(stat_of(g, "ties_at_k") == 0 && stat_of(g, "proved") == 0);
  knng_graph_destroy(g);
}

static void a_known_zero_is_kept(void** state) {
  (void)state;
  const int32_t ids[] = {1, 2, /**/ 0, 2, /**/ 0, 1};
  const knng_matrix im = knng_packed(KNNG_I32, 3, 2, (void*)ids);
  unsigned char none[3] = {0};
  const knng_matrix ties = knng_packed(KNNG_U8, 3, 1, none);
  static const char* const files[] = {"zero.knng", "zero.npz"};
  for (size_t f = 0; f < sizeof files / sizeof *files; ++f) {
    knng_graph *g = NULL, *again = NULL;
    expect_ok(knng_graph_import(&g, &im, NULL, 0, 3, 1, NULL), "import");
    expect_ok(knng_graph_describe(g, "", &ties, NULL, NULL), "no ties");
    expect_ok(knng_graph_save(g, files[f], NULL, NULL, NULL), files[f]);
    expect_ok(knng_graph_load(&again, files[f], NULL, NULL), files[f]);
    assert_true(stat_of(again, "ties_at_k") == 0 && isnan(stat_of(again, "proved")));
    int64_t marks[3] = {9, 9, 9};
    knng_matrix out = knng_packed(KNNG_I64, 3, 1, marks);
    expect_ok(knng_graph_rows(again, "ties", &out, NULL), "ties");
    assert_true(marks[0] == 0 && marks[1] == 0 && marks[2] == 0);
    knng_graph_destroy(again);
    knng_graph_destroy(g);
  }
}

static void what_it_cannot_be_is_refused(void** state) {
  (void)state;
  const int32_t ids[] = {1, 2, /**/ 0, 2, /**/ 0, 1};
  const knng_matrix im = knng_packed(KNNG_I32, 3, 2, (void*)ids);
  knng_graph* g = NULL;
  expect_ok(knng_graph_import(&g, &im, NULL, 0, 3, 1, NULL), "import");
  static const char* const wrong[][2] = {
      {"text.metric=cosine", "no name=value"},
      {"cosine\n", "no name=value"},
      {"metric=cosine\n", "its fact metric is named text.metric"},
      {"text.metric=l2\nduplicates=1\n", "its fact duplicates is named stat.duplicates"},
      {"text.metrc=cosine\n", "its fact text.metrc is not known: did you mean text.metric?"},
      {"stat.duplicate=1\n", "did you mean stat.duplicates?"},
      {"text.version=1.0\r\n", "control character"},
      {"stat.duplicates=1.5\n", "whole numbers from 0 to 2"},
      {"text.p=3\n", "minkowski"},
      {"text.metric=cosine\ntext.p=3\n", "minkowski"},
      {"text.metric=l2\ntext.value=similarity\n", "similarity goes with"},
      {"text.self=first\n", "self"},
      {"self_first=1\n", "self_first"},
      {"columns=4\n", "columns"},
      {"columns=four\n", "columns"},
      {"square=0\n", "square"},
      {"stat.rows=4\n", "rows"},
      {"stat.duplicates=-1\n", "duplicates=-1"},
      {"stat.duplicates=3\n", "duplicates=3"},
      {"stat.duplicates=-0\n", "duplicates=-0"},
      {"stat.seconds_total=nan\n", "seconds_total"},
      {"stat.seconds_total=1e18\n", "seconds_total=1e+18"},
      {"stat.bytes_host_peak=1e18\n", "bytes_host_peak"},
      {"stat.bytes_host_peak=9007199254740993\n", "bytes_host_peak"},
      {"stat.bytes_device_peak=-0\n", "bytes_device_peak=-0"},
      {"text.metric=cosine\nstat.proved=3\n", "proved"}};
  for (size_t w = 0; w < sizeof wrong / sizeof *wrong; ++w) {
    EXPECT_ERROR(knng_graph_describe(g, wrong[w][0], NULL, NULL, &reported), KNNG_ERR_DATA, "facts: ", wrong[w][1]);
    assert_string_equal(reported.argument, "facts");
    expect_text(g, "metric", "unknown");
    assert_true(isnan(stat_of(g, "duplicates")));
  }
  static const char* const settings[][3] = {{"text.metric=round\n", "metric", "metric=round: it takes"},
                                            {"text.metric=\n", "metric", "metric="},
                                            {"text.value=size\n", "value", "value=size: it takes"},
                                            {"text.metric=minkowski\ntext.p=0\n", "p", "p=0: it takes"}};
  for (size_t s = 0; s < sizeof settings / sizeof *settings; ++s) {
    EXPECT_ERROR(knng_graph_describe(g, settings[s][0], NULL, NULL, &reported), KNNG_ERR_OPTION, settings[s][2]);
    assert_string_equal(reported.argument, settings[s][1]);
    expect_text(g, "metric", "unknown");
  }
  unsigned char mark[] = {0, 5, 2};
  knng_matrix marks = knng_packed(KNNG_U8, 3, 1, mark);
  EXPECT_ERROR(knng_graph_describe(g, "", &marks, NULL, &reported), KNNG_ERR_DATA, "ties: 5 is no mark, the last is 1",
               "row 1");
  assert_int_equal(reported.row, 1);
  EXPECT_ERROR(knng_graph_describe(g, "", NULL, &marks, &reported), KNNG_ERR_DATA, "proof: 5 is no mark, the last is 4",
               "row 1");
  assert_int_equal(reported.row, 1);
  mark[1] = 1;
  EXPECT_ERROR(knng_graph_describe(g, "stat.proved=1\n", NULL, &marks, &reported), KNNG_ERR_DATA, "proved");
  marks.rows = 2;
  EXPECT_ERROR(knng_graph_describe(g, "", &marks, NULL, &reported), KNNG_ERR_ARGUMENT, "ties: 2 x 1", "3 rows");
  marks = knng_packed(KNNG_I8, 3, 1, mark);
  EXPECT_ERROR(knng_graph_describe(g, "", NULL, &marks, &reported), KNNG_ERR_ARGUMENT, "proof", "int8");
  EXPECT_ERROR(knng_graph_describe(g, NULL, NULL, NULL, &reported), KNNG_ERR_ARGUMENT, "facts", "NULL");
  EXPECT_ERROR(knng_graph_describe(NULL, "", NULL, NULL, &reported), KNNG_ERR_ARGUMENT, "g", "NULL");
  int64_t kept[3];
  knng_matrix out = knng_packed(KNNG_I64, 3, 1, kept);
  expect_ok(knng_graph_rows(g, "proof", &out, NULL), "proof");
  assert_true(kept[0] == 0 && kept[1] == 0 && kept[2] == 0);
  knng_graph_destroy(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_graph_becomes_what_it_was),
      cmocka_unit_test(what_is_not_told_stays_unknown),
      cmocka_unit_test(a_known_zero_is_kept),
      cmocka_unit_test(what_it_cannot_be_is_refused),
  };
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
