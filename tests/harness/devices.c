#include "harness/devices.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/cmocka.h"

int fake_devices, injecting_faults;
int64_t usable_devices;
int64_t (*fake_count)(const char* what, int32_t device);
void (*fake_stop)(volatile int32_t* flag);

const char* const* device_sets(void) {
  static char all[256];
  static const char* sets[] = {"cuda:0", "cuda", all, "cuda:1,0", NULL};
  int length = snprintf(all, sizeof all, "cuda:0");
  for (int64_t i = 1; i < usable_devices && length < (int)sizeof all; ++i)
    length += snprintf(all + length, sizeof all - (size_t)length, ",%d", (int)i);
  if (usable_devices < 2) sets[2] = NULL;
  return sets;
}

void devices_behave(const char* behaviour) { setenv("KNNG_FAKE_BEHAVIOUR", behaviour, 1); }

int devices_setup(void** state) {
  (void)state;
  if (fake_devices) {
    setenv("KNNG_FAKE_DEVICES", "4", 1);
    devices_behave("");
    if (fake_stop) fake_stop(NULL);
  }
  return 0;
}

int64_t settled_memory_free(void) {
  int64_t free = 0, before = -1;
  for (int tries = 0; injecting_faults && tries < 100 && free != before; ++tries) {
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    before = free;
    free = 0;
    for (int32_t i = 1; i <= usable_devices; ++i) free += device_at(i).memory_free;
  }
  return free;
}

int devices_teardown(void** state) {
  (void)state;
  if (!fake_devices) return 0;
  assert_int_equal(fake_count("sessions", 0), 0);
  assert_int_equal(fake_count("bytes", 0), 0);
  return 0;
}

question question_of(const test_rows* rows, const metric_case* m, int64_t k) {
  const question q = {rows, NULL, NULL, *m, k, "exclude", "distance", "auto"};
  return q;
}

knng* handle_for(const question* q, const char* device, const char* engine, const char* selector, const char* tile) {
  knng* h = HANDLE(q->rows, "device", device, "engine", engine, "selector", selector, "tile_rows", tile, "self",
                   q->self, "value", q->value, "value_type", q->value_type);
  set_metric(h, &q->metric);
  /* Of a graph they are square. */
  if (q->queries) expect_ok(knng_set(h, "tile_cols", tile, NULL), "tile_cols");
  return h;
}

knng_status answer(const knng* h, const question* q, const knng_control* c, knng_graph** g) {
  *g = NULL;
  if (!q->queries) return knng_build(h, q->k, c, g, &reported);
  const knng_matrix m = matrix_of(q->queries);
  const knng_matrix left_out = knng_packed(KNNG_I64, q->queries->n, 1, q->leave_out);
  return knng_query(h, &m, q->leave_out ? &left_out : NULL, 0, q->k, c, g, &reported);
}

unsigned char* rows_of(const knng_graph* g, const char* what) {
  const int64_t n = (int64_t)stat_of(g, "rows");
  unsigned char* numbers = malloc((size_t)n);
  assert_non_null(numbers);
  knng_matrix out = knng_packed(KNNG_U8, n, 1, numbers);
  expect_ok(knng_graph_rows(g, what, &out, NULL), what);
  return numbers;
}

void expect_same(const knng_graph* expected, const knng_graph* g, const char* label) {
  expect_same_graph(expected, g, label);
  unsigned char *a = rows_of(expected, "ties"), *b = rows_of(g, "ties"), *proof = rows_of(g, "proof");
  const int64_t n = (int64_t)stat_of(g, "rows");
  for (int64_t i = 0; i < n; ++i) {
    if (a[i] != b[i]) fail_msg("%s: row %lld has ties %d instead of %d", label, (long long)i, b[i], a[i]);
    if (proof[i] < 1 || proof[i] > 4) fail_msg("%s: row %lld has proof %d", label, (long long)i, proof[i]);
  }
  free(a);
  free(b);
  free(proof);
}

static void expect_same_text(const knng_graph* a, const knng_graph* b, const char* what) {
  char left[200], right[200];
  expect_ok(knng_graph_text(a, what, left, sizeof left, NULL, NULL), what);
  expect_ok(knng_graph_text(b, what, right, sizeof right, NULL, NULL), what);
  assert_true(left[0] != '\0');
  assert_string_equal(left, right);
}

void expect_as_from_memory(const knng_graph* expected, const knng_graph* g, const char* label) {
  expect_same(expected, g, label);
  expect_same_text(expected, g, "fingerprint");
  assert_true(stat_of(expected, "duplicates") == stat_of(g, "duplicates"));
}

void expect_answer(const knng* h, const question* q, const knng_graph* expected, const knng_error* of_cpu,
                   const char* label) {
  knng_graph* g = NULL;
  const knng_status status = answer(h, q, NULL, &g);
  if (expected) {
    expect_ok(status, label);
    expect_same(expected, g, label);
    knng_graph_destroy(g);
    return;
  }
  assert_null(g);
  const knng_error e = reported;
  if (status != of_cpu->code || e.row != of_cpu->row)
    fail_msg("%s: status %d row %lld instead of %d row %lld; %s", label, (int)status, (long long)e.row,
             (int)of_cpu->code, (long long)of_cpu->row, e.message);
}

knng_graph* answer_of_cpu(const question* q, knng_error* of_cpu) {
  knng* h = handle_for(q, "cpu", "direct", "auto", "0");
  knng_graph* g = NULL;
  if (answer(h, q, NULL, &g) != KNNG_OK) *of_cpu = reported;
  knng_destroy(h);
  return g;
}

knng_graph* graph_of_cpu(const question* q) {
  knng_error failure;
  knng_graph* g = answer_of_cpu(q, &failure);
  if (!g) fail_msg("the CPU: %s", knng_last_error());
  return g;
}

knng_plan planned(const knng* h, int64_t nq, int64_t k) {
  knng_plan p;
  memset(&p, 0, sizeof p);
  p.struct_size = sizeof p;
  expect_ok(knng_estimate(h, nq, k, &p, NULL), "knng_estimate");
  return p;
}

int in_slices(const knng* h, int64_t k) {
  int64_t n = 0;
  expect_ok(knng_shape(h, &n, NULL, NULL, NULL), "knng_shape");
  const knng_plan p = planned(h, 0, k);
  const int64_t down = (n + p.tile_rows - 1) / p.tile_rows, across = (n + p.tile_cols - 1) / p.tile_cols;
  return p.tiles > 1 && p.tiles >= down * across;
}

void give_least_memory(knng* h, int64_t nq, int64_t k, int slices) {
  set_bytes(h, "max_device_bytes", 0);
  const knng_plan p = planned(h, nq, k);
  int64_t least = p.smallest_device, enough = p.device_bytes;
  set_bytes(h, "max_device_bytes", least);
  if (slices) {
    assert_true(in_slices(h, k));
    return;
  }
  if (nq > 0 || !in_slices(h, k)) return;
  while (enough - least > 1) {
    const int64_t middle = least + (enough - least) / 2;
    set_bytes(h, "max_device_bytes", middle);
    *(in_slices(h, k) ? &least : &enough) = middle;
  }
  set_bytes(h, "max_device_bytes", enough);
}

int is_product(const metric_case* m) {
  return m->product || (strcmp(m->metric, "minkowski") == 0 && strcmp(m->p, "2") == 0);
}

int has_device_filter(const question* q) {
  knng* h = handle_for(q, device_sets()[0], "tiled", "auto", "0");
  knng_plan p;
  memset(&p, 0, sizeof p);
  p.struct_size = sizeof p;
  /* The row type of queries that are not there is taken to be that of the data. */
  const int same = !q->queries || q->queries->dtype == q->rows->dtype;
  knng_graph* g = NULL;
  const knng_status status =
      same ? knng_estimate(h, q->queries ? q->queries->n : 0, q->k, &p, &reported) : answer(h, q, NULL, &g);
  knng_graph_destroy(g);
  knng_destroy(h);
  return status != KNNG_ERR_UNSUPPORTED;
}

int device_metric_count(void) { return fake_devices ? METRIC_CASES - 3 : metric_count(); }

/* Whether engine=tree does it on a device. */
static int has_boxes(const question* q) {
  static const char* const others[] = {"inner_product", "canberra", "braycurtis", "jensenshannon"};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
    if (strcmp(q->metric.metric, others[i]) == 0) return 0;
  const int power =
      strcmp(q->metric.metric, "minkowski") == 0 && strcmp(q->metric.p, "1") != 0 && !is_product(&q->metric);
  return !power && q->rows->d <= 16;
}

int device_does(const question* q, const char* engine) {
  if (strcmp(engine, "tree") == 0) return has_boxes(q);
  if (strcmp(engine, "tiled") == 0) return has_device_filter(q);
  if (strcmp(engine, "fused") == 0) return has_device_filter(q) && is_product(&q->metric);
  return 1;
}

const char* engine_for_many(const question* q) {
  if (is_product(&q->metric)) return "tiled";
  const int few_dimensions = q->rows->d <= 8;
  return few_dimensions && device_does(q, "tree") ? "tree" : device_does(q, "tiled") ? "tiled" : "direct";
}

void check_devices(const question* q, const char* const* of_selectors, const char* const* tiles, const char* what) {
  static int turn;
  word_list engines, selectors;
  if (!of_selectors) of_selectors = words_of("selector", &selectors);
  knng_error failure;
  knng_graph* expected = answer_of_cpu(q, &failure);
  const char* const* sets = device_sets();
  int set_count = 0;
  while (sets[set_count]) ++set_count;
  for (int s = 0; s < set_count; ++s) {
    int way = 0;
    for (const char* const* engine = words_of("engine", &engines); *engine; ++engine) {
      if (!device_does(q, *engine)) continue;
      const int by_rows = strcmp(*engine, "tree") == 0;
      const int selects = !by_rows && strcmp(*engine, "auto") != 0 && strcmp(*engine, "direct") != 0;
      for (const char* const* selector = of_selectors; *selector; ++selector) {
        if (by_rows && strcmp(*selector, "auto") != 0) continue;
        for (const char* const* tile = tiles; *tile; ++tile, ++way) {
          /* Sessions of GPUs take long to open: there every way is gone once, and by all sets the first. In a small
           * run every way is gone once, by another set each time. */
          if (fake_devices ? small_run() && (way + turn) % set_count != s : s > 0 && way > 0) continue;
          if (by_rows && q->queries && strcmp(*tile, "0") != 0) continue; /* a tile's columns, too, are asked for */
          /* Simulated devices do not select. But for selectors that are asked for tiles are, not rows. */
          if (fake_devices && selector > of_selectors + (selects ? 0 : 1)) continue;
          char label[240];
          snprintf(label, sizeof label, "%s: %s p=%s %s n=%lld k=%lld device=%s engine=%s selector=%s tile_rows=%s",
                   what, q->metric.metric, q->metric.p, dtype_label(q->rows->dtype), (long long)q->rows->n,
                   (long long)q->k, sets[s], *engine, *selector, *tile);
          knng* h = handle_for(q, sets[s], *engine, *selector, *tile);
          expect_answer(h, q, expected, &failure, label);
          knng_destroy(h);
        }
      }
    }
  }
  ++turn;
  knng_graph_destroy(expected);
}

test_rows heaps(int64_t n, int halvings) {
  enum { d = 16 };
  double* x = malloc((size_t)(n * d) * sizeof *x);
  assert_non_null(x);
  double centres[8][d];
  uint64_t seed = 311;
  for (int c = 0; c < 8; ++c)
    for (int t = 0; t < d; ++t) centres[c][t] = roughly_normal(&seed);
  for (int64_t i = 0; i < n; ++i)
    for (int t = 0; t < d; ++t) {
      double offset = roughly_normal(&seed);
      for (int s = 0; s < halvings; ++s) offset /= 2;
      x[i * d + t] = centres[i % 8][t] + offset;
    }
  const test_rows rows = rows_from(KNNG_F32, n, d, x);
  free(x);
  return rows;
}

knng_device device_at(int32_t i) {
  knng_device d;
  memset(&d, 0, sizeof d);
  d.struct_size = sizeof d;
  expect_ok(knng_device_get(i, &d, NULL), "knng_device_get");
  return d;
}

static int find_fake(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/libknng_cuda.so", getenv("KNNG_BACKEND_DIR"));
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* const count = library ? dlsym(library, "knng_fake_count") : NULL;
  void* const stop = library ? dlsym(library, "knng_fake_stop") : NULL;
  memcpy(&fake_count, &count, sizeof count); /* C has no conversion from data to functions */
  memcpy(&fake_stop, &stop, sizeof stop);
  return count && stop;
}

int devices_start(void) {
  const char* const fake = getenv("KNNG_TEST_FAKE_DEVICES");
  fake_devices = fake != NULL;
  injecting_faults = fake && strcmp(fake, "faults") == 0;
  devices_setup(NULL);
  if (fake_devices && !find_fake()) {
    fprintf(stderr, "no library of simulated devices in KNNG_BACKEND_DIR\n");
    return 1;
  }
  knng_device d;
  d.struct_size = sizeof d;
  for (int32_t i = 1; knng_device_get(i, &d, NULL) == KNNG_OK; ++i) {
    usable_devices += d.usable;
    if (!d.usable) printf("%s: %s\n", d.name, d.why_not);
  }
  if (usable_devices > 0 && device_at(1).usable) return 0;
  return fake_devices && !injecting_faults ? 1 : 77;
}

void expect_device_error(const test_rows* rows, const char* device, const char* a, const char* b) {
  knng* h = HANDLE(rows, "device", device);
  knng_graph* g = NULL;
  knng_plan plan;
  plan.struct_size = sizeof plan;
  EXPECT_ERROR(knng_build(h, 3, NULL, &g, &reported), KNNG_ERR_DEVICE, device, a, b);
  assert_null(g);
  EXPECT_ERROR(knng_estimate(h, 0, 3, &plan, &reported), KNNG_ERR_DEVICE, device, a, b);
  knng_destroy(h);
}

void expect_where(const test_rows* rows, const char* device, const char* where) {
  knng* h = HANDLE(rows, "device", device);
  knng_graph* g = built(h, 3);
  char text[160];
  expect_ok(knng_graph_text(g, "device", text, sizeof text, NULL, NULL), "device");
  if (strncmp(text, where, strlen(where)) != 0) fail_msg("device=%s ran on '%s' instead of %s", device, text, where);
  knng_graph_destroy(g);
  knng_destroy(h);
}
