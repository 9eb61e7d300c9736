#!/bin/sh
# The exact 10-nearest-neighbour graph of Fashion-MNIST (70,000 images of 28 x 28 pixels), from a clean checkout:
# installs what is missing (Debian 12; as root or with sudo), builds into .build/, computes, and shows what came out.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$root/.build
images=/usr/share/datasets/fashion-mnist

# shellcheck source-path=SCRIPTDIR source=../../src/cmake/debian-packages.sh
. "$root/src/cmake/debian-packages.sh"
need g++ cmake ninja-build libhwy-dev libxxhash-dev libcli11-dev zlib1g-dev libzip-dev libpng-dev dataset-fashion-mnist

echo "Building in $build (takes a minute or two the first time; what the tools say is in fashion-mnist.log there)"
if [ -f "$build/CMakeCache.txt" ]; then
  set -- # whatever generator made it
else
  set -- -G Ninja
fi
mkdir -p "$build"
if ! { cmake -S "$root" -B "$build" "$@" -DCMAKE_BUILD_TYPE=Release -DKNNG_BUILD_CLI=ON -DKNNG_FORMATS=ON \
  -DKNNG_BUILD_EXAMPLES=ON && cmake --build "$build" --parallel "$(nproc)" --target knng_cli fashion_mnist; } \
  >"$build/fashion-mnist.log" 2>&1; then
  cat "$build/fashion-mnist.log" >&2
  exit 1
fi

echo
"$build/bin/knng" build "$images/train-images-idx3-ubyte.gz" "$images/t10k-images-idx3-ubyte.gz" -k 10 --report \
  -o "$build/fashion-mnist.npz"
echo
"$build/bin/fashion_mnist" "$build/fashion-mnist.npz" "$images" "$build/fashion-mnist.png"
echo
echo "Graph:   $build/fashion-mnist.npz"
echo "Picture: $build/fashion-mnist.png"
