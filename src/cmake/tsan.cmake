# cmake -C src/cmake/tsan.cmake: thread sanitizer. With clang and LLVM's OpenMP (packages clang, libomp-dev): its Archer
# tool tells the sanitizer what OpenMP orders. gcc's runtime tells nothing, and every barrier would look like a race.
set(KNNG_SANITIZE "thread" CACHE STRING "")
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(CMAKE_C_COMPILER clang CACHE STRING "")
set(CMAKE_CXX_COMPILER clang++ CACHE STRING "")
