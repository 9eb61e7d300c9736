#!/bin/sh
# Programs of the tests under valgrind: nothing lost, nothing read that was not written.   leaks.sh PROGRAM...
set -eu
command -v valgrind >/dev/null || {
  echo "skipped: valgrind is needed"
  [ "${KNNG_CI:-}" != true ] && exit 77
  exit 1
}
for program in "$@"; do
  KNNG_THREADS=2 valgrind -q --leak-check=full --show-leak-kinds=definite,indirect \
    --errors-for-leak-kinds=definite,indirect --error-exitcode=9 "$program"
done
