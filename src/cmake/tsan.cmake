# cmake -C src/cmake/tsan.cmake: thread sanitizer.
set(KNNG_SANITIZE "thread" CACHE STRING "")
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
