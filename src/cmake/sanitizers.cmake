# What sanitizers' builds have in common. Instrumented kernels take minutes to compile: they are optimised less, know
# lines but not variables, and are not compiled for AVX-512.
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1 -g1 -DNDEBUG" CACHE STRING "")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -DNDEBUG" CACHE STRING "")
set(KNNG_AVX512 OFF CACHE BOOL "")
