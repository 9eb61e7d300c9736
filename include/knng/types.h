/** @file types.h
 * Types, codes and structs shared by all of knng.h. Include knng.h, not this file.
 */
#ifndef KNNG_TYPES_H
#define KNNG_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @addtogroup types
 * @{ */

/** Version of this header: major << 16 | minor << 8 | patch. knng_version() gives the library's. */
#define KNNG_HEADER_VERSION 0x000900

/** Marks what the shared library exports. */
#if defined(__GNUC__)
#define KNNG_API __attribute__((visibility("default")))
#else
#define KNNG_API
#endif

/** A data set (its rows, or views of them) together with settings. */
typedef struct knng knng;
/** A neighbour graph. Owns all that it shows; needs neither the handle nor the rows it came from. */
typedef struct knng_graph knng_graph;
/** A sparse matrix (CSR and COO at once) made from a graph. */
typedef struct knng_sparse knng_sparse;

/** KNNG_OK or one of the negative codes below. */
typedef int32_t knng_status;

/** Status codes. They are never renumbered; the list may grow. These constants and those below are int on every
 * compiler (each list has a negative member), so that they compare with int32_t without a conversion. */
enum {
  KNNG_OK = 0,               /**< done */
  KNNG_ERR_ARGUMENT = -1,    /**< a null pointer, a wrong struct size, a shape or dtype that does not fit */
  KNNG_ERR_RANGE = -2,       /**< a number outside its limits: k, a count, a value that the wanted dtype cannot hold */
  KNNG_ERR_OPTION = -3,      /**< an unknown setting or statistic, or a value that the setting does not take */
  KNNG_ERR_DATA = -4,        /**< NaN, infinity, integers beyond 2^53, values that the metric does not take */
  KNNG_ERR_STATE = -5,       /**< the object is not ready for this call, e.g. it has no rows yet */
  KNNG_ERR_MEMORY = -6,      /**< the system had no memory, or no thread, left; or others took a GPU's memory during the call */
  KNNG_ERR_BUDGET = -7,      /**< max_host_bytes, max_device_bytes or max_bytes is too small; the error's limit is the
                                  smallest that is known to be needed */
  KNNG_ERR_CANCELLED = -8,   /**< stopped by the stop flag or by the progress callback */
  KNNG_ERR_IO = -9,          /**< a file could not be opened, read or written */
  KNNG_ERR_FORMAT = -10,     /**< a file is not what its format asks for: hostile, truncated or of another kind */
  KNNG_ERR_UNSUPPORTED = -11,/**< valid, but not available in this build or version */
  KNNG_ERR_DEVICE = -12,     /**< a GPU failed, is not usable, or has too little free memory */
  KNNG_ERR_INTERNAL = -13,   /**< a defect of the library: please report it */
  KNNG_ERR_CHECK = -14       /**< a row was found wrong when it was checked (check_rows): please report it */
};

/** Element types, numbered as in DLPack: type code << 8 | bits. Rows may have any of them: distances are computed from
 * their values as binary64, which must hold them exactly, so integers may go from -2^53 to 2^53. Functions that write
 * ids, values or numbers per row say which types they write. */
enum {
  KNNG_NO_DTYPE = -1, /**< no element type: no function takes it */
  KNNG_I8 = 0x008,    /**< int8_t */
  KNNG_I16 = 0x010,   /**< int16_t */
  KNNG_I32 = 0x020,   /**< int32_t */
  KNNG_I64 = 0x040,   /**< int64_t; in rows -2^53 to 2^53 */
  KNNG_U8 = 0x108,    /**< uint8_t */
  KNNG_U16 = 0x110,   /**< uint16_t */
  KNNG_U32 = 0x120,   /**< uint32_t */
  KNNG_U64 = 0x140,   /**< uint64_t; in rows at most 2^53 */
  KNNG_F16 = 0x210,   /**< IEEE binary16 */
  KNNG_F32 = 0x220,   /**< IEEE binary32, float */
  KNNG_F64 = 0x240,   /**< IEEE binary64, double */
  KNNG_BF16 = 0x410,  /**< bfloat16: the upper half of a binary32 */
  KNNG_BOOL = 0x608   /**< a byte that is 0 or 1, as C's _Bool and NumPy's bool */
};

/** Where memory is, numbered as in DLPack. Every matrix may be in any of them. KNNG_HOST and KNNG_PINNED are not
 * checked. KNNG_CUDA and KNNG_MANAGED are compared with what CUDA says of the address; either name is accepted for both
 * kinds. */
enum {
  KNNG_NO_SPACE = -1, /**< no memory: no function takes it */
  KNNG_ANY = 0,     /**< found out by asking the backends that are loaded already; host memory otherwise */
  KNNG_HOST = 1,    /**< ordinary host memory */
  KNNG_CUDA = 2,    /**< device memory of the CUDA device knng_matrix.device */
  KNNG_PINNED = 3,  /**< page-locked host memory */
  KNNG_MANAGED = 13 /**< CUDA managed memory */
};

/** A view of the caller's matrix, read or written by the library.
 *
 * struct_size is set by the caller to sizeof(knng_matrix), as in every struct here. A struct of an older or newer
 * header is fine: bytes that the library does not know must be 0 in input (else KNNG_ERR_UNSUPPORTED), and of an
 * output struct only the part that both know is written. knng_packed() describes packed host memory.
 *
 * Strides may be negative. Elements of an input may overlap, as in sliding windows; those of an output must not, nor may outputs of
 * one call share memory. If both strides are 0, rows are packed. Otherwise neither may be 0 (KNNG_ERR_ARGUMENT), except the stride of a direction
 * with one element, which is not looked at.
 *
 * A call works with a matrix after what is in `stream` when the call is made. It waits for that, never for a whole
 * device, and has read or written the matrix when it returns, except for rows that are borrowed.
 *
 * A matrix has at least one row and one column (KNNG_ERR_RANGE), and data is aligned to its elements
 * (KNNG_ERR_ARGUMENT). struct_size must reach to `release` at least; members beyond it then count as 0. A function that
 * does not borrow does not look at release and owner.
 *
 * As an output that shows memory (the view functions) all members but struct_size are set by the library, whatever they
 * were: packed rows (row_stride cols, col_stride 1), 64-byte aligned, with rows 0 for a sparse matrix without entries.
 * As an output that is written to (the copy functions) they describe the caller's memory.
 */
typedef struct knng_matrix {
  uint32_t struct_size; /**< sizeof(knng_matrix) */
  int32_t dtype;        /**< KNNG_F32, ... */
  int32_t space;        /**< KNNG_HOST, ... */
  int32_t device;       /**< number of the device for device memory; not looked at for the host's */
  int64_t rows;         /**< number of points */
  int64_t cols;         /**< dimension of a point */
  int64_t row_stride;   /**< elements from a row to the next; both strides 0: packed, row-major */
  int64_t col_stride;   /**< elements from a column to the next */
  uint64_t stream;      /**< CUDA stream after which the data is ready; 0: it is ready now; as in DLPack 1 is the
                             device's legacy default stream and 2 the thread's */
  void *data;           /**< element (0, 0) */
  void (*release)(void *owner); /**< knng_borrow only: called once, and only if knng_borrow returned KNNG_OK: within
                                     knng_destroy() of the last handle that shows the rows, by the thread that calls it */
  void *owner;                  /**< argument of release */
} knng_matrix;

/** How a long call reports and how it is stopped. Pass NULL where none is wanted.
 *
 * Callbacks run on the calling thread, and must return: no longjmp, no exception, no pthread_exit(). They may call
 * knng functions; on the handle at work, only if both calls take it as `const knng *`. The struct is copied when the
 * call begins; what user and stop point to is used until the call returns.
 */
typedef struct knng_control {
  uint32_t struct_size; /**< sizeof(knng_control) */
  uint32_t interval_ms; /**< time aimed at between two calls of progress; 0: 100 ms */
  /** Called with the stage's name, such as "distances", and with how much of its work is done, in units that are only
   * good for a ratio (total may be 0). The name is for people: names may change between versions, and the text lasts as
   * long as the call that reports. A stage that is over quickly may not be seen, and the last call for a stage may come
   * before its end. A nonzero result stops the call with KNNG_ERR_CANCELLED; progress is then not called again. */
  int32_t (*progress)(void *user, const char *stage, double done, double total);
  /** Called with one line of text without a newline, which lasts until the callback returns; level: 1, a
   * warning; 0 is kept for information, of which there is none yet. Both callbacks must return: one that throws, jumps out of its frame or ends its thread ends the
   * process. */
  void (*log)(void *user, int32_t level, const char *text);
  void *user;                   /**< first argument of both */
  /** Polled by threads of the library; nonzero stops the call, within a part of a second as a rule. A
   * signal handler or another thread may set it, also by a relaxed atomic store. Must outlive the call. Arguments are
   * checked first: what is wrong with them comes before KNNG_ERR_CANCELLED. */
  const volatile int32_t *stop;
  /** Most host memory that a call without a handle may take (sparse forms, save, load); 0: no limit. If it is too
   * small, the error's limit is what was needed up to there: more may be needed. Must be 0 for calls with a handle
   * (KNNG_ERR_ARGUMENT): these have the setting max_host_bytes. */
  int64_t max_bytes;
} knng_control;

/** Why a call failed, filled in by the call: every function that returns a knng_status takes a pointer to one, or NULL.
 * struct_size is set by the caller, as knng_no_error() does; one that is not set, or too small for the first two
 * members, makes the call return KNNG_ERR_ARGUMENT and do nothing but set `out` to NULL. A call that succeeds sets code
 * to KNNG_OK, the numbers to -1 and the texts to "". Rows and columns count from 0 in what the argument shows: data,
 * queries, lists or a matrix of the caller's; -1 where the failure has none. For a distance that does not fit, they are
 * its row and place in the graph. */
typedef struct knng_error {
  uint32_t struct_size; /**< sizeof(knng_error) */
  knng_status code;     /**< what the call returned */
  int64_t row;          /**< row at fault, or -1 */
  int64_t col;          /**< column at fault, or -1 */
  int64_t given;        /**< the number that was given; -1 also if it was no number */
  int64_t limit;        /**< the nearest number that would do; or -1 if there is none, or it is not known */
  char argument[32];    /**< name of the parameter at fault (or whose member is), or of the setting whose value is; or "" */
  char message[480];    /**< one line of UTF-8: the reason, then row and column, if there are any, counted from 0 */
  char reason[416];     /**< the same without row and column, for languages that count from 1 */
} knng_error;

/** A setting, as shown by knng_option_get(). All strings are static. */
typedef struct knng_option {
  uint32_t struct_size; /**< sizeof(knng_option) */
  int32_t type;         /**< 0: a word of range; KNNG_I64: integer, for bytes also "4GiB"; KNNG_F64: real number; or
                             a word, such as auto, where range has one */
  const char *name;     /**< key for knng_set() */
  const char *fallback; /**< value when neither knng_set() nor the environment gives one */
  const char *range;    /**< the values it takes */
  const char *doc;      /**< one sentence */
  const char *environment; /**< environment variable that replaces fallback, or NULL: none does */
} knng_option;

/** What a build or query would do, from knng_estimate(). */
typedef struct knng_plan {
  uint32_t struct_size;    /**< sizeof(knng_plan) */
  uint32_t devices;        /**< how many devices would work */
  int64_t host_bytes;      /**< peak of host memory held by the library, rows it holds and result included */
  int64_t device_bytes;    /**< peak of memory on one device */
  int64_t smallest_host;   /**< the smallest max_host_bytes with which the call can run */
  int64_t smallest_device; /**< the same for max_device_bytes */
  int64_t tile_rows;       /**< rows of one tile; a GPU evaluates fewer at a time where these would take long */
  int64_t tile_cols;       /**< columns of one tile, likewise */
  int64_t tiles;           /**< number of such tiles */
  double seconds;          /**< expected time; -1: not known, as always in this version */
} knng_plan;

/** A processor that can do the work, from knng_device_get(). */
typedef struct knng_device {
  uint32_t struct_size; /**< sizeof(knng_device) */
  int32_t usable;       /**< 1: can be chosen, 0: why_not says why not */
  int64_t memory;       /**< bytes of memory, -1 unknown */
  int64_t memory_free;  /**< bytes free now, -1 unknown */
  char name[96];        /**< e.g. "cpu: AMD EPYC 9654, AVX-512, 2 threads" */
  char why_not[256];    /**< "" if usable */
} knng_device;

/** Packed row-major host memory as a matrix.
 * @param dtype element type
 * @param rows  number of points
 * @param cols  dimension
 * @param data  element (0, 0); a const pointer is fine for matrices that the library only reads
 * @return the view, with struct_size set; every member not named here is 0
 */
static inline knng_matrix knng_packed(int32_t dtype, int64_t rows, int64_t cols, const void *data) {
  knng_matrix m = {(uint32_t)sizeof(knng_matrix), 0, KNNG_HOST, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL};
  m.dtype = dtype;
  m.rows = rows;
  m.cols = cols;
  m.data = (void *)(uintptr_t)data;
  return m;
}

/** An error for a call to fill in.
 * @return no failure, with struct_size set */
static inline knng_error knng_no_error(void) {
  knng_error e = {(uint32_t)sizeof(knng_error), KNNG_OK, -1, -1, -1, -1, {0}, {0}, {0}};
  return e;
}

/** @} */

#ifdef __cplusplus
}
#endif
#endif
