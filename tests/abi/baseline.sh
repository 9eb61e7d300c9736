#!/bin/sh
# The interface beside its baseline. Before version 1.0 a difference is told, from then on it is an error.
#   baseline.sh SOURCE_FOLDER
set -eu
root=$1
baseline=$root/src/abi/libknng.abi
command -v abidiff >/dev/null 2>&1 || {
  echo "skipped: no abidiff (package abigail-tools)"
  exit 77
}
[ -f "$baseline" ] || {
  echo "skipped: no baseline (sh src/abi/update.sh makes one)"
  exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$root/src/abi/update.sh" "$work/now.abi"
status=0
abidiff --no-added-syms "$baseline" "$work/now.abi" || status=$?
# 1, 2: abidiff failed; 4: something changed; 8: callers break.
[ $((status & 3)) -eq 0 ] || exit 1
major=$(sed -n 's/^project(knng VERSION \([0-9]*\)\..*/\1/p' "$root/CMakeLists.txt")
if [ $((status & 12)) -ne 0 ]; then
  echo "the interface differs from src/abi/libknng.abi"
  [ "$major" -eq 0 ] || exit 1
fi
