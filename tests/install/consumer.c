/* A user's first program, against the installed library: a graph of five points on a line. */
#include <knng.h>
#include <stdio.h>

int main(void) {
  const float x[5] = {0, 1, 3, 7, 15};
  const int64_t expected[5] = {1, 0, 1, 2, 3};
  const knng_matrix rows = knng_packed(KNNG_F32, 5, 1, x);
  knng* h = NULL;
  knng_graph* g = NULL;
  knng_matrix ids = knng_packed(KNNG_I64, 0, 0, NULL);
  int right = knng_version() == KNNG_HEADER_VERSION;
  if (knng_create(&h, 1, KNNG_F32, NULL) || knng_borrow(h, &rows, NULL, NULL) || knng_build(h, 1, NULL, &g, NULL) ||
      knng_graph_view(g, &ids, NULL, NULL)) {
    fprintf(stderr, "%s\n", knng_last_error());
    return 1;
  }
  for (int i = 0; i < 5; ++i) right = right && ((const int64_t*)ids.data)[i] == expected[i];
  knng_graph_destroy(g);
  knng_destroy(h);
  puts(right ? "right" : "wrong");
  return right ? 0 : 1;
}
