#!/bin/sh
# The guide's R code runs as it stands on the page, in one session, and says what the page says.
#   guide.sh PAGE LIBRARY_FOLDER_OF_THE_PACKAGE WORK_FOLDER
# 77: R or a package that the page uses is missing; never where KNNG_CI=true.
set -eu
page=$1 library=$2 work=$3

missing() {
  echo "skipped: $1 is not installed"
  [ "${KNNG_CI:-}" = true ] && exit 1
  exit 77
}
command -v Rscript >/dev/null || missing R
# Not loaded here, as the page does that.
lacks=$(Rscript --vanilla -e 'for (name in c("igraph", "uwot", "BiocNeighbors", "dbscan", "RANN")) if (!nzchar(system.file(package = name))) cat(name, "")')
[ -z "$lacks" ] || missing "the R package $lacks"

rm -rf "$work"
mkdir -p "$work"
awk '/^```r$/ { code = 1; next } /^```/ { code = 0 } code' "$page" >"$work/page.R"
[ "$(wc -l <"$work/page.R")" -gt 25 ]
cd "$work"
R_LIBS="$library" Rscript --vanilla -e 'options(warn = 2)' -e 'source("page.R", echo = TRUE, max.deparse.length = Inf)' >said 2>&1 || {
  cat said
  exit 1
}
# What the page shows as printed was printed.
sed -n 's/^#> //p' page.R | while IFS= read -r line; do
  grep -qF -- "$line" said || { echo "not said: $line" && exit 1; }
done
