#!/bin/sh
# no_cuda.sh CMAKE SOURCE: without an nvcc that will do the project is configured all the same, and one line says why
# there is no CUDA library.
set -eu
cmake=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(without LANGUAGES CXX)
include($source/src/cmake/Cuda.cmake)
message(STATUS "CUDA library: \${KNNG_HAVE_CUDA}")
END

# A compiler of that version that knows those codes, and compiles nothing.
nvcc() {
  cat >"$work/nvcc" <<END
#!/bin/sh
case \$1 in
  --version) echo "Cuda compilation tools, release $1, V$1.89" ;;
  --list-gpu-code) printf 'sm_%s\n' $2 ;;
  *) exit 1 ;;
esac
END
  chmod +x "$work/nvcc"
}

# says LINE ARGUMENT...
says() {
  line=$1
  shift
  rm -rf "$work/build"
  if ! "$cmake" -S "$work/project" -B "$work/build" -DKNNG_CUDA=AUTO "-DKNNG_CUDA_ARCHITECTURES=80-real;90a-real" "$@" \
    >"$work/log" 2>&1; then
    cat "$work/log"
    echo "no_cuda.sh: $*: it is not configured" >&2
    exit 1
  fi
  if [ "$(grep -c 'No CUDA library' "$work/log")" -ne 1 ] || ! grep -qF -e "-- No CUDA library: $line" "$work/log" ||
    ! grep -qx -e '-- CUDA library: OFF' "$work/log"; then
    cat "$work/log"
    echo "no_cuda.sh: $*: it should say '$line'" >&2
    exit 1
  fi
}

says 'there is no nvcc' -DCMAKE_CUDA_COMPILER=NOTFOUND
says 'KNNG_CUDA=OFF' -DKNNG_CUDA=OFF
says 'sanitizers' -DKNNG_SANITIZE=address
nvcc 11.8 '80 86 90'
says "it needs nvcc 12.0 or newer, and $work/nvcc is 11.8" "-DCMAKE_CUDA_COMPILER=$work/nvcc"
nvcc 12.2 '80 86 90'
says 'nvcc 12.2 does not know 100-real of KNNG_CUDA_ARCHITECTURES' "-DCMAKE_CUDA_COMPILER=$work/nvcc" \
  '-DKNNG_CUDA_ARCHITECTURES=80-real;90a-real;100-real;120'
nvcc 12.2 '86 90'
says 'nvcc 12.2 does not know 80-real of KNNG_CUDA_ARCHITECTURES' "-DCMAKE_CUDA_COMPILER=$work/nvcc"
