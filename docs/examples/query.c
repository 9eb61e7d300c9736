/* Queries against a data set: the nearest words of a little table of features, by cosine similarity. Shows settings,
 * leave_out, and copying the result into memory of our own. */
#include <knng.h>
#include <stdio.h>

enum { ROWS = 6, QUERIES = 2, DIM = 3, K = 2 };

static const char* const names[ROWS] = {"cat", "dog", "lion", "car", "truck", "train"};
static const double features[ROWS][DIM] = {{0.9, 0.1, 0.0}, {0.8, 0.3, 0.0}, {1.0, 0.0, 0.2},
                                           {0.0, 0.2, 0.9}, {0.1, 0.1, 1.0}, {0.0, 0.6, 0.8}};

int main(void) {
  /* The first query is row 0 itself, which shall not find itself; the second is new. */
  static const double asked[QUERIES][DIM] = {{0.9, 0.1, 0.0}, {0.0, 0.5, 0.9}};
  static const int64_t leave_out[QUERIES] = {0, -1};
  static const char* const shown[QUERIES] = {"cat", "(0, 0.5, 0.9)"};
  const knng_matrix rows = knng_packed(KNNG_F64, ROWS, DIM, features);
  const knng_matrix left_out = knng_packed(KNNG_I64, QUERIES, 1, leave_out);
  const knng_matrix queries = knng_packed(KNNG_F64, QUERIES, DIM, asked);
  int32_t id[QUERIES][K];
  double similarity[QUERIES][K];
  knng_matrix ids = knng_packed(KNNG_I32, QUERIES, K, id), values = knng_packed(KNNG_F64, QUERIES, K, similarity);
  knng* h = NULL;
  knng_graph* g = NULL;
  knng_error e = knng_no_error();

  const int failed = knng_create(&h, DIM, KNNG_F64, &e) || knng_set(h, "metric", "cosine", &e) ||
                     knng_set(h, "value", "similarity", &e) || knng_add(h, &rows, NULL, &e) ||
                     knng_query(h, &queries, &left_out, 0, K, NULL, &g, &e) || knng_graph_copy(g, 0, &ids, &values, &e);
  if (failed) fprintf(stderr, "query: %s\n", e.message);
  for (int q = 0; q < QUERIES && !failed; ++q) {
    printf("%s:", shown[q]);
    for (int j = 0; j < K; ++j) printf("  %s %.4f", names[id[q][j]], similarity[q][j]);
    printf("\n");
  }
  knng_graph_destroy(g);
  knng_destroy(h);
  return failed;
}
