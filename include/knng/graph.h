/** @file graph.h
 * Neighbour graphs. Include knng.h, not this file.
 */
#ifndef KNNG_GRAPH_H
#define KNNG_GRAPH_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @addtogroup graph
 * @{ */

/** Makes a graph from another library's result, by copying it. Lists stay in the order in which they are given. If rows
 * and columns are the same points, there is more than one column of ids, and every row's first entry is the row itself,
 * the graph counts as made with self=first. Texts that cannot be known are "unknown"; the text
 * value is "distance" until knng_graph_describe() says otherwise.
 * @param[out] out the graph; NULL on failure
 * @param ids    rows x k neighbours, KNNG_I32 or KNNG_I64, any strides; base - 1 where a row is shorter
 * @param values rows x k distances, KNNG_F32 or KNNG_F64, not NaN, +inf where there is no neighbour; NULL: 0 for every
 * neighbour, +inf where there is none, as KNNG_F32. Their type becomes the graph's
 * @param base    0 or 1: what ids count from. The graph's own count from 0
 * @param columns number of points that could be neighbours: ids are in base - 1 to base + columns - 1
 * @param same_points 1: row i and the neighbour of that number are the same point, and columns is the number of rows;
 * 0: the rows are queries
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_ARGUMENT for shapes or dtypes, or a same_points that is neither 0 nor 1; KNNG_ERR_RANGE for
 * another base, and for columns that are not positive, or not the number of rows where they must be; KNNG_ERR_DATA for
 * an id out of its range, a repeated id within a row, a NaN, or a value other than +inf beside base - 1, with row and
 * column; KNNG_ERR_MEMORY. Thread safe. @since 0.1 */
KNNG_API knng_status knng_graph_import(knng_graph **out, const knng_matrix *ids, const knng_matrix *values,
                                       int32_t base, int64_t columns, int32_t same_points, knng_error *error);

/** Tells an imported graph what is known of it beside its lists, such as its metric. knng_graph_text() and
 * knng_graph_stat() then report it, and files keep it. Use it for results of other libraries, and in programs that hold
 * graphs in arrays of their own. It compares nothing with data; knng_check() does that.
 * @param g     a graph from knng_graph_import() whose text "version" is still "unknown"; no other thread may use it
 * meanwhile
 * @param facts lines of name=value, each ended by a line feed, as graph files have them (docs/internals/graph-file.md):
 * text.metric=cosine and the other texts of knng_graph_text(), stat.duplicates=3 and the other statistics. What is not
 * named stays as it is, at first not known. Names that this version does not know are ignored, as a later one may have
 * them; those that look like a known one with a mistake are refused, as text.metrc=cosine and metric=cosine. No value may be NaN
 * @param ties  NULL, or rows x 1 of KNNG_U8: as knng_graph_rows() gives "ties". The statistic ties_at_k is their sum
 * @param proof NULL, or the same: as it gives "proof". The statistic proved is the number of rows that have one
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_OPTION for a metric, p or value that the settings of these names do not take; KNNG_ERR_DATA
 * for a line that is none, such a name, a text with a control character, a p beside another metric than minkowski, a value
 * similarity beside a metric that has none, a self that the lists contradict, a statistic that such a graph cannot have, and marks that do not exist or contradict the statistics; KNNG_ERR_STATE for a graph whose version is known;
 * KNNG_ERR_ARGUMENT; KNNG_ERR_MEMORY. After a failure the graph is what it was. @since 0.9 */
KNNG_API knng_status knng_graph_describe(knng_graph *g, const char *facts, const knng_matrix *ties,
                                         const knng_matrix *proof, knng_error *error);

/** Shape of a graph.
 * @param g the graph
 * @param[out] rows    points that have a list; may be NULL
 * @param[out] columns points that could be neighbours: the rows of the data set; may be NULL
 * @param[out] width   entries of a list: k, or k + 1 under self=first; may be NULL
 * @param[out] same_points 1: rows and columns are the same points (a build), 0: the rows are queries; may be NULL
 * @param error NULL, or filled in
 * @return KNNG_OK, KNNG_ERR_ARGUMENT. @since 0.1 */
KNNG_API knng_status knng_graph_shape(const knng_graph *g, int64_t *rows, int64_t *columns, int64_t *width,
                                      int32_t *same_points, knng_error *error);

/** Shows the graph's own arrays, packed row-major, valid until knng_graph_destroy(). If the graph was made
 * with graph=device, they are in memory of a device, ready for any stream: space is KNNG_CUDA and device its number.
 * @param g the graph
 * @param ids    NULL, or filled in: rows x k, KNNG_I64 (k + 1 columns under self=first); -1 where there is no
 * neighbour, as only imported graphs have it
 * @param values NULL, or filled in: the same shape, KNNG_F32 or KNNG_F64 (setting value_type); ascending for distances,
 * descending for similarities, of an imported graph in the order in which they were given; +inf where there is no
 * neighbour. Do not write to either.
 * @param error NULL, or filled in
 * @return KNNG_OK, KNNG_ERR_ARGUMENT. @since 0.1 */
KNNG_API knng_status knng_graph_view(const knng_graph *g, knng_matrix *ids, knng_matrix *values, knng_error *error);

/** Copies the graph into the caller's memory. From a device to a device's memory nothing passes through the host.
 * @param g the graph
 * @param base   0 or 1: the first row's id; entries without a neighbour become base - 1
 * @param ids    NULL, or rows x k (k + 1 under self=first), KNNG_I16, KNNG_U16, KNNG_I32 or KNNG_I64, any strides
 * (column-major for Fortran, R, Julia)
 * @param values NULL, or the same shape, KNNG_F64, KNNG_F32, KNNG_F16 or KNNG_BF16, any strides; rounded to nearest
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_RANGE for another base, or for an id or a finite value that the dtype cannot hold;
 * KNNG_ERR_ARGUMENT for another shape or dtype; KNNG_ERR_UNSUPPORTED and KNNG_ERR_DEVICE as knng_add(). On failure the
 * memory may be partly written. @since 0.1 */
KNNG_API knng_status knng_graph_copy(const knng_graph *g, int32_t base, knng_matrix *ids, knng_matrix *values,
                                     knng_error *error);

/** Copies one number per row (or column) of the graph.
 * @param g    the graph
 * @param what "ties": 1 if a row that was not returned is exactly as far as the k-th neighbour, else 0; known if
 *   the graph's statistic ties_at_k is;
 *   "proof": how the row was answered: 0 not proved (an imported graph), 1 proved after the filter, 2 after a
 *   redo with two-piece operands, 3 after a redo in fp32, 4 by canonical keys, of all pairs
 *   or of those that a proved bound leaves;
 *   "indegree": in how many other rows' lists the row appears (hubness; as many entries as columns, for graphs of
 *   queries too);
 *   "component": number of its weakly connected component, from 0 in order of the smallest row; square graphs only
 * @param out  that many rows x 1, KNNG_I64, KNNG_I32, KNNG_U8 or any other integer type that holds the numbers; any
 * strides, in memory of the host or of a device
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_OPTION for another word (the known ones are listed); KNNG_ERR_STATE for "component" of a
 * graph of queries and for "ties" that are not known; KNNG_ERR_ARGUMENT, KNNG_ERR_RANGE, KNNG_ERR_MEMORY;
 * KNNG_ERR_UNSUPPORTED and KNNG_ERR_DEVICE as knng_add(). @since 0.1 */
KNNG_API knng_status knng_graph_rows(const knng_graph *g, const char *what, knng_matrix *out, knng_error *error);

/** A statistic of the build as a number; knng_stat_name() lists them. One that is not known is NaN. Not known are:
 * all but rows and columns of a graph that was imported or comes from a file of another program, unless
 * knng_graph_describe() told them; duplicates of a graph of queries; and what a file of an older version did not have.
 * @param g    the graph
 * @param name which
 * @param[out] out the number, NaN if it is not known; counts are exact up to 2^53
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_OPTION for an unknown name (the known ones are listed); KNNG_ERR_ARGUMENT. @since 0.1 */
KNNG_API knng_status knng_graph_stat(const knng_graph *g, const char *name, double *out, knng_error *error);

/** A text of the build: "metric" "p" "precision" "engine" "selector" "device" "version" "fingerprint" "value" "self".
 * p is the exponent of minkowski and "" for the other metrics.
 * fingerprint is a hash of the data: equal data give equal fingerprints on every machine, whatever their dtype. A graph
 * of queries has none: its fingerprint is "".
 * @param g    the graph
 * @param name which
 * @param buf where the text goes, with its terminating 0; may be NULL if cap is 0
 * @param cap bytes of buf
 * @param[out] needed bytes needed, terminating 0 included; may be NULL
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_RANGE if cap is too small; KNNG_ERR_OPTION for an unknown name; KNNG_ERR_ARGUMENT.
 * @since 0.1 */
KNNG_API knng_status knng_graph_text(const knng_graph *g, const char *name, char *buf, int64_t cap, int64_t *needed,
                                     knng_error *error);

/** Writes the graph to a file, beside its target first, then renamed: an interrupted call leaves no half file. An
 * existing file is replaced if it is empty or a graph of any of these formats; under "ivecs" and "ibin", if both files
 * exist, with the same counts. Any other file may be data and stays: KNNG_ERR_IO.
 * @param g      the graph
 * @param path   file name
 * @param format "knng" (keeps everything, with a checksum); "npz" (NumPy archive: indices int64, distances; needs the
 * formats library); for other programs, and not read again, "mtx" (Matrix Market, counted from 1), "tsv" (source, target,
 * weight, counted from 0), "ivecs" and "ibin" (int32 ids, and values as float32 in a second file, whose suffix has an f
 * in place of the i; the path has to end in that of the format); or NULL: by the suffix of the path, in small letters or
 * capitals
 * @param control progress, stop and byte limit (max_bytes: of the work, 256 KiB at most, and lists that come from a
 * device), or NULL. If it is stopped, it leaves no file. With a stop flag that is set from the beginning it only
 * finds out whether the file could be written: KNNG_ERR_CANCELLED
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_IO; KNNG_ERR_OPTION for an unknown format, or a suffix that tells none;
 * KNNG_ERR_UNSUPPORTED with what to install; KNNG_ERR_RANGE for more points than int32 ids name, or a value that float32
 * cannot hold, in formats that have no other; KNNG_ERR_ARGUMENT; KNNG_ERR_BUDGET; KNNG_ERR_CANCELLED; KNNG_ERR_MEMORY;
 * KNNG_ERR_DEVICE for a graph whose lists are on a device. @since 0.1 */
KNNG_API knng_status knng_graph_save(const knng_graph *g, const char *path, const char *format, const knng_control *control,
                                     knng_error *error);

/** Reads a graph that knng_graph_save() wrote as "knng" or "npz". Everything is checked before it is believed.
 * @param[out] out the graph; NULL on failure
 * @param path file name
 * @param control progress, stop and byte limit (max_bytes: of the graph and the work on it), or NULL
 * @param error NULL, or filled in
 * @return KNNG_OK, KNNG_ERR_IO, KNNG_ERR_FORMAT, KNNG_ERR_UNSUPPORTED, KNNG_ERR_BUDGET, KNNG_ERR_CANCELLED,
 * KNNG_ERR_MEMORY. Thread safe. @since 0.1 */
KNNG_API knng_status knng_graph_load(knng_graph **out, const char *path, const knng_control *control, knng_error *error);

/** Destroys a graph; sparse forms made from it live on. Any thread may call it, once. Work on a device
 * that reads what knng_graph_view() has shown of the graph must be done before.
 * @param g the graph; NULL does nothing. @since 0.1 */
KNNG_API void knng_graph_destroy(knng_graph *g);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
