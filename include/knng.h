/** @file knng.h
 * libknng: exact k-nearest-neighbour graphs of large high-dimensional data.
 *
 * This is the one supported include. It needs C99 and nothing besides <stddef.h> and <stdint.h>;
 * link with -lknng (pkg-config knng, or find_package(knng) and knng::knng).
 *
 * A first graph:
 * @code
 *   knng *h = NULL;
 *   knng_graph *g = NULL;
 *   knng_error e = knng_no_error();
 *   knng_matrix rows = knng_packed(KNNG_F32, n, d, x);
 *   if (knng_create(&h, 0, 0, &e) || knng_borrow(h, &rows, NULL, &e) || knng_build(h, 10, NULL, &g, &e))
 *     fprintf(stderr, "%s\n", e.message);
 *   knng_matrix ids = knng_packed(KNNG_I64, 0, 0, NULL), distances = ids;
 *   if (g) knng_graph_view(g, &ids, &distances, NULL);
 *   // ids.data: int64_t, distances.data: float, both n x 10 and the graph's own
 *   knng_graph_destroy(g);
 *   knng_destroy(h);
 * @endcode
 *
 * Conventions that hold for every function:
 * - A new object goes to the parameter `out`, which is set to NULL on failure.
 * - A function that returns a ::knng_status returns KNNG_OK (0) or a negative code, and fills in its last parameter, a
 *   ::knng_error, unless that is NULL: what was wrong, naming the argument, its value and the limit. A failed or
 *   stopped call leaves handles, rows, graphs and files as they were. Arrays that a call copies into may be partly
 *   written.
 * - A pointer must not be NULL (KNNG_ERR_ARGUMENT) unless its description says that it may be. The destroy functions
 *   take NULL and do nothing.
 * - A call copies the structs and strings that it gets; only the memory that a matrix shows stays the caller's. A call
 *   that writes to a matrix changes its memory, not the struct. In every struct struct_size comes first, set by the
 *   caller.
 * - Texts are UTF-8 and end with 0. In arrays of a struct, a text that is too long is cut between two characters, and
 *   bytes of an argument that are not UTF-8 are shown as ?. Keys, words and rules must be written as they are here; the
 *   case of metric names does not matter. File names are the system's bytes. Text that a function shows by pointer is
 *   static unless its description says how long it lives.
 * - Objects belong to no thread: any thread may use and destroy them, one call at a time where the rules below ask for
 *   it. Nothing may use an object while or after it is destroyed.
 * - The library needs a 64-bit little-endian machine with IEEE 754 arithmetic. A host's floating-point state (rounding,
 *   flush to zero) has no influence and stays as it is.
 * - Counts, sizes and ids are int64_t. Ids count from 0 in the order in which rows were added.
 * - Calls that take a `const knng *` may run at the same time on one handle; any other call on that handle must run
 *   alone. Handles made by knng_share() are independent: each may be used, changed and destroyed while others are in
 *   use. Graphs and sparse forms never change after they are made: all their readers may run at the same time.
 * - After fork() the child may use the library, on CPUs only: CUDA does not survive it (KNNG_ERR_DEVICE).
 * - Names differ in more than case, and constants are int: languages without case or unsigned numbers can mirror them.
 * - Nothing is printed, no signal handler is installed, no thread outlives the call that made it.
 * - A thread must not end within a call: neither by pthread_cancel() nor by pthread_exit() or longjmp() in a callback. The
 *   process is aborted then, or what the call holds is lost. No exception may leave a callback: the process is aborted, or
 *   the call fails with KNNG_ERR_INTERNAL. End a call by knng_control.stop.
 */
#ifndef KNNG_H
#define KNNG_H

#include "knng/types.h"

#include "knng/error.h"
#include "knng/settings.h"

#include "knng/rows.h"

#include "knng/build.h"

#include "knng/graph.h"
#include "knng/sparse.h"

#endif
