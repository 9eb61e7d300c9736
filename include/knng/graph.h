/** @file graph.h
 * Neighbour graphs. Include knng.h, not this file.
 */
#ifndef KNNG_GRAPH_H
#define KNNG_GRAPH_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Makes a graph from another library's result, by copying it. Lists stay in the order in which they are given.
 * A graph whose ids are all below its number of rows counts as one of the rows among themselves, otherwise as one of
 * queries against max id + 1 columns. If it is one of the rows, has more than one column, and every row's first entry
 * is the row itself, it counts as made with self=first. Queries whose ids are all below their number are therefore taken
 * for rows: do not ask for sparse forms of them. Texts that cannot be known are "unknown".
 * @param[out] out the graph; NULL on failure
 * @param ids    rows x k neighbours, KNNG_I32 or KNNG_I64; -1 where a row is shorter (its value must be +inf then)
 * @param values rows x k distances, KNNG_F32 or KNNG_F64, not NaN; NULL: 0 for every neighbour
 * @return KNNG_OK; KNNG_ERR_ARGUMENT for shapes or dtypes; KNNG_ERR_DATA for an id below -1, a repeated id within a
 * row, a NaN, or a value other than +inf beside -1, with row and column; KNNG_ERR_RANGE for an id of 2^63 - 1;
 * KNNG_ERR_MEMORY. Thread safe. @since 0.1 */
KNNG_API knng_status knng_graph_import(knng_graph **out, const knng_matrix *ids, const knng_matrix *values);

/** Shows the graph's own arrays, packed row-major, valid until knng_graph_destroy(). Those of a graph that was made with
 * graph=device are in memory of a device, ready for any stream: space is KNNG_CUDA and device whose.
 * @param g the graph
 * @param ids    NULL, or filled in: rows x k, KNNG_I64 (k + 1 columns under self=first)
 * @param values NULL, or filled in: the same shape, KNNG_F32 or KNNG_F64; ascending for distances, descending for
 * similarities. Do not write to either.
 * @return KNNG_OK, KNNG_ERR_ARGUMENT. @since 0.1 */
KNNG_API knng_status knng_graph_view(const knng_graph *g, knng_matrix *ids, knng_matrix *values);

/** Copies the graph into the caller's memory. From a device to a device's memory nothing passes through the host.
 * @param g the graph
 * @param base   0 or 1: the first row's id; entries without a neighbour become base - 1
 * @param ids    NULL, or rows x k (k + 1 under self=first), KNNG_I16, KNNG_U16, KNNG_I32 or KNNG_I64, any strides
 * (column-major for Fortran, R, Julia)
 * @param values NULL, or the same shape, KNNG_F64, KNNG_F32, KNNG_F16 or KNNG_BF16, any strides; rounded to nearest
 * @return KNNG_OK; KNNG_ERR_RANGE for another base, or for an id or a finite value that the dtype cannot hold;
 * KNNG_ERR_ARGUMENT for another shape or dtype; KNNG_ERR_UNSUPPORTED and KNNG_ERR_DEVICE as knng_add(). On failure the memory may be
 * partly written. @since 0.1 */
KNNG_API knng_status knng_graph_copy(const knng_graph *g, int32_t base, knng_matrix *ids, knng_matrix *values);

/** Copies one number per row (or column) of the graph.
 * @param g    the graph
 * @param what "ties": 1 if a row that was not returned is exactly as far as the k-th neighbour, else 0;
 *   "proof": how the row was answered: 0 not proved (precision=fast, or imported), 1 proved after the filter, 2 after a
 *   redo with two-piece operands, 3 after a redo in fp32, 4 by canonical keys of all pairs;
 *   "indegree": in how many other rows' lists the row appears (hubness; as many entries as columns, for graphs of
 *   queries too);
 *   "component": number of its weakly connected component, from 0 in order of the smallest row; square graphs only
 * @param out  that many rows x 1, KNNG_I64, KNNG_I32, KNNG_U8 or any other integer type that holds the numbers
 * @return KNNG_OK; KNNG_ERR_OPTION for another word (the known ones are listed); KNNG_ERR_STATE for "component" of a
 * graph of queries; KNNG_ERR_ARGUMENT, KNNG_ERR_RANGE, KNNG_ERR_MEMORY. @since 0.1 */
KNNG_API knng_status knng_graph_rows(const knng_graph *g, const char *what, knng_matrix *out);

/** A statistic of the build as a number; knng_stat_name() lists them. Of an imported graph, and of one from a file of
 * another program, only rows and columns are known; the others are 0.
 * @param g    the graph
 * @param name which
 * @param[out] out the number
 * @return KNNG_OK; KNNG_ERR_OPTION for an unknown name (the known ones are listed); KNNG_ERR_ARGUMENT. @since 0.1 */
KNNG_API knng_status knng_graph_stat(const knng_graph *g, const char *name, double *out);

/** A text of the build: "metric" "p" "precision" "engine" "selector" "device" "version" "fingerprint" "value" "self".
 * p is the exponent of minkowski and "" for the other metrics.
 * fingerprint is a hash of the data: equal data give equal fingerprints on every machine, whatever their dtype. A graph
 * of queries has none: its fingerprint is "".
 * @param g    the graph
 * @param name which
 * @param buf, cap, needed as in knng_get()
 * @return KNNG_OK; KNNG_ERR_RANGE if cap is too small; KNNG_ERR_OPTION for an unknown name; KNNG_ERR_ARGUMENT.
 * @since 0.1 */
KNNG_API knng_status knng_graph_text(const knng_graph *g, const char *name, char *buf, int64_t cap, int64_t *needed);

/** Writes the graph to a file, beside its target first, then renamed: an interrupted call leaves no half file.
 * @param g      the graph
 * @param path   file name
 * @param format "knng" (keeps everything, with a checksum), "npz" (NumPy archive: indices int64, distances; needs the
 * formats library), or NULL: told by the suffix
 * @return KNNG_OK; KNNG_ERR_IO; KNNG_ERR_OPTION for an unknown format, or a suffix that tells none;
 * KNNG_ERR_UNSUPPORTED with what to install; KNNG_ERR_MEMORY. @since 0.1 */
KNNG_API knng_status knng_graph_save(const knng_graph *g, const char *path, const char *format);

/** Reads a graph that knng_graph_save() wrote, in either format. Everything is checked before it is believed.
 * @param[out] out the graph; NULL on failure
 * @param path file name
 * @return KNNG_OK, KNNG_ERR_IO, KNNG_ERR_FORMAT, KNNG_ERR_UNSUPPORTED, KNNG_ERR_MEMORY. @since 0.1 */
KNNG_API knng_status knng_graph_load(knng_graph **out, const char *path);

/** Destroys a graph; sparse forms made from it live on. Any thread may call it, once. Work on a device
 * that reads what knng_graph_view() has shown of the graph must be done before.
 * @param g the graph; NULL does nothing. @since 0.1 */
KNNG_API void knng_graph_destroy(knng_graph *g);

#ifdef __cplusplus
}
#endif
#endif
