/** @file build.h
 * Building, querying, checking. Include knng.h, not this file.
 */
#ifndef KNNG_BUILD_H
#define KNNG_BUILD_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @addtogroup build
 * @{ */

/** Plans a build or a query without running it: memory, tiles, devices.
 * @param h  handle with rows
 * @param nq number of query rows; 0 plans a build. On the CPU the plan holds for queries of any type, on devices for
 * queries of the rows' own type
 * @param k  neighbours per row
 * @param out written; struct_size set by the caller
 * @param error NULL, or filled in
 * @return as knng_build() for what is known beforehand, but a budget that is too small is not an error here: compare
 * smallest_host. Returns at once. @since 0.1 */
KNNG_API knng_status knng_estimate(const knng *h, int64_t nq, int64_t k, knng_plan *out, knng_error *error);

/** Builds the exact k-nearest-neighbour graph of all rows.
 *
 * Row i's neighbours are the k other rows with the smallest (key, id), in that order, where the key is the metric in
 * fp64 in one fixed order of operations: ids and distances are the same bits on any device, with any number of threads
 * and any tile size. The order is that of the keys, before a root is taken or a value is rounded: two neighbours whose
 * reported values are equal need not be in order of id. Blocks until done; control stops it earlier.
 * @param h handle with at least k + 1 rows; not changed
 * @param k neighbours per row, itself not counted, 1 to rows - 1
 * @param control progress, log and stop, or NULL
 * @param[out] out the graph, to be given to knng_graph_destroy(); NULL on failure
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_STATE without rows; KNNG_ERR_RANGE if k does not fit (both numbers in the message), or a
 * distance is finite but too large for fp32 (set value_type=f64); KNNG_ERR_OPTION for settings that contradict each
 * other; KNNG_ERR_DATA for rows that the metric cannot take; KNNG_ERR_BUDGET; KNNG_ERR_MEMORY; KNNG_ERR_CANCELLED;
 * KNNG_ERR_UNSUPPORTED for an engine that cannot do the metric or the dimension; KNNG_ERR_DEVICE; KNNG_ERR_IO for rows that stay in a file that changed or cannot be read;
 * KNNG_ERR_CHECK for a list that was wrong when it was checked, KNNG_ERR_INTERNAL for a bound that did not hold:
 * defects of the library, a compiler or the hardware, please report them. @since 0.1 */
KNNG_API knng_status knng_build(const knng *h, int64_t k, const knng_control *control, knng_graph **out, knng_error *error);

/** Finds, for every query row, its k nearest rows of the data set. The setting self has no effect here: a row of the
 * data set that equals the query is found like any other, unless leave_out names it. Blocks until done; control stops
 * it earlier.
 * @param h handle with at least k rows (k + 1 with leave_out)
 * @param q query rows: dimension as h's, any of the row types, any strides, any memory; read during the call only
 * @param leave_out NULL, or q->rows x 1, KNNG_I32 or KNNG_I64, any strides, any memory: the id of the row that query i
 * must not return, base - 1 for none; read during the call only
 * @param base 0 or 1: what the ids in leave_out count from; not used if leave_out is NULL
 * @param k neighbours per query
 * @param control progress, log and stop, or NULL
 * @param[out] out the graph; its rows are the queries; NULL on failure
 * @param error NULL, or filled in
 * @return as knng_build(); KNNG_ERR_ARGUMENT for query rows of another dimension, and for a leave_out of another shape
 * or dtype; KNNG_ERR_RANGE for another base, and for an id in leave_out that is not in base - 1 to base + rows - 1 (the
 * error's row: which query; its given and limit count from base). @since 0.1 */
KNNG_API knng_status knng_query(const knng *h, const knng_matrix *q, const knng_matrix *leave_out, int32_t base,
                                int64_t k, const knng_control *control, knng_graph **out, knng_error *error);

/** As knng_query(), with the query rows read from a file in any format that knng_add_file() reads.
 * @param h    handle with at least k rows; not changed
 * @param path file name; the rows' dimension is h's, their dtype any of the row types
 * @param k    neighbours per query
 * @param control progress, log and stop, or NULL
 * @param[out] out the graph; its rows are the queries; NULL on failure
 * @param error NULL, or filled in
 * @return as knng_query(), and KNNG_ERR_IO, KNNG_ERR_FORMAT and KNNG_ERR_UNSUPPORTED as knng_add_file(). @since 0.1 */
KNNG_API knng_status knng_query_file(const knng *h, const char *path, int64_t k, const knng_control *control,
                                     knng_graph **out, knng_error *error);

/** Compares the ids and bits of a graph of all of h's rows with a plain fp64 evaluation of the canonical keys, under
 * h's settings metric, p, self and value. The graph may come from anywhere: files, other libraries, other machines.
 * @param h      handle with the rows from which the graph is said to come
 * @param g      a graph with as many rows as h
 * @param sample how many rows to check, spread evenly; 0, or more than there are: all; negative: KNNG_ERR_RANGE
 * @param control progress, log (a warning if the graph was made with other settings; how many rows differ, and how the
 * first one does) and stop, or NULL
 * @param[out] first_wrong the first row, among those checked, that differs; -1: none does. Set only if the call
 * returns KNNG_OK
 * @param error NULL, or filled in
 * @return KNNG_OK whether or not a row differs; KNNG_ERR_ARGUMENT for a graph of another shape; others as knng_build().
 * @since 0.1 */
KNNG_API knng_status knng_check(const knng *h, const knng_graph *g, int64_t sample, const knng_control *control,
                                int64_t *first_wrong, knng_error *error);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
