# One way in R to a graph of Fashion-MNIST, k = 10, in a process of its own; tests/bindings/speed.py calls it.
#   Rscript bench.R WAY FILE N      FILE: N rows of 784 doubles, column after column
# Prints seconds of the clock and of all processors, and the largest memory in kB; of N = 0 that of R with the package.
arguments <- commandArgs(TRUE)
way <- arguments[1]
n <- as.integer(arguments[3])

bioc <- function(p) BiocNeighbors::findKNN(x, 10, BNPARAM = p, warn.ties = FALSE)
ways <- list(
  knng = function() knng::knng(x, 10),
  knng_integers = function() knng::knng(x, 10),
  FNN = function() FNN::get.knn(x, 10, algorithm = "brute"),
  RANN = function() RANN::nn2(x, k = 11),
  dbscan = function() dbscan::kNN(x, 10),
  Exhaustive = function() bioc(BiocNeighbors::ExhaustiveParam()),
  Kmknn = function() bioc(BiocNeighbors::KmknnParam()),
  Annoy = function() bioc(BiocNeighbors::AnnoyParam()),
  Hnsw = function() bioc(BiocNeighbors::HnswParam())
)
package <- if (startsWith(way, "knng")) "knng" else if (way %in% c("FNN", "RANN", "dbscan")) way else "BiocNeighbors"
invisible(loadNamespace(package))
used <- c(user.self = 0, sys.self = 0, elapsed = 0)
if (n > 0L) {
  x <- readBin(arguments[2], if (way == "knng_integers") "integer" else "double", n * 784L)
  dim(x) <- c(n, 784L)
  used <- system.time(ways[[way]]())
}
peak <- sub("\\D*(\\d+) kB", "\\1", grep("^VmHWM", readLines("/proc/self/status"), value = TRUE))
cat(used[["elapsed"]], used[["user.self"]] + used[["sys.self"]], peak, "\n")
