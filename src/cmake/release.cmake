# cmake -C src/cmake/release.cmake: what packages are built with.
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(KNNG_WERROR OFF CACHE BOOL "")
