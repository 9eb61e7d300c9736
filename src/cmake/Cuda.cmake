# Is the CUDA library built (KNNG_CUDA)? Sets KNNG_HAVE_CUDA. Without nvcc all else is as it would be, and one line says
# why there is none.
set(KNNG_HAVE_CUDA OFF)
if(KNNG_CUDA STREQUAL "AUTO")
  if(KNNG_SANITIZE)
    message(STATUS "No CUDA library: sanitizers of the host know nothing of the driver's memory")
    return()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(STATUS "No CUDA library: there is no nvcc")
    return()
  endif()
elseif(NOT KNNG_CUDA)
  message(STATUS "No CUDA library: KNNG_CUDA=${KNNG_CUDA}")
  return()
endif()

set(CMAKE_CUDA_ARCHITECTURES ${KNNG_CUDA_ARCHITECTURES})
enable_language(CUDA)
find_package(CUDAToolkit)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.0 AND TARGET CUDA::cublas AND TARGET CUDA::cudart_static)
  set(KNNG_HAVE_CUDA ON)
elseif(NOT KNNG_CUDA STREQUAL "AUTO")
  message(FATAL_ERROR "KNNG_CUDA=${KNNG_CUDA} needs nvcc 12.0 or newer, cuBLAS and the static CUDA runtime")
else()
  message(STATUS "No CUDA library: it needs nvcc 12.0 or newer, cuBLAS and the static CUDA runtime")
  return()
endif()

set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc 12 can
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)

# Canonical keys and bounds are defined by their order of operations on GPUs as well: nothing is contracted behind our
# back, nothing flushed to zero. What wants a fused operation says so (__fmaf_rn).
target_compile_options(knng_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;--ftz=false;--prec-div=true;--prec-sqrt=true;--expt-relaxed-constexpr>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffp-contract=off,-fno-fast-math,-Wall,-Wextra,-Wshadow>"
  "$<$<AND:$<BOOL:${KNNG_WERROR}>,$<COMPILE_LANGUAGE:CUDA>>:--Werror=all-warnings;-Xcompiler=-Werror>")
