# Is the CUDA library built (KNNG_CUDA)? Sets KNNG_HAVE_CUDA. Without nvcc all else is as it would be, and one line says
# why there is none.
set(KNNG_HAVE_CUDA OFF)

# Why this nvcc will not do, asked before the language is enabled, which ends in an error where it does not; or "".
function(knng_cuda_objection result)
  set(${result} "" PARENT_SCOPE)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE version ERROR_QUIET)
  if(NOT version MATCHES "release ([0-9]+\\.[0-9]+)")
    return()  # another compiler: CMake knows it
  endif()
  set(version ${CMAKE_MATCH_1})
  if(version VERSION_LESS 12.0)
    set(${result} "it needs nvcc 12.0 or newer, and ${CMAKE_CUDA_COMPILER} is ${version}" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-code OUTPUT_VARIABLE codes ERROR_QUIET)
  foreach(architecture IN LISTS KNNG_CUDA_ARCHITECTURES)
    string(REGEX MATCH "^[0-9]*" number ${architecture})  # 90a is listed as 90; native is not
    if(codes AND number AND NOT codes MATCHES "sm_${number}[^0-9]")
      set(${result} "nvcc ${version} does not know ${architecture} of KNNG_CUDA_ARCHITECTURES" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

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
  knng_cuda_objection(objection)
  if(objection)
    message(STATUS "No CUDA library: ${objection}")
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
set(KNNG_CUDA_ARITHMETIC --fmad=false --ftz=false --prec-div=true --prec-sqrt=true --expt-relaxed-constexpr)
target_compile_options(knng_flags INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:${KNNG_CUDA_ARITHMETIC}>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffp-contract=off,-fno-fast-math,-Wall,-Wextra,-Wshadow>"
  "$<$<AND:$<BOOL:${KNNG_WERROR}>,$<COMPILE_LANGUAGE:CUDA>>:--Werror=all-warnings;-Xcompiler=-Werror>")
