/* FAST_FMA: a function that is compiled once more with fused multiply-add instructions where the compiler can choose at
 * run time, with all that it calls inside. fma() rounds once either way. */
#ifndef KNNG_TESTS_HARNESS_FAST_FMA_H
#define KNNG_TESTS_HARNESS_FAST_FMA_H

/* Sanitizers do not bear the resolvers in what they watch. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FAST_FMA __attribute__((target_clones("fma", "default"), flatten))
#else
#define FAST_FMA
#endif

#endif
