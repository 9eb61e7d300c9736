# What every target is compiled with, and what the machine must be.

set(KNNG_SOVERSION 0)
# The folder of what the library loads, beside it. It has the number, since a library takes those of its own build only:
# two versions are installed side by side.
set(KNNG_PLUGINS knng${KNNG_SOVERSION})

option(KNNG_BUILD_CLI "Build the knng command (needs CLI11)" ON)
option(KNNG_BUILD_TESTS "Build the tests (needs cmocka)" OFF)
option(KNNG_BUILD_EXAMPLES "Build the programs of docs/examples" OFF)
option(KNNG_BUILD_DOCS "Build the reference with Doxygen" OFF)
option(KNNG_FORMATS "Build the formats library for .gz and .npz (needs zlib and libzip)" ON)
set(KNNG_HDF5 AUTO CACHE STRING "Build the HDF5 library for .h5 and .h5ad: AUTO (where libhdf5 is), ON, OFF")
set_property(CACHE KNNG_HDF5 PROPERTY STRINGS AUTO ON OFF)
set(KNNG_CUDA AUTO CACHE STRING "Build the CUDA library: AUTO (where nvcc 12.0 or newer is), ON, OFF")
set_property(CACHE KNNG_CUDA PROPERTY STRINGS AUTO ON OFF)
set(KNNG_CUDA_ARCHITECTURES "80-real;90a-real" CACHE STRING "What the CUDA library is compiled for")
option(KNNG_AVX512 "Compile the kernels of x86-64 for AVX-512, too" ON)
option(KNNG_WERROR "Treat warnings as errors" OFF)
set(KNNG_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo, Debug" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
include(CheckPIESupported)
check_pie_supported()  # so that programs are linked as such, too
set(CMAKE_INTERPROCEDURAL_OPTIMIZATION OFF)

include(CheckCXXSourceCompiles)
check_cxx_source_compiles("
#include <bit>
#include <cfloat>
static_assert(std::endian::native == std::endian::little);
static_assert(FLT_EVAL_METHOD == 0);
static_assert(sizeof(void*) == 8);
int main() {}" KNNG_MACHINE_IS_SUITABLE)
if(NOT KNNG_MACHINE_IS_SUITABLE)
  message(FATAL_ERROR "knng needs a little-endian 64-bit machine that evaluates double as double (FLT_EVAL_METHOD 0)")
endif()

# One target carries the flags; everything of ours links to it.
add_library(knng_flags INTERFACE)
target_compile_options(knng_flags INTERFACE
  # The canonical keys are defined by their order of operations: no contraction, no reassociation, ever.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off -fno-fast-math>
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wshadow>
  $<$<COMPILE_LANGUAGE:CXX>:-Wconversion>
  $<$<AND:$<BOOL:${KNNG_WERROR}>,$<COMPILE_LANGUAGE:C,CXX>>:-Werror>)
if(NOT KNNG_AVX512)
  target_compile_definitions(knng_flags INTERFACE KNNG_WITHOUT_AVX512)
endif()
if(KNNG_SANITIZE)
  target_compile_options(knng_flags INTERFACE -fsanitize=${KNNG_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(knng_flags INTERFACE -fsanitize=${KNNG_SANITIZE})
  # Registers of instrumented kernels are given out for a function at once: loop by loop takes g++ a third of its time.
  target_compile_options(knng_flags INTERFACE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fira-region=one>)
endif()
