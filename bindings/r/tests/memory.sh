#!/bin/sh
# The package's C under valgrind, and with garbage collected at every few allocations: nothing is read after its end,
# written past its end, or lost.   memory.sh LIBRARY_FOLDER_OF_THE_PACKAGE
# 77: R or valgrind is missing; never where KNNG_CI=true.
set -eu
library=$1
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

missing() {
  echo "skipped: $1 is not installed"
  [ "${KNNG_CI:-}" = true ] && exit 1
  exit 77
}
command -v Rscript >/dev/null || missing R
command -v valgrind >/dev/null || missing valgrind

Rscript --vanilla "$here/memory.R" "$library" torture 23

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# R's own code reads what valgrind takes for uninitialised; losses count where this package or the library allocated.
R --vanilla --no-echo -d "valgrind --leak-check=full --show-leak-kinds=definite --undef-value-errors=no \
  --suppressions=$here/loader.supp --log-file=$log" \
  --args "$library" plain <"$here/memory.R"
if grep -qE 'Invalid (read|write|free)|Mismatched free' "$log" ||
  awk '/definitely lost in loss record/ { block = "" } { block = block $0 "\n" }
       / $/ || /==$/ { if (block ~ /definitely lost/ && block ~ /knng/) found = 1; block = "" } END { exit !found }' "$log"; then
  cat "$log" >&2
  exit 1
fi
grep -q 'ERROR SUMMARY' "$log"
