# cmake -C src/cmake/ubsan.cmake: undefined behaviour as clang sees it (package clang), which knows of calls
# of functions through another type, too. Not with addresses: its operator new ends the program where it should throw.
set(KNNG_SANITIZE "undefined" CACHE STRING "")
# What is checked is decided before anything is optimised, and kernels with such checks take clang more than ten times
# as long to optimise.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O0 -g1 -DNDEBUG" CACHE STRING "")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O0 -g1 -DNDEBUG" CACHE STRING "")
include(${CMAKE_CURRENT_LIST_DIR}/sanitizers.cmake)
set(CMAKE_C_COMPILER clang CACHE STRING "")
set(CMAKE_CXX_COMPILER clang++ CACHE STRING "")
