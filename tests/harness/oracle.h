/* The oracle: canonical keys and k nearest rows in plain fp64 C, written from the definition and not from the library.
 * It shares nothing with the library but log and pow (harness/elementary.h), and must not know the library's API.
 *
 * Everything here assumes round to nearest and denormals kept. */
#ifndef KNNG_TESTS_HARNESS_ORACLE_H
#define KNNG_TESTS_HARNESS_ORACLE_H

#include <stdint.h>

/* What is asked: metric by its name, p for minkowski. */
typedef struct oracle_task {
  const char* metric;
  double p;
  int self_first; /* a build puts each row before its k neighbours */
  int similarity; /* values as similarities */
} oracle_task;

/* Rows after the metric's transform. */
typedef struct oracle_points {
  int64_t n, d;
  double* u;                   /* n x d */
  unsigned char* no_direction; /* n: zero (cosine) or constant (correlation, spearman) */
} oracle_points;

/* x: n x d stored values as fp64. */
oracle_points oracle_transform(const oracle_task* task, int64_t n, int64_t d, const double* x);
void oracle_points_free(oracle_points* points);

/* Key of row i of a and row j of b, two different points. */
double oracle_key(const oracle_task* task, const oracle_points* a, int64_t i, const oracle_points* b, int64_t j);
/* What is reported for a key, before rounding to the value type. */
double oracle_value(const oracle_task* task, double key);

/* A whole graph. width = k, or k + 1 with self_first. */
typedef struct oracle_graph {
  int64_t rows, k, width;
  int64_t* ids;        /* rows x width */
  double* values;      /* rows x width */
  unsigned char* ties; /* rows */
} oracle_graph;

oracle_graph oracle_build(const oracle_task* task, int64_t n, int64_t d, const double* x, int64_t k);
/* leave_out: nq ids or NULL. */
oracle_graph oracle_query(const oracle_task* task, int64_t n, int64_t d, const double* x, int64_t nq, const double* q,
                          const int64_t* leave_out, int64_t k);
void oracle_graph_free(oracle_graph* graph);

#endif
