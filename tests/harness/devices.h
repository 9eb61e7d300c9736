/* Tests of devices, on simulated devices (tests/backend/fake_cuda.cpp; then KNNG_TEST_FAKE_DEVICES is set) or on
 * the GPUs of this machine: which there are, and one question for the CPU and for them. */
#ifndef KNNG_TESTS_HARNESS_DEVICES_H
#define KNNG_TESTS_HARNESS_DEVICES_H

#include "harness/compare.h"

extern int fake_devices;       /* simulated devices */
extern int injecting_faults;   /* these, but GPUs do their work (tests/backend/fault_injection.cpp) */
extern int64_t usable_devices; /* how many */
/* Of those that are none: "sessions", "bytes" or "tiles"; see there. */
extern int64_t (*fake_count)(const char* what, int32_t device);
/* The flag that they set where a stop is injected, or NULL. */
extern void (*fake_stop)(volatile int32_t* flag);

/* What main() begins with: 0, or the program's exit status, after the reason was printed. */
int devices_start(void);
/* Around every test: devices behave; and whatever a test did, no session and no memory of one is left. */
int devices_setup(void** state);
int devices_teardown(void** state);
#define DEVICE_TEST(f) cmocka_unit_test_setup_teardown(f, devices_setup, devices_teardown)
/* How simulated devices behave from now on. */
void devices_behave(const char* behaviour);
/* Sets of devices, as many as there are; NULL ends the list. */
const char* const* device_sets(void);
knng_device device_at(int32_t i);
/* device=: where a small build ran, as knng_graph_text() begins; or that it and its plan are refused, and what is said.
 */
void expect_where(const test_rows* rows, const char* device, const char* where);
void expect_device_error(const test_rows* rows, const char* device, const char* a, const char* b);

/* Of GPUs with faults injected: what is free on all of them when nothing comes back any more. Of others: 0. */
int64_t settled_memory_free(void);

/* What is asked of the CPU and of devices alike. */
typedef struct question {
  const test_rows* rows;
  const test_rows* queries; /* NULL: a build */
  const int64_t* leave_out;
  metric_case metric;
  int64_t k;
  const char *self, *value, *value_type;
} question;
question question_of(const test_rows* rows, const metric_case* m, int64_t k);
knng* handle_for(const question* q, const char* device, const char* engine, const char* selector, const char* tile);
knng_status answer(const knng* h, const question* q, const knng_control* c, knng_graph** g);
/* NULL if the CPU refuses: then of_cpu says how. */
knng_graph* answer_of_cpu(const question* q, knng_error* of_cpu);
/* Of what it does not refuse. */
knng_graph* graph_of_cpu(const question* q);
/* A handle's answer is the expected one: a graph, or a failure (then expected is NULL). */
void expect_answer(const knng* h, const question* q, const knng_graph* expected, const knng_error* of_cpu,
                   const char* label);
/* Ids, bits and ties; every row has a proof. */
void expect_same(const knng_graph* expected, const knng_graph* g, const char* label);
/* And what is known of the data: that of a graph of the same rows in host memory. */
void expect_as_from_memory(const knng_graph* expected, const knng_graph* g, const char* label);

/* Whether an engine of the library does it on a device: those that are not known here shall. */
int device_does(const question* q, const char* engine);
/* The engine for many of such rows, whose lists are proved; of few engine=auto evaluates all keys. */
const char* engine_for_many(const question* q);
/* Every set of devices and every engine, with these selectors (NULL: all) and tiles: the CPU's answer, or its refusal.
 */
void check_devices(const question* q, const char* const* selectors, const char* const* tiles, const char* what);
int is_product(const metric_case* m);
/* Whether engine=tiled has a filter, as the library says. */
int has_device_filter(const question* q);
/* How many of the metric cases are tried where the metric is not what the test is about: simulated devices have
 * their keys from the library itself, and need only one exponent that takes pow(). */
int device_metric_count(void);

/* What knng_graph_rows() has; to be freed. */
unsigned char* rows_of(const knng_graph* g, const char* what);
knng_plan planned(const knng* h, int64_t nq, int64_t k);
/* Whether a build's lists will be on devices in slices: then the tiles are those of all rows beside all columns. */
int in_slices(const knng* h, int64_t k);
/* Sets max_device_bytes to the least with which the lists of all rows, or of nq queries, are there: points come block
 * by block then. Or, if that is what is wanted, to the least at all, where there are slices. */
void give_least_memory(knng* h, int64_t nq, int64_t k, int slices);
/* Eight tight heaps of n / 8 rows: the more often their size is halved, the more precise a filter must be. */
test_rows heaps(int64_t n, int halvings);

#endif
