# cmake -C src/cmake/tsan.cmake: thread sanitizer, with clang.
set(KNNG_SANITIZE "thread" CACHE STRING "")
include(${CMAKE_CURRENT_LIST_DIR}/sanitizers.cmake)
set(CMAKE_C_COMPILER clang CACHE STRING "")
set(CMAKE_CXX_COMPILER clang++ CACHE STRING "")
