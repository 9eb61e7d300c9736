/* The seam between libknng and a library of devices (libknng_cuda.so): plain C, one function that hands over one table.
 * Both sides carry the hash of this header (KNNG_BACKEND_BUILD_ID), so that everything here may change from one build
 * to the next.
 *
 * A device evaluates tiles of the matrix of pairs and keeps, for every row, the candidates with the smallest proved
 * lower bounds of their keys; or, where it has a way to find a row's neighbours among all points at once, it answers
 * rows. What the library does with several devices (planning, dealing out tiles, merging,
 * climbing the ladder of precisions) it does through these calls, so that it can be tested with simulated devices.
 *
 * Rules: no exception, longjmp or output crosses the seam. A call that fails returns a knng_status other than KNNG_OK
 * and fills in the error; a session that failed is good for close() only. Calls on one session come from one thread at
 * a time, calls on different sessions may run together. Not part of the public API. */
#ifndef KNNG_BACKEND_SEAM_H
#define KNNG_BACKEND_SEAM_H

#include <stdint.h>

#include "knng/types.h"

#define KNNG_BACKEND_SEAM_VERSION 1u
#define KNNG_CUDA_FILE "libknng_cuda.so"
#define KNNG_CUDA_ENTRY "knng_cuda_entry"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct knng_backend_error {
  int32_t status;    /* a knng_status */
  int32_t of_rows;   /* 1: point `row` breaks a rule of the metric; the library words it. 2: the same, of the queries */
  int64_t row;       /* -1: none */
  int64_t given;     /* -1: none */
  int64_t limit;     /* -1: none */
  char argument[32]; /* setting or argument at fault, or "" */
  char text[280];    /* what is wrong, without the device's name */
} knng_backend_error;

/* A matrix in memory that libknng itself neither reads nor writes: a device's, or managed. Strides in elements; any. */
typedef struct knng_backend_matrix {
  void* data; /* element (0, 0) */
  int64_t rows, cols, row_stride, col_stride;
  int32_t dtype;  /* any of the public ones */
  int32_t device; /* whose memory it is */
} knng_backend_matrix;

/* Row `row` of matrices[matrix], and another. */
typedef struct knng_backend_pair {
  int64_t matrix, row, other_matrix, other_row;
} knng_backend_pair;

/* Points first, first + 1, ..., `count` of them: the rows of the matrix in order; or rows listed[0] - origin,
 * listed[1] - origin, ... of it. The matrix may have another type than the points, which are of 8 bits then and hold
 * all of its values. */
typedef struct knng_backend_piece {
  int64_t first, count;
  knng_backend_matrix rows;
  const int64_t* listed; /* host memory; NULL: all rows */
  int64_t origin;
} knng_backend_piece;

/* Points in the type in which the library works with them, read by any thread in any order. */
typedef struct knng_backend_rows {
  const void* user;
  int64_t count;
  int64_t dim;
  int32_t dtype;
  /* Copies points [first, first + count), packed, dim values each; with the threads of the device that asks. Not for
   * points of a piece. 0: they could not be read (they may be in a file), or the call was cancelled; then the call
   * that asked for them fails, and the library knows why. */
  int32_t (*read)(const void* user, int64_t first, int64_t count, void* dst);
  /* Points in memory of devices, of this or of others, ascending: they are ready, and stay as they are. */
  const knng_backend_piece* pieces;
  int64_t piece_count;
} knng_backend_rows;

/* How a metric is evaluated; the numbers are those of metric/metric.h. */
typedef struct knng_backend_metric {
  int32_t transform;
  int32_t term;
  int32_t report;
  int32_t similarity; /* report 1 - key, or for products -key */
  double scale;
  double p;
  double largest; /* |x| beyond which a key could overflow */
} knng_backend_metric;

/* Product units, as bits: fp16 operands with fp32 sums, fp32, bytes; the kernels of engine=fused, which multiply fp16
 * themselves: without them it has tiles in memory, as other engines do; and fp64 where it is fast: without it more
 * canonical keys are evaluated. */
enum { KNNG_UNIT_FP16 = 1, KNNG_UNIT_FP32 = 2, KNNG_UNIT_BYTES = 4, KNNG_UNIT_FUSED = 8, KNNG_UNIT_FP64 = 16 };

/* What bounds are made with: a device's, or, of a problem, the weakest of its devices' (backend/units.h), so that each
 * can take the lists of the others. All zeros: no products. */
typedef struct knng_backend_units {
  int32_t usable; /* KNNG_UNIT bits */
  /* Of fp16 (backend/cuda/engines/rounding_model.h): what 16 terms may lose, and the shortest length that a point
   * counts as. */
  double lost, shortest;
} knng_backend_units;

/* Blocks of points that a device holds at least, where not all points stay there: two of a tile, and one on its way. */
enum { KNNG_BACKEND_FEWEST_HELD = 3 };

typedef struct knng_backend_problem {
  knng_backend_rows rows;    /* points that get lists */
  knng_backend_rows columns; /* points that can be neighbours; square: the same points */
  int32_t square;
  int32_t self_first;  /* the row itself in front; of rows that are not the columns it is the one that they leave out */
  int32_t value_dtype; /* KNNG_F32 or KNNG_F64 */
  knng_backend_metric metric;
  const int64_t* leave_out; /* rows.count ids that a row must not return, -1 for none; or NULL */
  /* memcpy(), with the threads of the device that asks. */
  void (*copy)(const void* copy_user, void* dst, const void* src, int64_t bytes);
  const void* copy_user;
  /* Whether the call was cancelled: long calls ask between their parts, and fail then. Any thread. */
  int32_t (*cancelled)(const void* cancellation);
  const void* cancellation;
  int64_t k;
  const char* engine;   /* a name of find_engine(); NULL, before there is a plan: whichever pays */
  const char* selector; /* "insertion", "batch_sort" or "quick" */
  int32_t by_rows;      /* answer() is called, and none of begin() to redo() */
  /* From the plan. */
  int64_t tile_rows, tile_cols; /* of the largest tile; by_rows: rows of the largest call, all columns */
  int64_t capacity;             /* candidates that a list has room for, more than k */
  /* 0: all points stay on the device. Else columns (square: all points) stay where they are read from, and so many
   * blocks of tile_cols points are on the device at a time, KNNG_BACKEND_FEWEST_HELD or more, while the first rung's
   * tiles are evaluated. */
  int64_t blocks_held;
  int64_t max_bytes; /* of device memory */
  /* Rows that check() will be asked for, ascending. Before open() only their number counts, which is the most of them.
   */
  const int64_t* checked;
  int64_t checked_count;
  /* Those that work on the problem together, each with a session. */
  const int32_t* devices;
  int64_t device_count;
  knng_backend_units units;
} knng_backend_problem;

/* Precisions of the products; the numbers are those of Proof in graph/graph.h, but for rows rounded to bytes, which are
 * tried first where they are tried, and whose proof is the filter's. Metrics without product form have the filter and
 * the last, engine=direct the last alone; products of bytes (plan/integer_products.h), which are exact, the filter
 * alone. */
enum {
  KNNG_RUNG_FILTER = 1,
  KNNG_RUNG_TWO_PIECE = 2,
  KNNG_RUNG_FP32 = 3,
  KNNG_RUNG_FP64 = 4,
  KNNG_RUNG_ROUNDED_BYTES = 5
};

/* A rung of a problem's ladder. */
typedef struct knng_backend_rung {
  int32_t number;   /* KNNG_RUNG_*: what begin() takes */
  int32_t unit;     /* a KNNG_UNIT bit; 0: no products */
  const char* name; /* static, for people: "fp32" as in "distances again, in fp32" */
} knng_backend_rung;
enum { KNNG_BACKEND_MOST_RUNGS = 4 };

/* How the backend does a problem. */
typedef struct knng_backend_engine {
  const char* name; /* static: as in engine=tiled */
  /* Rows that a call of answer() should be for at most, so that progress is reported now and then; 0: tiles are
   * evaluated. */
  int64_t rows_at_a_time;
  int32_t all_keys;        /* the canonical keys of all pairs are evaluated: no filter leaves any out */
  int64_t most_pairs;      /* of a tile: larger ones do not pay */
  int64_t few_tiles_to;    /* most pairs that should be in few tiles, if one device has them alone */
  int32_t redoes_by_lists; /* redo() can do without all keys, where all points stay on the device */
  int64_t candidates;      /* that a list should keep, if there is memory for it and all points stay on the device */
} knng_backend_engine;

/* Where results go: entry 0 is that of point 0, whatever rows a call is for. */
typedef struct knng_backend_result {
  int64_t* ids;   /* rows x width */
  void* values;   /* rows x width of value_dtype */
  int32_t device; /* in whose memory ids and values are; -1: in the host's, as all else is */
  uint8_t* ties;  /* rows */
  uint8_t* proof; /* rows: Proof of graph/graph.h; none: the list may lack neighbours */
  /* Counted up by the calls. */
  int64_t keys;       /* canonical keys evaluated */
  int64_t violations; /* of bounds */
  int64_t candidates; /* most in a list */
  int64_t too_large;  /* smallest row with a value that is finite but not in value_dtype, INT64_MAX if there is none */
} knng_backend_result;

/* The graph of distinct rows that a device keeps, and the rows that equal each: groups of equal rows. */
typedef struct knng_backend_expansion {
  int64_t rows, groups;
  /* Each row's group; and the members of group g, members[starts[g]] to members[starts[g + 1] - 1], ascending. The
   * first members of all groups ascend as well. Host memory. */
  const int64_t *group, *starts, *members;
  /* For each group the nearest others, ascending by (key, number): k + 1 of them, or all if these are fewer. In memory
   * of the device that the result goes to. */
  int64_t listed;
  const int64_t* ids; /* groups x listed */
  const double* keys; /* the same */
  /* What is wanted of all rows. */
  int64_t k;
  int32_t self_first;
  int32_t value_dtype;
  knng_backend_metric metric;
  int32_t (*cancelled)(const void* cancellation); /* as that of a problem */
  const void* cancellation;
} knng_backend_expansion;

typedef struct knng_backend_session knng_backend_session;
typedef struct knng_backend_memory knng_backend_memory;

/* What the entry returns; static. The first three members never move. */
typedef struct knng_backend_seam {
  uint32_t struct_size;
  uint32_t version;
  const char* build_id;
  const char* name; /* as in device=cuda */
  /* Devices, as messages show them. Without one that can be used: 0, and why. */
  int32_t (*device_count)(char* why_not, int64_t size);
  void (*describe)(int32_t device, knng_device* out); /* all members but struct_size */
  /* The engine that does the problem, by rows that are answered or by tiles as it says, with the problem's selector:
   * the one asked for, or the best. Pure; what comes from the plan is not looked at. */
  int32_t (*find_engine)(const knng_backend_problem* problem, knng_backend_engine* engine, knng_backend_error* error);
  /* The precisions in which tiles are evaluated, one after the other, while rows are left without a proof: written to
   * `rungs`, which has room for KNNG_BACKEND_MOST_RUNGS, and counted. Those whose unit is not among problem->units are
   * left out; 0: none is left, and all rows are redone. Pure. */
  int32_t (*rungs)(const knng_backend_problem* problem, knng_backend_rung* rungs);
  /* Most pairs that a tile of that rung should have, so that it ends within a tenth of a second, if the problem's
   * devices are kept busy by so few. The devices are asked for their speed; what comes from the plan is not looked at.
   */
  int64_t (*pairs_at_a_time)(const knng_backend_problem* problem, int32_t rung);
  /* Device memory that a session takes, and the host memory that it takes beside: pure. */
  int64_t (*session_bytes)(const knng_backend_problem* problem, int64_t* host_bytes);
  /* The device's product units that the problem could use: those whose sums of known products are what bounds suppose.
   * The others are left out, and objection (of `size` bytes) says of one of them what it did; else it is "". A device
   * is probed once in a process, with memory of its own. The problem's own units are not looked at. */
  int32_t (*find_units)(int32_t device, const knng_backend_problem* problem, knng_backend_units* units, char* objection,
                        int64_t size, knng_backend_error* error);
  /* The problem, with what it points to, outlives the session. Brings the points to the device and prepares them. */
  int32_t (*open)(knng_backend_session** out, int32_t device, const knng_backend_problem* problem,
                  knng_backend_error* error);
  /* Blocks that are on the device at a time from the last begin() or begin_keys() on: who asks for a block that was
   * used among the last so many does not wait for it. 0: all points stay there. */
  int64_t (*blocks_held)(const knng_backend_session* session);
  /* Before the first begin(), of a square problem: compares points in an order in which whole tiles can be left out, if
   * that pays, or in one that has nothing to do with how they are stored; or, where `as` is not NULL, in that of
   * another session of the problem, which made one. made: whether it does. Sessions of a problem have the same order;
   * rows and columns of tile() and first_cutoffs() are places in it then, those of all other calls are points as ever.
   * An order that another session cannot take is given up: then `as` has none, and made is 0. Returns when others can
   * take it. Nothing but time depends on it. */
  int32_t (*order_points)(knng_backend_session* session, const knng_backend_session* as, int32_t* made,
                          knng_backend_error* error);
  /* Empties the lists, and returns when other sessions can adopt their cut-offs; tiles that follow are evaluated in
   * this precision. crowded: many lists will meet far more than they have room for; nothing but time depends on it. */
  int32_t (*begin)(knng_backend_session* session, int32_t rung, int32_t crowded, knng_backend_error* error);
  /* After begin(): the share of the rows that tiles in this precision will leave without a proof, as some rows tell; if
   * `guess`, under cut-offs that first_cutoffs() guesses, and 1 where it does not; infinite where the next precision
   * would do better, whatever is left. Lists and cut-offs are those of
   * begin() afterwards. An estimate, which nothing but time depends on; 0 where it would take about as long as the
   * tiles, or where points come in blocks. crowded: what begin() should be told if rows are redone by lists.
   * long_lists: what first_cutoffs() should be told. */
  int32_t (*sample)(knng_backend_session* session, int32_t guess, double* unproved, int32_t* crowded,
                    int32_t* long_lists, knng_backend_error* error);
  /* Before the first tile: gives rows [first, first + count) first cut-offs from a few columns, where that pays. With
   * `guess` these are drawn at random: nearly all lists fill under such cut-offs, and those that do not are left
   * without a proof. made: whether it guessed. Returns when other sessions can adopt them. Until begin() a session that
   * guessed takes it that all rows have guesses. long_lists: lists keep as many candidates as the plan has room for,
   * else no more than most precisions need; the same in all sessions. Nothing but time depends on it. */
  int32_t (*first_cutoffs)(knng_backend_session* session, int64_t first, int64_t count, int32_t guess,
                           int32_t long_lists, int32_t* made, knng_backend_error* error);
  /* Distances and selection of a tile; in a square problem each pair serves both of its points, and a tile lies on the
   * diagonal (first_row == first_column, rows == columns) or does not touch it. May return before it is done, but not
   * before all but some of the tiles before it are. */
  int32_t (*tile)(knng_backend_session* session, int64_t first_row, int64_t rows, int64_t first_column, int64_t columns,
                  knng_backend_error* error);
  /* Lowers cut-offs to those of another session of the same problem and rung, which may be at work: what lies above
   * one device's is dropped by all. Lists are joined by merge_lists() before they are used. */
  int32_t (*adopt_cutoffs)(knng_backend_session* into, const knng_backend_session* from, knng_backend_error* error);
  /* Returns when all tiles are done. */
  int32_t (*settle)(knng_backend_session* session, knng_backend_error* error);
  /* Adds the candidates that another session of the same problem, perhaps on another device, has found for rows
   * [first, first + count). Both are settled; other rows of `from` may be read at the same time. */
  int32_t (*merge_lists)(knng_backend_session* into, const knng_backend_session* from, int64_t first, int64_t count,
                         knng_backend_error* error);
  /* If not all points stay on the device: after the last merge_lists(), begin_keys(), then keys() for every tile in
   * which rows that will be refined have candidates. Each evaluates canonical keys of what the tile's rows have among
   * its columns; rows and columns are a tile's. May return before it is done. */
  int32_t (*begin_keys)(knng_backend_session* session, knng_backend_error* error);
  int32_t (*keys)(knng_backend_session* session, int64_t first_row, int64_t rows, int64_t first_column, int64_t columns,
                  knng_backend_error* error);
  /* Canonical keys of the candidates of rows [first, first + count), sorted, proved or not. */
  int32_t (*refine)(knng_backend_session* session, int64_t first, int64_t count, knng_backend_result* result,
                    knng_backend_error* error);
  /* The listed rows, by canonical keys of all columns. `by_lists`: after refine(), perhaps in another session, wrote
   * the rows' lists to `result`, of those columns alone that these do not rule out. A row of which too many are left
   * stays without a proof, and keeps its list. */
  int32_t (*redo)(knng_backend_session* session, const int64_t* rows, int64_t count, int32_t by_lists,
                  knng_backend_result* result, knng_backend_error* error);
  /* Neighbours of rows [first, first + count) among all columns, proved by canonical keys alone. */
  int32_t (*answer)(knng_backend_session* session, int64_t first, int64_t count, knng_backend_result* result,
                    knng_backend_error* error);
  /* When all rows are done, whoever has done them: whether the lists of those of the problem's checked rows that lie in
   * [first, first + count) are, in ids, bits and ties, those of all their canonical keys, excluded columns aside.
   * wrong: the first that is not, -1: none. If not all points stay on the device, keys() was called for those rows and
   * every column after one begin_keys(); all their canonical keys were evaluated meanwhile. */
  int32_t (*check)(knng_backend_session* session, int64_t first, int64_t count, const knng_backend_result* result,
                   int64_t* wrong, knng_backend_error* error);
  /* Returns when nothing of the session is in flight any more, whatever happened. When a build fails this comes for all
   * of its sessions before close() does for one: another's kernels may be reading its lists. */
  void (*drain)(knng_backend_session* session);
  /* Most device memory that the session held so far. */
  int64_t (*peak_bytes)(const knng_backend_session* session);
  void (*close)(knng_backend_session* session);

  /* Memory of the caller's. Nothing here synchronises a device. */
  /* Where it is: KNNG_CUDA or KNNG_MANAGED, and whose; KNNG_PINNED; or KNNG_HOST, which is all that is not known. */
  int32_t (*locate)(const void* address, int32_t* space, int32_t* device, knng_backend_error* error);
  /* Returns when what was put into the caller's stream is done. device: whose default stream is meant by 1 or 2, as in
   * DLPack; -1: the thread's current one. */
  int32_t (*wait)(uint64_t stream, int32_t device, knng_backend_error* error);
  /* The first value, by rows, that rows may not have (is_valid() of core/dtype.h); row -1: there is none. Then
   * byte_types: those of core/byte_types.h that hold all values; and hashes: row_hash() of dataset/fingerprint.h of
   * each row, if it is not NULL. */
  int32_t (*inspect)(const knng_backend_matrix* matrix, int64_t* row, int64_t* column, uint32_t* byte_types,
                     uint64_t* hashes, knng_backend_error* error);
  /* Points [first, first + count) of a piece, counted from its own first one, to host memory, packed. */
  int32_t (*fetch)(const knng_backend_piece* piece, int64_t first, int64_t count, void* to, knng_backend_error* error);
  /* Whether two rows have the same values, -0 being 0, for each of `count` pairs of them. All matrices, one or more,
   * are in memory of one device and of one dtype, and their values are valid; what is listed is in host memory. */
  int32_t (*compare)(const knng_backend_matrix* matrices, int64_t matrix_count, const knng_backend_pair* pairs,
                     int64_t count, uint8_t* same, knng_backend_error* error);
  /* has_no_direction() of metric/canonical.h of the listed rows. */
  int32_t (*without_direction)(const knng_backend_matrix* matrix, int32_t transform, const int64_t* rows, int64_t count,
                               uint8_t* without, knng_backend_error* error);
  /* All rows from where elements of `dtype` are packed: host memory, or a device's. That is the matrix's dtype, and
   * base 0; or KNNG_I64, and ids, with `base` added, become the matrix's elements as knng_graph_copy() makes them; or
   * KNNG_F32 or KNNG_F64, and values do. unfit: the first element, by rows, that its type cannot hold; -1: none. */
  int32_t (*store)(const knng_backend_matrix* matrix, int32_t dtype, const void* from, int64_t base, int64_t* unfit,
                   knng_backend_error* error);

  /* Memory of a device that outlives sessions. */
  int32_t (*allocate)(knng_backend_memory** out, int32_t device, int64_t bytes, void** address,
                      knng_backend_error* error);
  void (*release)(knng_backend_memory* memory);

  /* Device memory that expand() takes beside both graphs, and the host memory: pure; no array is looked at. */
  int64_t (*expansion_bytes)(const knng_backend_expansion* expansion, int64_t* host_bytes);
  /* The graph of all rows, in memory of result->device: a row's nearest by (key, id), where others of its own group are
   * at key 0 and the members of a listed group at that group's key. Of the result, `proof` and the counts but too_large
   * are left alone. */
  int32_t (*expand)(const knng_backend_expansion* expansion, knng_backend_result* result, knng_backend_error* error);
} knng_backend_seam;

typedef const knng_backend_seam* (*knng_backend_entry_fn)(void);

#ifdef __cplusplus
}
#endif
#endif
