/** @file rows.h
 * Rows of a data set. Include knng.h, not this file.
 */
#ifndef KNNG_ROWS_H
#define KNNG_ROWS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @addtogroup rows
 * @{ */

/** Copies rows into host memory of the data set; their ids continue after those already there. Runs on the calling
 * thread; control stops it. The first rows set dimension and dtype if knng_create() left them open; later rows must
 * have the same.
 * @param h    the handle
 * @param rows points x dimension; any strides, any memory
 * @param control progress and stop, or NULL
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_ARGUMENT for NULL, wrong dtype, dimension or struct size; KNNG_ERR_RANGE for counts that
 * are not positive, and for counts or strides whose product is beyond 63 bits; KNNG_ERR_DATA for NaN, infinity, an
 * integer beyond 2^53 in magnitude or a bool whose byte is neither 0 nor 1, with row and column (of this matrix);
 * KNNG_ERR_BUDGET if max_host_bytes does not hold the copy;
 * KNNG_ERR_UNSUPPORTED for CUDA memory or a stream where there is no CUDA device; KNNG_ERR_DEVICE; KNNG_ERR_CANCELLED;
 * KNNG_ERR_MEMORY. On failure the data set is as it was. @since 0.1 */
KNNG_API knng_status knng_add(knng *h, const knng_matrix *rows, const knng_control *control, knng_error *error);

/** Adds rows to the data set without copying them, from any memory. Rows on a device are read there by devices; calls
 * that work on the CPU copy them to the host for as long as the call takes. This call checks the values of the rows
 * and, on a device, hashes them (8 bytes a row of host memory, under max_host_bytes). The rows must neither change nor
 * go away until `release` is called or, without a `release`, until the last handle that shows them is destroyed or
 * never used again. knng_destroy() does not read them. Runs on the calling thread; control stops it.
 * @param h    the handle
 * @param rows as for knng_add(); `release(owner)` is called exactly once iff this call returns KNNG_OK, by the thread
 * that destroys the last handle that shows the rows, before knng_destroy() returns
 * @param control progress and stop, or NULL
 * @param error NULL, or filled in
 * @return as knng_add(). @since 0.1 */
KNNG_API knng_status knng_borrow(knng *h, const knng_matrix *rows, const knng_control *control, knng_error *error);

/** Adds all rows of a file. They are read into memory, in blocks; the file is not mapped. Rows stay in the
 * file instead if, with those already held, they would fill more than three quarters of max_host_bytes (without it: of
 * the machine's memory), and if they lie in the file as in memory (all formats but .gz, text, Fortran order,
 * big-endian, HDF5 in chunks or sparse). They are then read once now, and again by calls that need them. Such a file
 * stays open until the last handle that shows its rows is destroyed, and must not change; calls that read its rows fail
 * with KNNG_ERR_IO if it does. The suffix of the name says the format: .npy (NumPy, C or Fortran order, also
 * big-endian), -ubyte, .idx (IDX of unsigned bytes; more than two dimensions are flattened to points x the rest), .csv,
 * .tsv, .tab (text tables, perhaps with a header and names of rows, read as float64), each also with .gz behind it
 * (needs the formats library); .fvecs, .bvecs, .ivecs, .fbin, .u8bin, .i8bin, .ibin; .h5, .hdf5, .h5ad, .h5mu and .loom
 * (HDF5, AnnData, MuData, Loom; needs the HDF5 library), with a path in the file behind a colon, as in x.h5:a/b.
 * Suffixes may be in capitals. The page docs/guide/files.md describes the formats.
 * The rows of the file are the points, or its columns under file_points=columns.
 * @param h    the handle
 * @param path file name
 * @param control progress and stop, or NULL
 * @param error NULL, or filled in
 * @return as knng_add(), and KNNG_ERR_IO, KNNG_ERR_FORMAT, KNNG_ERR_CANCELLED; KNNG_ERR_UNSUPPORTED for a format that
 * this build does not read, with what to install where that helps. @since 0.1 */
KNNG_API knng_status knng_add_file(knng *h, const char *path, const knng_control *control, knng_error *error);

/** Tells what was read from a file whose name leaves that open, for people to check: "file" (the name that was
 * given); of an HDF5 file "matrix" (its path there) and "form" (how it is stored: "dense", "records", "csr", "csc",
 * "10x"); of a text table "header" and "row_names" (whether the first line and the first column were taken as such:
 * "yes" or "no") and "separator" ("commas", "semicolons", "tabs"). A text is "" where it goes without saying.
 * @param h    the handle
 * @param i    which file, from 0, in the order in which knng_add_file() added them
 * @param name which text
 * @param buf where the text goes, with its terminating 0; may be NULL if cap is 0
 * @param cap bytes of buf
 * @param[out] needed bytes needed, terminating 0 included, 0 past the last file; may be NULL
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_RANGE if cap is too small, or past the last file (argument is then "i", limit their
 * number); KNNG_ERR_OPTION for an unknown name (the known ones are listed); KNNG_ERR_ARGUMENT. @since 0.9 */
KNNG_API knng_status knng_file_text(const knng *h, int32_t i, const char *name, char *buf, int64_t cap,
                                    int64_t *needed, knng_error *error);

/** Size and type of the data set.
 * @param h the handle
 * @param[out] rows  number of rows; may be NULL
 * @param[out] dim   dimension, 0 while open; may be NULL
 * @param[out] dtype element type, 0 while open; may be NULL
 * @param error NULL, or filled in
 * @return KNNG_OK, KNNG_ERR_ARGUMENT. @since 0.1 */
KNNG_API knng_status knng_shape(const knng *h, int64_t *rows, int64_t *dim, int32_t *dtype, knng_error *error);

/** Copies rows back into the caller's memory, converted to its dtype.
 * @param h     the handle
 * @param first id of the first row wanted
 * @param dst   rows (how many), cols = dimension, dtype (any of the row types), strides and data of the caller's
 * memory, of any kind
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_RANGE for rows that do not exist, or a value that dst's dtype cannot hold (integers must be
 * met exactly, floating point is rounded to nearest but must stay finite), with the id of the row, and the column;
 * KNNG_ERR_ARGUMENT; KNNG_ERR_IO for rows that stay in a file that changed or cannot be read; KNNG_ERR_UNSUPPORTED and
 * KNNG_ERR_DEVICE as knng_add(). On failure dst may be partly written. @since 0.1 */
KNNG_API knng_status knng_read(const knng *h, int64_t first, knng_matrix *dst, knng_error *error);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
