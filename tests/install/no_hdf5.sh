#!/bin/sh
# no_hdf5.sh CMAKE SOURCE: without a libhdf5 that will do the project is configured all the same, and one line says why
# there is no HDF5 library; KNNG_HDF5=ON is an error then.
set -eu
cmake=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(without LANGUAGES CXX)
if(NOWHERE)
  set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
  set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
  set(CMAKE_FIND_USE_CMAKE_ENVIRONMENT_PATH OFF)
endif()
include($source/src/cmake/Hdf5.cmake)
message(STATUS "HDF5 library: \${KNNG_HAVE_HDF5}")
END

# headers VERSION PARALLEL: as an installed library has them.
headers() {
  printf '#define H5_VERS_MAJOR %s /* a */\n#define H5_VERS_MINOR %s /* b */\n#define H5_VERS_RELEASE %s /* c */\n' \
    "${1%%.*}" "$(echo "$1" | cut -d . -f 2)" "${1##*.}" >"$work/H5public.h"
  : >"$work/hdf5.h"
  if [ "$2" = parallel ]; then echo '#define H5_HAVE_PARALLEL 1'; fi >"$work/H5pubconf.h"
  : >"$work/libhdf5.so"
}

# configured CODE LINE ARGUMENT...
configured() {
  wanted=$1 line=$2
  shift 2
  rm -rf "$work/build"
  code=0
  "$cmake" -S "$work/project" -B "$work/build" "$@" >"$work/log" 2>&1 || code=1
  if [ "$code" -ne "$wanted" ] || ! tr '\n' ' ' <"$work/log" | tr -s ' ' | grep -qF -e "$line"; then
    cat "$work/log"
    echo "no_hdf5.sh: $*: it should end with $wanted and say '$line'" >&2
    exit 1
  fi
}

here="-DKNNG_HDF5_INCLUDE=$work -DKNNG_HDF5_LIBRARY=$work/libhdf5.so"
configured 0 'No HDF5 library: KNNG_HDF5=OFF' -DKNNG_HDF5=OFF
# shellcheck disable=SC2086 # lists of words
{
  configured 0 'No HDF5 library: there is no libhdf5 (Debian: libhdf5-dev)' -DKNNG_HDF5=AUTO -DNOWHERE=ON
  configured 1 'KNNG_HDF5=ON: there is no libhdf5' -DKNNG_HDF5=ON -DNOWHERE=ON
  headers 1.8.16 serial
  configured 0 "it needs libhdf5 1.10.5 or newer, and that in $work is 1.8.16" -DKNNG_HDF5=AUTO $here
  configured 1 'it needs libhdf5 1.10.5 or newer' -DKNNG_HDF5=ON $here
  headers 1.14.5 parallel
  configured 0 'it needs the serial libhdf5' -DKNNG_HDF5=AUTO $here
  headers 1.10.5 serial
  configured 0 'HDF5 library: ON' -DKNNG_HDF5=AUTO $here
}
