/** @file sparse.h
 * Sparse matrices made from graphs. Include knng.h, not this file.
 */
#ifndef KNNG_SPARSE_H
#define KNNG_SPARSE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

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
 * @param[out] out the matrix, to be given to knng_sparse_destroy(); NULL on failure
 * @return KNNG_OK; KNNG_ERR_OPTION for another rule (the known ones are listed); KNNG_ERR_STATE for a graph of queries;
 * KNNG_ERR_RANGE for a combined value that the graph's value type cannot hold (":product"), with row and column;
 * KNNG_ERR_DATA for a value outside 0 to 1 (":probabilistic"), with row and column; KNNG_ERR_ARGUMENT;
 * KNNG_ERR_MEMORY. @since 0.1 */
KNNG_API knng_status knng_graph_sparse(const knng_graph *g, const char *rule, knng_sparse **out);

/** Shows the matrix as CSR (indptr, col, value) and COO (row, col, value), valid until knng_sparse_destroy().
 * @param s the matrix
 * @param indptr NULL, or filled in: rows + 1 x 1, KNNG_I64
 * @param row    NULL, or filled in: entries x 1, KNNG_I64
 * @param col    NULL, or filled in: entries x 1, KNNG_I64
 * @param value  NULL, or filled in: entries x 1, the graph's value type (KNNG_F64 for snn)
 * @return KNNG_OK, KNNG_ERR_ARGUMENT. @since 0.1 */
KNNG_API knng_status knng_sparse_view(const knng_sparse *s, knng_matrix *indptr, knng_matrix *row, knng_matrix *col,
                                      knng_matrix *value);

/** Destroys a sparse matrix. Any thread may call it, once.
 * @param s the matrix; NULL does nothing. @since 0.1 */
KNNG_API void knng_sparse_destroy(knng_sparse *s);

#ifdef __cplusplus
}
#endif
#endif
