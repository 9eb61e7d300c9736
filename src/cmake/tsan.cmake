# cmake -C src/cmake/tsan.cmake: thread sanitizer, with clang.
set(KNNG_SANITIZE "thread" CACHE STRING "")
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(CMAKE_C_COMPILER clang CACHE STRING "")
set(CMAKE_CXX_COMPILER clang++ CACHE STRING "")
