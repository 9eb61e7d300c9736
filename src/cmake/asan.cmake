# cmake -C src/cmake/asan.cmake: address and undefined-behaviour sanitizers.
set(KNNG_SANITIZE "address,undefined" CACHE STRING "")
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
