#!/bin/sh
# Graphs of real data beside other packages' (real_data.R).   real_data.sh LIBRARY_FOLDER_OF_THE_PACKAGE
# 77: R is missing; never where KNNG_CI=true.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
command -v Rscript >/dev/null || {
  echo "skipped: R is not installed"
  [ "${KNNG_CI:-}" = true ] && exit 1
  exit 77
}
exec Rscript --vanilla "$here/real_data.R" "$1"
