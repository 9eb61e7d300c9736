#!/bin/sh
# A graph as .mtx and .tsv, read by R: Matrix::readMM() and read.delim().   test_read_matrix_market.sh KNNG
knng=$1
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname -- "$0")/common.sh"
need_numpy
Rscript --vanilla -e 'library(Matrix)' >/dev/null 2>&1 || {
  echo "skipped: Rscript with Matrix is needed (r-base-core, r-cran-matrix)"
  exit 77
}

"$python" -c 'import numpy as np; np.save("x.npy", np.random.default_rng(8).normal(size=(2000, 6)).astype("f4"))'
for format in mtx tsv npz; do
  expect 0 "$knng" build x.npy -k 7 -q -o g.$format
done
"$python" - <<'E'
import numpy as np
g = np.load("g.npz")
g["indices"].T.astype("f8").tofile("ids"); g["distances"].T.astype("f8").tofile("values")
E
cat >read.R <<'E'
library(Matrix)
n <- 2000L
ids <- matrix(readBin("ids", "double", n * 7), n) + 1
values <- matrix(readBin("values", "double", n * 7), n)
single <- function(x) readBin(writeBin(x, raw(), size = 4L), "double", length(x), size = 4L)
m <- readMM("g.mtx")
stopifnot(identical(dim(m), c(n, n)), length(m@x) == n * 7)
expected <- sparseMatrix(rep(1:n, 7), as.vector(ids), x = as.vector(values), dims = c(n, n))
found <- as(m, "CsparseMatrix")
stopifnot(identical(found@p, expected@p), identical(found@i, expected@i), identical(single(found@x), expected@x))
edges <- read.delim("g.tsv")
stopifnot(identical(names(edges), c("source", "target", "weight")), all(edges$source == rep(0:(n - 1L), each = 7)),
          all(edges$target + 1 == as.vector(t(ids))), identical(single(edges$weight), as.vector(t(values))))
E
expect 0 Rscript --vanilla read.R
echo "all right"
