#!/bin/sh
# Writes the ABI of the library as libabigail sees it: the baseline that tests/abi/baseline.sh compares with. A new one
# needs a line in docs/versioning.md.
#   sh src/abi/update.sh BUILD_FOLDER [FILE]    FILE: src/abi/libknng.abi
# Needs abigail-tools. Builds the library once more with debug information (CMakeLists.txt).
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$1 out=${2:-$root/src/abi/libknng.abi}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --build "$build" --target knng_abi >"$work/log" || {
  cat "$work/log" >&2
  exit 1
}
library=$build/src/abi/libknng.so
# Without it abidw writes a file without types, and every comparison passes.
readelf -SW "$library" | grep -q '\.debug_info' || {
  echo "the library has no debug information" >&2
  exit 1
}
abidw --headers-dir "$root/include" --drop-private-types --exported-interfaces-only --no-comp-dir-path \
  --no-corpus-path --no-show-locs --out-file "$work/abi" "$library"
for seen in "name='knng_build'" "class-decl name='knng_matrix' size-in-bits='640'"; do
  grep -qF "$seen" "$work/abi" || {
    echo "abidw did not see $seen" >&2
    exit 1
  }
done
sed "s|path='[^']*/src/|path='src/|; s|$root/||g" "$work/abi" >"$out" # the same file wherever it is made
