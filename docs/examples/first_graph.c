/* A first graph: eight points of the plane, shown to the library without a copy, and the two nearest of each. */
#include <inttypes.h>
#include <knng.h>
#include <stdio.h>

int main(void) {
  static const float points[8][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {5, 5}, {6, 5}, {5, 7}, {9, 9}};
  const knng_matrix rows = knng_packed(KNNG_F32, 8, 2, points);
  knng* h = NULL;
  knng_graph* g = NULL;
  knng_matrix ids = knng_packed(KNNG_I64, 0, 0, NULL), distances = ids;
  knng_error e = knng_no_error();

  /* The points stay ours and must stay as they are while the handle is used. */
  if (knng_create(&h, 0, 0, &e) || knng_borrow(h, &rows, NULL, &e) || knng_build(h, 2, NULL, &g, &e) ||
      knng_graph_view(g, &ids, &distances, &e)) {
    fprintf(stderr, "first_graph: %s\n", e.message);
    knng_destroy(h);
    return 1;
  }
  knng_destroy(h); /* the graph lives on */

  const int64_t* id = ids.data;
  const float* distance = distances.data;
  for (int64_t i = 0; i < ids.rows; ++i) {
    printf("%" PRId64 ":", i);
    for (int64_t j = 0; j < ids.cols; ++j) {
      const int64_t at = i * ids.cols + j;
      printf("  %" PRId64 " at %.4f", id[at], distance[at]);
    }
    printf("\n");
  }
  knng_graph_destroy(g);
  return 0;
}
