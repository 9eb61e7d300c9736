/* The library's own logarithm and power for the oracle: they are part of the definition of two canonical keys, and
 * their accuracy is tested elsewhere against frozen values. Nothing else of the library may come in through here. */
#ifndef KNNG_TESTS_HARNESS_ELEMENTARY_H
#define KNNG_TESTS_HARNESS_ELEMENTARY_H

#ifdef __cplusplus
extern "C" {
#endif

double elementary_log(double x);
double elementary_pow(double x, double p);

#ifdef __cplusplus
}
#endif
#endif
