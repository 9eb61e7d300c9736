/** @file settings.h
 * Handles, settings and devices. Include knng.h, not this file.
 */
#ifndef KNNG_SETTINGS_H
#define KNNG_SETTINGS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @addtogroup settings
 * Settings are text. These are their keys, defaults, values and meanings; knng_option_get() lists the same table.
 *
 * - "metric" = "euclidean"; a metric, see below: what is small between near rows
 * - "p" = "auto"; auto, 0.01 to 1000: exponent of metric=minkowski, auto: 2; other metrics have none and refuse
 *   one
 * - "selector" = "auto"; auto, insertion, batch_sort, quick: how the tiled engine picks the k smallest; other
 *   engines of the CPU have none and refuse one
 * - "engine" = "auto"; auto, direct, tiled, fused, tree: how pairs are evaluated; direct computes the canonical keys of
 *   all pairs
 * - "device" = "auto"; auto, cpu, cuda, cuda:N,M,...: where the work is done
 * - "precision" = "exact"; exact, fast: exact: proved; fast is refused by this version
 * - "self" = "exclude"; exclude, first: first: a build puts each row itself before its k neighbours, as one more
 *   column
 * - "value" = "distance"; distance, similarity: what is reported; similarity (1 - distance, or the product itself)
 *   for cosine, correlation, spearman, inner_product
 * - "value_type" = "auto"; auto, f32, f64: type of the reported values; auto: f64 for float64 rows, else f32
 * - "graph" = "host"; host, device: where the lists of a graph are kept; device: in the memory of the first device
 *   that makes it
 * - "threads" = "0"; 0 to 4096: CPU threads; 0: as many as there are processors, or OMP_NUM_THREADS
 * - "max_host_bytes" = "0"; 0 to 9007199254740992 bytes, or with a unit such as 4GiB or 500MB: most host memory
 *   the library may hold, rows it copied included; 0: no limit. Rows of files stay there if they would fill more
 *   than three quarters of it (0: of the machine's memory)
 * - "max_device_bytes" = "0"; 0 to 9007199254740992 bytes, or with a unit such as 4GiB or 500MB: most memory of
 *   one device; 0: what is free
 * - "tile_rows" = "0"; 0 to 1048576: most rows of a tile; 0: planned
 * - "tile_cols" = "0"; 0 to 1048576: most columns of a tile; 0: planned
 * - "check_rows" = "auto"; auto, 0 to 9007199254740992: rows whose lists a build or query compares with all of
 *   their canonical keys before it ends; auto: as many as cost about 1 % of the time, 4 at least; 4 with a tree, or
 *   where points come to devices in blocks
 * - "file_points" = "rows"; rows, columns: which of a file are the points, its rows or its columns; with columns all
 *   of it has to fit into memory
 *
 * Metrics, with other names in brackets, and the distances that are reported, all from the values as binary64. Order is
 * by distance, smallest first; value=similarity reports 1 - distance (inner_product: the product), largest first.
 * knng_metric_name() lists the names.
 *
 * - "sqeuclidean" (l2sqr, squared_euclidean): sum (x - y)^2
 * - "euclidean" (l2): its square root
 * - "cosine" (cos): 1 - x.y / (|x| |y|); a row of zeros is at 1 from every other row
 * - "correlation" (pearson): 1 - Pearson's r; a constant row is at 1 from every other row
 * - "spearman": 1 - Pearson's r of the ranks, average ranks among equal values; constant rows as under correlation
 * - "hellinger": square root of sum (sqrt x - sqrt y)^2 / 2; negative values are refused
 * - "inner_product" (dot, dot_product, ip): -(x.y): the nearest row has the largest product
 * - "manhattan" (l1, cityblock, taxicab): sum |x - y|
 * - "chebyshev" (linf, chebychev, maximum): largest |x - y|
 * - "minkowski" (lp): (sum |x - y|^p)^(1/p), p being the setting p
 * - "canberra": sum |x - y| / (|x| + |y|), 0/0 counting as 0
 * - "braycurtis" (bray_curtis, bray-curtis): sum |x - y| / sum |x + y|, 0 where the lower sum is 0
 * - "jensenshannon" (jensen_shannon, jensen-shannon, js): square root of sum (x' ln (x'/m) + y' ln (y'/m)) / 2,
 *   where x' = x / sum x and m = (x' + y') / 2; negative values and rows of sum 0 are refused
 * @{ */

/** Makes an empty data set with default settings.
 * An environment variable KNNG_<SETTING> (KNNG_THREADS=4), read once per process, replaces the default of a setting
 * that says where and how fast work is done (knng_option.environment names it); never of one that says what a result
 * means. An error that shows such a value names the variable.
 * @param[out] out the new handle, to be given to knng_destroy(); NULL on failure
 * @param dim   dimension of the points, 1 to 2^31 - 1; 0: taken from the first rows
 * @param dtype element type of the rows, KNNG_F32 or any other; 0: taken from the first rows
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_ARGUMENT for a NULL out or an unknown dtype; KNNG_ERR_RANGE for dim; KNNG_ERR_OPTION if
 * an environment variable holds a value that its setting does not take; KNNG_ERR_MEMORY. Thread safe. @since 0.1 */
KNNG_API knng_status knng_create(knng **out, int64_t dim, int32_t dtype, knng_error *error);

/** Makes a second handle on the rows that h has now. It does not copy the rows, but has a copy of the settings, so that
 * e.g. a second metric can be used beside the first. Rows added to one handle later are not seen by the other.
 * Borrowed rows are released when the last handle that shows them is destroyed.
 * @param[out] out the new handle; NULL on failure. Must not be the variable that holds h, whose handle would be lost
 * @param h an existing handle, still to be destroyed
 * @param error NULL, or filled in
 * @return KNNG_OK, KNNG_ERR_ARGUMENT, KNNG_ERR_MEMORY. @since 0.1 */
KNNG_API knng_status knng_share(knng **out, const knng *h, knng_error *error);

/** Destroys a handle. Reads no borrowed row, so that rows and handle may be freed in any order; calls the release
 * functions of borrowed rows that no other handle shows. Graphs live on. Any thread may call it, but no other call may
 * be running on h.
 * @param h the handle; NULL does nothing. @since 0.1 */
KNNG_API void knng_destroy(knng *h);

/** Changes a setting, for the calls that follow. knng_option_get() lists settings, ranges and defaults. This call
 * checks a value against its own range; settings that contradict each other, and values that this build has no code
 * for, are refused by the call that needs them.
 * @param h     the handle
 * @param key   name, e.g. "metric"
 * @param value text, e.g. "cosine", "4GiB", "0.5"; numbers as in the C locale whatever the locale is, units of bytes in
 * capitals or not
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_OPTION for an unknown key (the known ones are listed) or a value outside the range (which
 * is named), with the word that may have been meant; KNNG_ERR_ARGUMENT for NULL. On failure the setting keeps its value. @since 0.1 */
KNNG_API knng_status knng_set(knng *h, const char *key, const char *value, knng_error *error);

/** Reads a setting back as text that knng_set() takes.
 * @param h   the handle
 * @param key name
 * @param buf where the text goes, with its terminating 0; may be NULL if cap is 0
 * @param cap bytes of buf
 * @param[out] needed bytes needed, terminating 0 included; may be NULL
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_RANGE if cap is too small (needed is set, buf untouched); KNNG_ERR_OPTION for an unknown
 * key; KNNG_ERR_ARGUMENT. @since 0.1 */
KNNG_API knng_status knng_get(const knng *h, const char *key, char *buf, int64_t cap, int64_t *needed,
                              knng_error *error);

/** Describes the i-th setting.
 * @param i   from 0
 * @param out written; struct_size set by the caller
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_RANGE past the last (limit is their number); KNNG_ERR_ARGUMENT. Thread safe. @since 0.1 */
KNNG_API knng_status knng_option_get(int32_t i, knng_option *out, knng_error *error);

/** Describes the i-th device: 0 is the CPU. A backend that cannot be used appears with the reason in why_not.
 * @param i   from 0
 * @param out written; struct_size set by the caller
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_RANGE past the last; KNNG_ERR_ARGUMENT. Thread safe. @since 0.1 */
KNNG_API knng_status knng_device_get(int32_t i, knng_device *out, knng_error *error);

/** Names the i-th metric.
 * @param i from 0
 * @param[out] name    static text, as knng_get() gives it
 * @param[out] aliases static text: other names that knng_set() takes for it, separated by ", ", or "". Names and
 * aliases are taken without regard to case; may be NULL
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_RANGE past the last; KNNG_ERR_ARGUMENT. Thread safe. @since 0.1 */
KNNG_API knng_status knng_metric_name(int32_t i, const char **name, const char **aliases, knng_error *error);

/** Asks the system to let this process use the processor's matrix tiles (Intel AMX), from now on and for as long as it
 * lives. Builds on such a CPU are then several times as fast. The library never asks by itself, since the
 * permission is the process's own: each thread's saved state grows by 8 KiB, and a signal handler on an alternate stack
 * needs as much more of it. Call it once, before the first build.
 * @param error NULL, or filled in
 * @return KNNG_OK, also if the permission was there already; KNNG_ERR_UNSUPPORTED where processor or system has no
 * matrix tiles, or a thread's alternate signal stack is too small: builds run without them. Thread safe. @since 0.1 */
KNNG_API knng_status knng_use_matrix_tiles(knng_error *error);

/** Names the i-th statistic that knng_graph_stat() knows.
 * @param i from 0
 * @param[out] name static text
 * @param[out] doc  static text, one sentence; may be NULL
 * @param error NULL, or filled in
 * @return KNNG_OK; KNNG_ERR_RANGE past the last; KNNG_ERR_ARGUMENT. Thread safe. @since 0.1 */
KNNG_API knng_status knng_stat_name(int32_t i, const char **name, const char **doc, knng_error *error);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
