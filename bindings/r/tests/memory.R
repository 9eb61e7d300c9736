# What memory.sh runs under valgrind and with a collection of garbage at every few allocations: each routine of C, in
# success, in failure and interrupted.   Rscript memory.R LIBRARY_FOLDER_OF_THE_PACKAGE torture|plain
arguments <- commandArgs(TRUE)
library(knng, lib.loc = arguments[1])
suppressPackageStartupMessages(library(Matrix))
options(knng.progress = FALSE)
set.seed(1)
x <- matrix(rnorm(40 * 3), 40, dimnames = list(paste0("p", 1:40), NULL))
whole <- matrix(1:60, 20)
sparse <- rsparsematrix(30, 5, 0.3)
file <- tempfile(fileext = ".fvecs")
to <- file(file, "wb")
for (i in 1:20) {
  writeBin(2L, to, size = 4L, endian = "little")
  writeBin(c(i, i^2) + 0, to, size = 4L, endian = "little")
}
close(to)
refused <- function(call) stopifnot(inherits(tryCatch(call, error = identity), "error"))

if (arguments[2] == "torture") invisible(gctorture2(as.integer(arguments[3])))
g <- knng(x, 4, threads = 2, progress = function(stage, done, total) NULL)
q <- knng(x, 4, query = whole[1:2, ] + 0L, leave_out = c(1, 0), threads = 1)
w <- knng(whole, 2, points = "columns", metric = "l1")
s <- knng(sparse, 3, query = sparse[1:2, ])
f <- knng(file, 2, query = file)
m <- as_sparse(g, "snn")
d <- as_sparse(g)
first <- knng_check(g, x)
plan <- knng_estimate(x, 3)
said <- summary(g)
kept <- tempfile(fileext = ".knng")
write_knng(g, kept)
back <- read_knng(kept, names = rownames(x))
single <- knng(x, 4, value_type = "f32")
write_knng(single, kept)
stopifnot(knng_check(read_knng(kept), x) == 0)
refused(write_knng(g, tempfile("none/")))
refused(read_knng(tempfile()))
refused(read_knng(file))
tables <- list(knng_settings(), knng_metrics(), knng_devices(), knng_version())
refused(knng(x, 40))
refused(knng(x, 2, metric = "no"))
refused(knng(x, 2, query = whole[, 1:2]))
refused(knng(x, 2, query = x, leave_out = 1:40 + 40))
refused(knng(replace(x, 5, NaN), 2))
refused(knng(as(replace(x, 5, NaN), "dgCMatrix"), 2))
refused(knng(tempfile(), 2))
refused(as_sparse(g, "no"))
refused(knng(x, 2, progress = function(...) stop("mine")))
if (arguments[2] == "plain") {
  # Ctrl-C from another process, while points enough for seconds are compared.
  many <- matrix(rnorm(6000 * 40), 6000)
  system2("sh", c("-c", shQuote(sprintf("sleep 1; kill -INT %d", Sys.getpid()))), wait = FALSE)
  ended <- tryCatch({
    repeat knng(many, 5, metric = "canberra", device = "cpu", threads = 1)
  }, interrupt = function(e) "interrupt")
  stopifnot(identical(ended, "interrupt"))
}
invisible(gctorture(FALSE))
invisible(gc())

# With nothing left to do, the answers are those of an undisturbed run.
stopifnot(identical(knng(x, 4)[c("id", "dist")], g[c("id", "dist")]), first == 0, identical(as_sparse(g, "snn"), m),
          identical(as_sparse(g), d), identical(back$dist, g$dist), identical(knng(as.matrix(sparse), 3, query = as.matrix(sparse[1:2, ]))$dist, s$dist),
          identical(dim(q$id), c(2L, 4L)), identical(dim(f$id), c(20L, 2L)), identical(dim(w$id), c(3L, 2L)))
cat("done\n")
