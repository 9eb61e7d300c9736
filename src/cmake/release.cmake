# cmake -C src/cmake/release.cmake: what packages are built with.
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(CMAKE_INSTALL_PREFIX /usr CACHE PATH "")
set(KNNG_WERROR OFF CACHE BOOL "")
# Every GPU since Turing, and Hopper's own instructions; PTX of the newest for those to come.
set(KNNG_CUDA_ARCHITECTURES "75-real;80-real;86-real;89-real;90a-real;100-real;120" CACHE STRING "")
