#include "harness/oracle.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/elementary.h"
#include "harness/fast_fma.h"

#define LANES 32

static void* allocate(int64_t count, size_t size) {
  void* p = calloc((size_t)(count > 0 ? count : 1), size);
  if (!p) abort();
  return p;
}

static double fold(double* s) {
  for (int h = LANES / 2; h > 0; h /= 2)
    for (int l = 0; l < h; ++l) s[l] += s[l + h];
  return s[0];
}

static double sum(int64_t d, const double* x) {
  double s[LANES] = {0};
  for (int64_t t = 0; t < d; ++t) s[t % LANES] += x[t];
  return fold(s);
}

FAST_FMA static double sum_squares(int64_t d, const double* x) {
  double s[LANES] = {0};
  for (int64_t t = 0; t < d; ++t) s[t % LANES] = fma(x[t], x[t], s[t % LANES]);
  return fold(s);
}

FAST_FMA static double squared_distance(int64_t d, const double* x, const double* y) {
  double s[LANES] = {0};
  int64_t t = 0;
  for (; t + LANES <= d; t += LANES)
    for (int l = 0; l < LANES; ++l) {
      const double c = x[t + l] - y[t + l];
      s[l] = fma(c, c, s[l]);
    }
  for (int l = 0; t + l < d; ++l) {
    const double c = x[t + l] - y[t + l];
    s[l] = fma(c, c, s[l]);
  }
  return fold(s);
}

FAST_FMA static double product(int64_t d, const double* x, const double* y) {
  double s[LANES] = {0};
  int64_t t = 0;
  for (; t + LANES <= d; t += LANES)
    for (int l = 0; l < LANES; ++l) s[l] = fma(x[t + l], y[t + l], s[l]);
  for (int l = 0; t + l < d; ++l) s[l] = fma(x[t + l], y[t + l], s[l]);
  return fold(s);
}

FAST_FMA static double sum_absolute(int64_t d, const double* x, const double* y, double sign) {
  double s[LANES] = {0};
  int64_t t = 0;
  for (; t + LANES <= d; t += LANES)
    for (int l = 0; l < LANES; ++l) s[l] += fabs(x[t + l] + sign * y[t + l]);
  for (int l = 0; t + l < d; ++l) s[l] += fabs(x[t + l] + sign * y[t + l]);
  return fold(s);
}

/* Of rows without NaN. */
static double larger(double a, double b) { return a > b ? a : b; }

FAST_FMA static double largest_difference(int64_t d, const double* x, const double* y) {
  double s[LANES] = {0};
  int64_t t = 0;
  for (; t + LANES <= d; t += LANES)
    for (int l = 0; l < LANES; ++l) s[l] = larger(fabs(x[t + l] - y[t + l]), s[l]);
  for (int l = 0; t + l < d; ++l) s[l] = larger(fabs(x[t + l] - y[t + l]), s[l]);
  for (int l = 1; l < LANES; ++l) s[0] = larger(s[l], s[0]);
  return s[0];
}

static double sum_powers(int64_t d, const double* x, const double* y, double p) {
  double s[LANES] = {0};
  for (int64_t t = 0; t < d; ++t) s[t % LANES] += elementary_pow(fabs(x[t] - y[t]), p);
  return fold(s);
}

static double canberra(int64_t d, const double* x, const double* y) {
  double s[LANES] = {0};
  for (int64_t t = 0; t < d; ++t) {
    const double below = fabs(x[t]) + fabs(y[t]);
    s[t % LANES] += below == 0 ? 0 : fabs(x[t] - y[t]) / below;
  }
  return fold(s);
}

/* m is 0 beside a positive x only where halving the smallest denormal underflows; such an x counts as 0. */
static double divergence(double x, double m) { return x > 0 && m > 0 ? x * elementary_log(x / m) : 0; }

static double jensen_shannon(int64_t d, const double* x, const double* y) {
  double s[LANES] = {0};
  for (int64_t t = 0; t < d; ++t) {
    const double m = 0.5 * (x[t] + y[t]);
    const double a = divergence(x[t], m), b = divergence(y[t], m);
    s[t % LANES] += a + b;
  }
  const double key = 0.5 * fold(s);
  return key > 0 ? key : 0;
}

static int is(const oracle_task* task, const char* metric) { return strcmp(task->metric, metric) == 0; }

/* Average ranks from 1, as 2 rank - (d + 1): counts below and equal decide. */
FAST_FMA static void centred_ranks(int64_t d, const double* x, double* ranks) {
  for (int64_t t = 0; t < d; ++t) {
    int64_t below = 0, equal = 0;
    for (int64_t s = 0; s < d; ++s) {
      below += x[s] < x[t];
      equal += x[s] == x[t];
    }
    ranks[t] = (double)(2 * below + equal + 1 - (d + 1));
  }
}

static void to_unit(int64_t d, const double* c, double* u) {
  double largest = 0;
  for (int64_t t = 0; t < d; ++t) largest = fmax(largest, fabs(c[t]));
  const int e = ilogb(largest);
  const double s1 = ldexp(1, -(e / 2)), s2 = ldexp(1, -(e - e / 2));
  for (int64_t t = 0; t < d; ++t) u[t] = c[t] * s1 * s2;
  const double inverse = 1 / sqrt(sum_squares(d, u));
  for (int64_t t = 0; t < d; ++t) u[t] *= inverse;
}

oracle_points oracle_transform(const oracle_task* task, int64_t n, int64_t d, const double* x) {
  oracle_points points = {n, d, allocate(n * d, sizeof(double)), allocate(n, 1)};
  double* scratch = allocate(d, sizeof(double));
  for (int64_t i = 0; i < n; ++i) {
    const double* row = x + i * d;
    double* u = points.u + i * d;
    int zero = 1, constant = 1;
    for (int64_t t = 0; t < d; ++t) {
      zero = zero && row[t] == 0;
      constant = constant && row[t] == row[0];
    }
    if (is(task, "cosine")) {
      points.no_direction[i] = (unsigned char)zero;
      if (!zero) to_unit(d, row, u);
    } else if (is(task, "correlation")) {
      points.no_direction[i] = (unsigned char)constant;
      const double mean = sum(d, row) / (double)d;
      for (int64_t t = 0; t < d; ++t) scratch[t] = row[t] - mean;
      if (!constant) to_unit(d, scratch, u);
    } else if (is(task, "spearman")) {
      points.no_direction[i] = (unsigned char)constant;
      centred_ranks(d, row, scratch);
      if (!constant) to_unit(d, scratch, u);
    } else if (is(task, "hellinger")) {
      for (int64_t t = 0; t < d; ++t) u[t] = sqrt(row[t]);
    } else if (is(task, "jensenshannon")) {
      const double total = sum(d, row);
      for (int64_t t = 0; t < d; ++t) u[t] = row[t] / total;
    } else {
      memcpy(u, row, (size_t)d * sizeof(double));
    }
  }
  free(scratch);
  return points;
}

void oracle_points_free(oracle_points* points) {
  free(points->u);
  free(points->no_direction);
  memset(points, 0, sizeof *points);
}

double oracle_key(const oracle_task* task, const oracle_points* a, int64_t i, const oracle_points* b, int64_t j) {
  const int64_t d = a->d;
  const double *x = a->u + i * d, *y = b->u + j * d;
  if (a->no_direction[i] || b->no_direction[j]) return 1;
  if (is(task, "sqeuclidean") || is(task, "euclidean") || is(task, "hellinger")) return squared_distance(d, x, y);
  if (is(task, "cosine") || is(task, "correlation") || is(task, "spearman")) return 0.5 * squared_distance(d, x, y);
  if (is(task, "inner_product")) return -product(d, x, y) + 0.0;
  if (is(task, "manhattan")) return sum_absolute(d, x, y, -1);
  if (is(task, "chebyshev")) return largest_difference(d, x, y);
  if (is(task, "minkowski")) {
    if (task->p == 1) return sum_absolute(d, x, y, -1);
    if (task->p == 2) return squared_distance(d, x, y);
    return sum_powers(d, x, y, task->p);
  }
  if (is(task, "canberra")) return canberra(d, x, y);
  if (is(task, "braycurtis")) {
    const double below = sum_absolute(d, x, y, 1);
    return below == 0 ? 0 : sum_absolute(d, x, y, -1) / below;
  }
  if (is(task, "jensenshannon")) return jensen_shannon(d, x, y);
  abort();
}

double oracle_value(const oracle_task* task, double key) {
  if (task->similarity) return is(task, "inner_product") ? 0.0 - key : 1 - key;
  if (is(task, "euclidean") || is(task, "jensenshannon")) return sqrt(key);
  if (is(task, "hellinger")) return sqrt(0.5 * key);
  if (is(task, "minkowski")) {
    if (task->p == 1) return key;
    if (task->p == 2) return sqrt(key);
    return elementary_pow(key, 1 / task->p);
  }
  return key;
}

/* A list under way: the `held` smallest so far, and whether one that was left out is at the last key. */
typedef struct nearest {
  int64_t held;
  unsigned char tied;
} nearest;

/* Rows first to last - 1 of b, in order; ids only grow from call to call. */
static void offer(const oracle_task* task, const oracle_points* a, int64_t i, const oracle_points* b, int64_t first,
                  int64_t last, int64_t leave_out, int64_t k, int64_t* ids, double* keys, nearest* list) {
  for (int64_t j = first; j < last; ++j) {
    if (j == leave_out) continue;
    const double key = oracle_key(task, a, i, b, j);
    /* Among equal keys the one that came first stays in front. */
    if (list->held == k && !(key < keys[k - 1])) {
      list->tied = (unsigned char)(list->tied || key == keys[k - 1]);
      continue;
    }
    if (list->held == k) {
      const double dropped = keys[k - 1];
      list->tied = (unsigned char)((k > 1 ? fmax(keys[k - 2], key) : key) == dropped);
    } else {
      ++list->held;
    }
    int64_t at = list->held - 1;
    for (; at > 0 && key < keys[at - 1]; --at) {
      keys[at] = keys[at - 1];
      ids[at] = ids[at - 1];
    }
    keys[at] = key;
    ids[at] = j;
  }
}

/* What one thread does: rows `first` to `last` - 1 of a, against all rows of b. */
typedef struct strip {
  const oracle_task* task;
  const oracle_points *a, *b;
  const int64_t* leave_out; /* or NULL */
  int same;                 /* a is b: every row leaves out itself */
  oracle_graph* g;          /* keys at first, then values */
  int64_t first, last;
} strip;

static void* run_strip(void* argument) {
  const strip* s = argument;
  oracle_graph* g = s->g;
  const int64_t before = g->width - g->k, n = s->b->n;
  nearest* lists = allocate(s->last - s->first, sizeof *lists);
  /* In blocks that stay in the cache while all rows of the strip see them. */
  enum { block = 64 };
  for (int64_t start = 0; start < n; start += block)
    for (int64_t i = s->first; i < s->last; ++i) {
      const int64_t other = s->leave_out ? s->leave_out[i] : -1, end = start + block < n ? start + block : n;
      offer(s->task, s->a, i, s->b, start, end, s->same ? i : other, g->k, g->ids + i * g->width + before,
            g->values + i * g->width + before, &lists[i - s->first]);
    }
  for (int64_t i = s->first; i < s->last; ++i) {
    g->ties[i] = lists[i - s->first].tied;
    double* values = g->values + i * g->width;
    if (before) {
      g->ids[i * g->width] = i;
      values[0] = is(s->task, "inner_product") ? oracle_key(s->task, s->a, i, s->a, i) : 0;
    }
    for (int64_t j = 0; j < g->width; ++j) values[j] = oracle_value(s->task, values[j]);
  }
  free(lists);
  return NULL;
}

/* Rows do not depend on each other: strips of them run on as many threads as there are processors, if there is enough
 * to do. The threads are gone when this returns. */
static oracle_graph all_nearest(const strip* whole, int64_t k, int64_t width) {
  enum { most = 64 };
  const int64_t rows = whole->a->n;
  oracle_graph g = {rows,
                    k,
                    width,
                    allocate(rows * width, sizeof(int64_t)),
                    allocate(rows * width, sizeof(double)),
                    allocate(rows, 1)};
  const double terms = (double)rows * (double)whole->b->n * (double)whole->a->d;
  int64_t threads = terms < 1e6 ? 1 : sysconf(_SC_NPROCESSORS_ONLN);
  threads = threads > most ? most : threads > rows ? rows : threads;
  strip strips[most];
  pthread_t ids[most];
  int started[most] = {0};
  for (int64_t t = 0; t < threads; ++t) {
    strips[t] = *whole;
    strips[t].g = &g;
    strips[t].first = rows * t / threads;
    strips[t].last = rows * (t + 1) / threads;
    started[t] = t > 0 && pthread_create(&ids[t], NULL, run_strip, &strips[t]) == 0;
  }
  for (int64_t t = 0; t < threads; ++t)
    if (!started[t]) run_strip(&strips[t]);
  for (int64_t t = 0; t < threads; ++t)
    if (started[t]) pthread_join(ids[t], NULL);
  return g;
}

oracle_graph oracle_build(const oracle_task* task, int64_t n, int64_t d, const double* x, int64_t k) {
  oracle_points points = oracle_transform(task, n, d, x);
  const strip whole = {.task = task, .a = &points, .b = &points, .same = 1};
  const oracle_graph g = all_nearest(&whole, k, k + (task->self_first ? 1 : 0));
  oracle_points_free(&points);
  return g;
}

oracle_graph oracle_query(const oracle_task* task, int64_t n, int64_t d, const double* x, int64_t nq, const double* q,
                          const int64_t* leave_out, int64_t k) {
  oracle_points base = oracle_transform(task, n, d, x), queries = oracle_transform(task, nq, d, q);
  const strip whole = {.task = task, .a = &queries, .b = &base, .leave_out = leave_out};
  const oracle_graph g = all_nearest(&whole, k, k);
  oracle_points_free(&base);
  oracle_points_free(&queries);
  return g;
}

void oracle_graph_free(oracle_graph* graph) {
  free(graph->ids);
  free(graph->values);
  free(graph->ties);
  memset(graph, 0, sizeof *graph);
}
