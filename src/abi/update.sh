#!/bin/sh
# Writes the ABI of the library as libabigail sees it: the baseline that tests/abi/baseline.sh compares with.
#   sh src/abi/update.sh [FILE]    FILE: src/abi/libknng.abi
# Needs abigail-tools. Builds without optimisation and with debug information, which is where abidw reads types from.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
out=${1:-$root/src/abi/libknng.abi}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake -S "$root" -B "$work" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG='-g -O0' -DKNNG_BUILD_CLI=OFF \
  -DKNNG_FORMATS=OFF -DKNNG_BUILD_TESTS=OFF -DKNNG_BUILD_EXAMPLES=OFF -DKNNG_BUILD_DOCS=OFF >/dev/null
cmake --build "$work" --target knng --parallel "$(nproc)" >/dev/null
# Without it abidw writes a file without types, and every comparison passes.
readelf -SW "$work/lib/libknng.so" | grep -q '\.debug_info' || {
  echo "the library has no debug information" >&2
  exit 1
}
abidw --headers-dir "$root/include" --drop-private-types --exported-interfaces-only --no-comp-dir-path \
  --no-corpus-path --no-show-locs --out-file "$work/abi" "$work/lib/libknng.so"
grep -q 'knng_build' "$work/abi"
sed "s|$root/||g" "$work/abi" >"$out" # the same file wherever it is made
