/* The seam between libknng and libknng_hdf5.so, as formats_seam.h is that to the formats library: the same rules, the
 * same input and errors, and both sides carry the hash of the two headers (KNNG_HDF5_BUILD_ID). Calls may come from any
 * thread; libhdf5 sees one of them at a time. Not part of the public API. */
#ifndef KNNG_IO_HDF5_SEAM_H
#define KNNG_IO_HDF5_SEAM_H

#include <stdint.h>

#include "io/formats_seam.h"

#define KNNG_HDF5_SEAM_VERSION 2u
#define KNNG_HDF5_FILE "libknng_hdf5.so"
#define KNNG_HDF5_ENTRY "knng_hdf5_entry"

#ifdef __cplusplus
extern "C" {
#endif

/* A data set of one dimension (cols is 1) or two. */
typedef struct knng_hdf5_array {
  int32_t dtype; /* as in knng/types.h */
  int64_t rows;
  int64_t cols;
  int64_t at;           /* byte of the file from which on the rows lie as in memory; -1: they do not */
  int64_t rows_at_once; /* rows that are unpacked together, and best read together; 1: all the same */
  int64_t unpack_bytes; /* that libhdf5 takes to unpack a chunk */
} knng_hdf5_array;

/* Of a sparse matrix by rows values, columns and firsts have one dimension: row i has the values firsts[i] to
 * firsts[i + 1] - 1. Of others VALUES is all. */
enum { KNNG_HDF5_VALUES = 0, KNNG_HDF5_COLUMNS = 1, KNNG_HDF5_FIRSTS = 2 };

/* How a matrix is in the file: as a data set; as a member of records; sparse, by rows (CSR), by columns (CSC: what
 * comes through the seam is its transpose, by rows), or as 10x Genomics writes it: genes x barcodes by columns, of
 * which the barcodes are the rows here. */
enum { KNNG_HDF5_DENSE = 0, KNNG_HDF5_RECORDS = 1, KNNG_HDF5_CSR = 2, KNNG_HDF5_CSC = 3, KNNG_HDF5_10X = 4 };

typedef struct knng_hdf5_shape {
  const char* path; /* in the file; owned by the matrix */
  int64_t rows;
  int64_t cols;
  int32_t form;
  knng_hdf5_array array[3];
} knng_hdf5_shape;

/* Which one is wanted where no path is given: the only one there is, or what AnnData has first. */
enum { KNNG_HDF5_ONLY = 0, KNNG_HDF5_ANNDATA = 1 };

typedef struct knng_hdf5_matrix knng_hdf5_matrix;

/* What knng_hdf5_entry() returns; static. The first three members never move. */
typedef struct knng_hdf5_seam {
  uint32_t struct_size;
  uint32_t version;
  const char* build_id;
  /* path: in the file, or NULL. */
  int32_t (*open)(knng_hdf5_matrix** out, knng_hdf5_shape* shape, const knng_formats_input* input, const char* path,
                  int32_t otherwise, knng_formats_error* error);
  /* Rows of an array as they are stored, in native byte order. */
  int32_t (*read)(knng_hdf5_matrix* matrix, int32_t array, int64_t first, int64_t count, void* dst,
                  knng_formats_error* error);
  void (*close)(knng_hdf5_matrix* matrix);
} knng_hdf5_seam;

#ifdef __cplusplus
}
#endif
#endif
