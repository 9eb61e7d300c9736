# cmake -C src/cmake/asan.cmake: address and undefined-behaviour sanitizers.
set(KNNG_SANITIZE "address,undefined" CACHE STRING "")
include(${CMAKE_CURRENT_LIST_DIR}/sanitizers.cmake)
