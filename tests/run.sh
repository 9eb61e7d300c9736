#!/bin/sh
# The test suite, from a clean checkout and from anywhere: installs what is missing (Debian 12; as root or with sudo),
# builds into .build/, runs the tests, or some of them.
#   sh tests/run.sh            all but slow ones
#   sh tests/run.sh quick      the same with small data, without bindings
#   sh tests/run.sh slow       what takes minutes: whole data sets, every type and size
#   sh tests/run.sh all        those and all others
#   sh tests/run.sh LABEL      unit, api, abi, fault, install, cli, fuzz, gpu, house, bindings
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=$root/.build

# shellcheck source-path=SCRIPTDIR source=../src/cmake/debian-packages.sh
. "$root/src/cmake/debian-packages.sh"
need g++ cmake ninja-build pkg-config libhwy-dev libxxhash-dev libcli11-dev zlib1g-dev libzip-dev libhdf5-dev libpng-dev \
  libcmocka-dev abigail-tools binutils locales gzip dataset-fashion-mnist python3-sklearn python3-numpy python3-scipy \
  python3-pycparser
# Python
need python3-igraph python3-faiss python3-networkx python3-pandas python3-anndata python3-h5py python3-tqdm python3-matplotlib mypy python3-pynndescent \
  umap-learn python3-pip python3-setuptools python3-wheel
# Fortran, and leaks of its module and others
need gfortran valgrind
# R and what its package is compared with
need r-base-core r-cran-matrix r-cran-testthat r-cran-knitr r-cran-markdown qpdf shellcheck r-cran-fnn r-cran-rann r-cran-dbscan \
  r-cran-igraph r-cran-uwot r-bioc-biocneighbors r-bioc-all r-bioc-bladderbatch r-bioc-hsmmsinglecell r-cran-mlbench valgrind
# Rust
need cargo rustc rust-clippy valgrind
# Debian packages of the project, and a root of their own to try them in
need dpkg-dev file lintian mmdebstrap

echo "Building in $build (what the tools say is in tests.log there)"
if [ -f "$build/CMakeCache.txt" ]; then
  set -- "${1:-}" # whatever generator made it
else
  set -- "${1:-}" -G Ninja
fi
label=$1
shift
werror=OFF cuda=AUTO hdf5=AUTO
[ "${KNNG_CI:-}" = true ] && werror=ON hdf5=ON
# Where there is a CUDA compiler nothing of it is left out because something else is missing.
[ "${KNNG_CI:-}" = true ] && command -v "${CUDACXX:-nvcc}" >/dev/null && cuda=ON
# Where there is no GPU no kernel runs: that each compiles for each architecture, to instructions for one of them, is
# seen without optimisation, which takes most of nvcc's time. What ptxas makes of the kernels whose rate hangs on it
# house.kernel_code asks as ever.
if [ "$cuda" = ON ]; then
  if [ ! -e /dev/nvidiactl ] && "${CUDACXX:-nvcc}" --help | grep -q Ofast-compile; then
    set -- "$@" "-DCMAKE_CUDA_FLAGS=${CUDAFLAGS:-} --Ofast-compile=max" "-DCMAKE_CUDA_FLAGS_RELEASE=-O1 -DNDEBUG" \
      "-DKNNG_CUDA_ARCHITECTURES=80-virtual;90a-real"
  else
    set -- "$@" "-DCMAKE_CUDA_FLAGS=${CUDAFLAGS:-}" -UCMAKE_CUDA_FLAGS_RELEASE -UKNNG_CUDA_ARCHITECTURES
  fi
fi
mkdir -p "$build"
# For /usr, as Debian packages are.
if ! { cmake -S "$root" -B "$build" "$@" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DKNNG_BUILD_TESTS=ON -DKNNG_BUILD_CLI=ON \
  -DKNNG_FORMATS=ON -DKNNG_HDF5=$hdf5 -DKNNG_BUILD_EXAMPLES=ON -DKNNG_WERROR=$werror -DKNNG_CUDA=$cuda &&
  cmake --build "$build" --parallel "$(nproc)"; } >"$build/tests.log" 2>&1; then
  cat "$build/tests.log" >&2
  exit 1
fi

minutes() { echo "Testing: about $1 minutes on two idle cores"; }
case $label in
  '') minutes 7 && set -- -LE '^slow$' ;;
  # Bindings take as long whatever the data is: R's check, interpreters under valgrind, compilers.
  quick) minutes 3 && set -- -LE '^(slow|bindings)$' && export KNNG_TEST_SMALL=1 ;;
  slow) minutes 14 && set -- -L '^slow$' ;;
  all) minutes 18 && set -- ;;
  *) set -- -L "^$label\$" ;;
esac
cd "$build"
exec ctest --output-on-failure --no-tests=error -j "$(nproc)" "$@"
