/** @file error.h
 * Version and errors. Include knng.h, not this file.
 */
#ifndef KNNG_ERROR_H
#define KNNG_ERROR_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the library that is running, to be compared with KNNG_VERSION of the header.
 * @return major << 16 | minor << 8 | patch. Thread safe. @since 0.1 */
KNNG_API int32_t knng_version(void);

/** Message of this thread's last failure: one line that names argument, value and limit, e.g.
 * "k=50 needs at least 51 rows, the data set has 40".
 * A call that succeeds leaves it as it is: look at the status first.
 * @return text owned by the library, valid until the next failure on this thread; "" if there was none. Never NULL.
 * Thread safe; survives out-of-memory. @since 0.1 */
KNNG_API const char *knng_last_error(void);

/** This thread's last failure with its numbers, for languages that word errors themselves (ids from 1, say).
 * @param out written; struct_size set by the caller
 * @return KNNG_OK; KNNG_ERR_ARGUMENT if out is NULL or its struct_size is smaller than the first two members.
 * A failure of this call itself does not replace the failure it reports. Thread safe. @since 0.1 */
KNNG_API knng_status knng_last_error_get(knng_error *out);

#ifdef __cplusplus
}
#endif
#endif
