/* cmocka for C and C++ test programs.
 *
 * cmocka 1.1.5 leaves its four standard includes to the caller, has no extern "C", and defines macros named `fail` and
 * `skip` that break C++ headers read after it: include this header last. */
#ifndef KNNG_TESTS_HARNESS_CMOCKA_H
#define KNNG_TESTS_HARNESS_CMOCKA_H

#include <stdarg.h>
#include <stddef.h>

#include <setjmp.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#include <cmocka.h>
#ifdef __cplusplus
}
#endif

#endif /* KNNG_TESTS_HARNESS_CMOCKA_H */
