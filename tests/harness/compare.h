/* From test data to a graph through the public API, and from a graph to a verdict against the oracle: ids and bits, no
 * tolerance. Failures are cmocka failures that name metric, type, settings, row and column. */
#ifndef KNNG_TESTS_HARNESS_COMPARE_H
#define KNNG_TESTS_HARNESS_COMPARE_H

#include <stdint.h>

#include "harness/oracle.h"
#include "harness/rows.h"
#include "harness/small_run.h"
#include "knng.h"

/* Every metric, minkowski with several exponents: `p` is the text of the setting. */
typedef struct metric_case {
  const char* metric;
  const char* p;
  int product; /* has an inner-product form */
} metric_case;
#define METRIC_CASES 18
extern const metric_case metric_cases[METRIC_CASES];
/* How many of them there are from the first in this run: a small one takes one exponent that needs pow(). */
int metric_count(void);

oracle_task task_of(const metric_case* m);
/* Whether the metric takes the rows; otherwise knng_build() must answer KNNG_ERR_DATA. */
int metric_takes(const metric_case* m, const test_rows* rows);
int has_similarity(const metric_case* m);

/* KNNG_OK, or the test fails with the library's message. */
void expect_ok(knng_status status, const char* what);
/* The code, and a message that contains every one of the words (NULL ends the list). */
void expect_error(knng_status status, knng_status code, const char* const* words);
/* Filled in by calls that are given it: EXPECT_ERROR holds it against code and message then. */
extern knng_error reported;

#define EXPECT_ERROR(status, code, ...) expect_error((status), (code), (const char* const[]){__VA_ARGS__, NULL})

knng_matrix matrix_of(const test_rows* rows);
/* A handle with a copy of the rows (none if NULL) and settings "key", "value", ..., NULL. */
knng* handle_with(const test_rows* rows, const char* const* settings);
#define HANDLE(rows, ...) handle_with((rows), (const char* const[]){__VA_ARGS__, NULL})
void set_metric(knng* h, const metric_case* m);
void set_bytes(knng* h, const char* key, int64_t bytes); /* a setting of memory */
knng_graph* built(const knng* h, int64_t k);

/* The whole graph, its ties included. `label` goes before messages. */
void expect_graph(const knng_graph* g, const oracle_graph* expected, const char* label);
/* Two graphs: ids and bits. */
void expect_same_graph(const knng_graph* a, const knng_graph* b, const char* label);
double stat_of(const knng_graph* g, const char* name);
/* Saves a graph in the current folder, in every format, and loads it: the same ids, bits and statistics. */
void expect_comes_back(const knng_graph* g, const char* label);
/* Two files: every byte. */
void expect_same_files(const char* a, const char* b);

/* The words that a setting takes, as the library lists them, in `list`; NULL at the end. */
enum { MOST_WORDS = 16 };
typedef struct word_list {
  char text[200];
  const char* words[MOST_WORDS + 1];
} word_list;
const char* const* words_of(const char* setting, word_list* list);

/* An engine with its selector ("auto" if it has none); engine NULL ends a list. */
typedef struct engine_case {
  const char *engine, *selector;
} engine_case;

/* Builds under engines (NULL: all that do the metric) x threads x tiles (small runs: each engine with one of threads x
 * tiles) and compares each with the oracle; refusal is what is expected without an oracle graph, if the metric
 * does not take the rows. With a shift from 0 each number of threads meets one tile, and with the next shift the next:
 * where many calls differ by something else, the element type, each has all numbers of threads and all tiles, and all
 * of them together each number with each tile. */
enum { ALL_TILES = -1 };
typedef struct tile_size {
  const char *rows, *cols;
} tile_size;
void check_build(const test_rows* rows, const metric_case* m, int64_t k, const oracle_graph* expected,
                 const engine_case* engines, const char* const* threads, const tile_size* tiles, int tile_count,
                 int shift);

/* The engines that do a metric: the direct and the tiled one do all, the fused one those that are sums of squared
 * differences or products. */
const engine_case* engines_for(const metric_case* m);
void set_engine(knng* h, const engine_case* e);
/* The fused engine where it can, else what the library chooses. */
const char* fastest_engine(const metric_case* m);

/* What host memory that is called CUDA's is refused with: nobody can be asked, or a GPU's library knows better. */
knng_status no_cuda_memory(void);

#endif
