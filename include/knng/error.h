/** @file error.h
 * Version and errors. Include knng.h, not this file.
 */
#ifndef KNNG_ERROR_H
#define KNNG_ERROR_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @addtogroup error
 * @{ */

/** Version of the library that is running, to be compared with KNNG_HEADER_VERSION.
 * @return major << 16 | minor << 8 | patch. Thread safe. @since 0.1 */
KNNG_API int32_t knng_version(void);

/** Message of this thread's last failure, for programs that pass no knng_error: one line that names argument, value and
 * limit, e.g. "k=50 needs at least 51 rows, the data set has 40". Languages whose tasks move between threads pass a
 * knng_error instead. A call that succeeds leaves the message as it is: look at the status first.
 * @return text owned by the library, valid until the next failure on this thread; "" if there was none. Never NULL.
 * Thread safe; survives out-of-memory. @since 0.1 */
KNNG_API const char *knng_last_error(void);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
