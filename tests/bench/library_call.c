/* What a C program does with rows in memory, behind one function, which grid.py compiles and times beside other
 * libraries: a handle is made and set, rows are borrowed, the graph is built, or queries are answered, and viewed. */
#include <stddef.h>

#include "knng.h"

struct call {
  const knng_matrix *rows, *queries; /* no queries: the graph */
  const char* const* settings;       /* key, value, key, value, ..., NULL */
  int64_t k;
  knng* handle; /* what open_call() makes, and close_call() destroys */
  knng_graph* graph;
  knng_matrix ids, values;
};

knng_status open_call(struct call* c) {
  knng_status status = knng_create(&c->handle, 0, 0, NULL);
  for (const char* const* s = c->settings; status == KNNG_OK && *s; s += 2)
    status = knng_set(c->handle, s[0], s[1], NULL);
  if (status == KNNG_OK) status = knng_borrow(c->handle, c->rows, NULL, NULL);
  if (status == KNNG_OK)
    status = c->queries ? knng_query(c->handle, c->queries, NULL, 0, c->k, NULL, &c->graph, NULL)
                        : knng_build(c->handle, c->k, NULL, &c->graph, NULL);
  c->ids.struct_size = c->values.struct_size = sizeof c->ids;
  return status == KNNG_OK ? knng_graph_view(c->graph, &c->ids, &c->values, NULL) : status;
}

void close_call(struct call* c) {
  knng_destroy(c->handle);
  knng_graph_destroy(c->graph);
  c->handle = NULL;
  c->graph = NULL;
}

knng_status whole_call(struct call* c) {
  const knng_status status = open_call(c);
  if (status == KNNG_OK) close_call(c);
  return status;
}
