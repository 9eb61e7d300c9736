# cmake -C src/cmake/asan.cmake: address and undefined-behaviour sanitizers. With clang (packages clang, libomp-dev), which
# also sees calls of functions through another type.
set(KNNG_SANITIZE "address,undefined" CACHE STRING "")
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(CMAKE_C_COMPILER clang CACHE STRING "")
set(CMAKE_CXX_COMPILER clang++ CACHE STRING "")
