/** @file sparse.h
 * Sparse matrices made from graphs. Include knng.h, not this file.
 */
#ifndef KNNG_SPARSE_H
#define KNNG_SPARSE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @addtogroup sparse
 * @{ */

/** Makes a sparse matrix from a graph. Entries are sorted by row, then column; a distance of 0 is an entry like any
 * other; entries without a neighbour (id -1) are left out.
 *
 * Rules:
 * - "directed": an entry (i, j) for every neighbour j of i, with the graph's value. Any graph.
 * - "union" = "union:mean", "union:max", "union:min", "union:product": (i, j) and (j, i) wherever i lists j or j lists
 *   i. If both do, the two values are combined (under a symmetric metric they are equal); if one does, its value
 *   stands.
 * - "union:probabilistic": the same pairs with a + b - a b, the probabilistic sum: of two values from 0 to 1 it is the
 *   probability that either holds if they are independent, and the union of fuzzy sets as UMAP makes it. If only one
 *   row lists the other, its value stands (b = 0).
 * - "mutual" = "mutual:mean", also ":max", ":min", ":product": only pairs that list each other.
 * - "snn:number", "snn:jaccard", "snn" = "snn:rank": shared nearest neighbours. A(i) is row i and its neighbours, row i
 *   having rank 0 and its j-th neighbour (itself not counted) rank j. (i, j), i != j, is an entry if A(i) and A(j)
 *   meet; its value is the size of what they share, that size over the size of their union, or k - r/2 with r the
 *   smallest sum of the two ranks over what they share (Xu and Su 2015), which is 0 for the weakest pairs.
 * All but "directed" need a square graph; self entries (self=first) stay in "directed" and are left out of the others.
 * @param g    the graph; not needed afterwards
 * @param rule as above
 * @param control progress, stop and byte limit (max_bytes: of the matrix and the work on it, including lists that come
 * from a device), or NULL. Under the rules "snn" the matrix can be large: a hub, a row that n lists name, adds up to
 * n x n entries
 * @param[out] out the matrix, to be given to knng_sparse_destroy(); NULL on failure
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_OPTION for another rule (the known ones are listed); KNNG_ERR_STATE for a graph of queries;
 * KNNG_ERR_RANGE for a combined value that the graph's value type cannot hold (":product"), with row and column;
 * KNNG_ERR_DATA for a value outside 0 to 1 (":probabilistic"), with row and column; KNNG_ERR_ARGUMENT; KNNG_ERR_BUDGET;
 * KNNG_ERR_CANCELLED; KNNG_ERR_MEMORY; KNNG_ERR_DEVICE for a graph in memory of a device that fails. @since 0.1 */
KNNG_API knng_status knng_graph_sparse(const knng_graph *g, const char *rule, const knng_control *control, knng_sparse **out,
                                       knng_error *error);

/** Shape of a sparse matrix.
 * @param s the matrix
 * @param[out] rows    may be NULL
 * @param[out] cols    may be NULL
 * @param[out] entries may be NULL
 * @param error NULL, or filled in
 * @return KNNG_OK, KNNG_ERR_ARGUMENT. @since 0.1 */
KNNG_API knng_status knng_sparse_shape(const knng_sparse *s, int64_t *rows, int64_t *cols, int64_t *entries,
                                       knng_error *error);

/** Shows the matrix as CSR (indptr, col, value) and COO (row, col, value), valid until knng_sparse_destroy().
 * @param s the matrix
 * @param indptr NULL, or filled in: rows + 1 x 1, KNNG_I64
 * @param row    NULL, or filled in: entries x 1, KNNG_I64
 * @param col    NULL, or filled in: entries x 1, KNNG_I64
 * @param value  NULL, or filled in: entries x 1, the graph's value type (KNNG_F64 for snn)
 * @param error NULL, or filled in
 * @return KNNG_OK, KNNG_ERR_ARGUMENT. @since 0.1 */
KNNG_API knng_status knng_sparse_view(const knng_sparse *s, knng_matrix *indptr, knng_matrix *row, knng_matrix *col,
                                      knng_matrix *value, knng_error *error);

/** Copies the matrix into the caller's memory, as CSR (indptr, col, value), COO (row, col, value), or any of them. It
 * is symmetric for every rule but "directed": its CSR is then also its CSC.
 * @param s the matrix
 * @param base 0 or 1: what rows, columns and indptr count from
 * @param indptr NULL, or rows + 1 x 1, KNNG_I32 or KNNG_I64, any stride, any memory
 * @param row    NULL, or entries x 1, likewise
 * @param col    NULL, or entries x 1, likewise
 * @param value  NULL, or entries x 1, KNNG_F64 or KNNG_F32, any stride; rounded to nearest. Where there are no entries
 * row, col and value may have 0 rows, and are left as they are
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_RANGE for another base, and for a number or a finite value that the dtype cannot hold;
 * KNNG_ERR_ARGUMENT for another shape or dtype; KNNG_ERR_UNSUPPORTED and KNNG_ERR_DEVICE as knng_add(). On failure the
 * memory may be partly written. @since 0.1 */
KNNG_API knng_status knng_sparse_copy(const knng_sparse *s, int32_t base, knng_matrix *indptr, knng_matrix *row,
                                      knng_matrix *col, knng_matrix *value, knng_error *error);

/** Destroys a sparse matrix. Any thread may call it, once.
 * @param s the matrix; NULL does nothing. @since 0.1 */
KNNG_API void knng_sparse_destroy(knng_sparse *s);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
