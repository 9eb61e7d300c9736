#!/bin/sh
# The kernels compile for arm64: sources that are made for several instruction sets break there alone, and at -O1 first.
#     arm64.sh SOURCE_DIR WORK_DIR HIGHWAY_INCLUDE XXHASH_INCLUDE
# Exits with 77 without Debian's cross compiler; where KNNG_CI=true that is a failure.
set -eu
root=$1 work=$2 highway=$3 xxhash=$4
compiler=aarch64-linux-gnu-g++
command -v $compiler >/dev/null || {
  echo "skipped: no $compiler (g++-aarch64-linux-gnu)"
  [ "${KNNG_CI:-}" != true ] || exit 1
  exit 77
}
# This machine's /usr/include is none of the other's.
mkdir -p "$work"
ln -sfn "$highway/hwy" "$work/hwy"
ln -sfn "$xxhash/xxhash.h" "$work/xxhash.h"
sources=$(grep -l 'hwy/foreach_target.h' -r "$root/src" --include='*.cpp')
[ "$(echo "$sources" | wc -l)" -ge 10 ]
echo "$sources" | xargs -P 2 -I FILE $compiler -std=c++20 -O1 -ffp-contract=off -fPIC -I"$root/src" -I"$root/include" \
  -isystem "$work" -S -o /dev/null FILE
echo "$sources" | wc -l
