# One way to a graph of Fashion-MNIST, k = 10, in a process of its own: processor seconds of the call, peak memory.
#   Rscript bench.R LIBRARY_FOLDER ROWS FILE WAY     WAY: write makes the file of rows; else a name from the list below
arguments <- commandArgs(TRUE)
n <- as.integer(arguments[2])
file <- arguments[3]
way <- arguments[4]

if (way == "write") {
  source <- gzfile("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz", "rb")
  invisible(readBin(source, "raw", 16L))
  x <- matrix(readBin(source, "integer", n * 784L, size = 1L, signed = FALSE), n, 784L, byrow = TRUE)
  writeBin(as.vector(x) + 0, file)
  quit()
}
x <- readBin(file, "double", n * 784L)
dim(x) <- c(n, 784L)
bioc <- function(p) BiocNeighbors::findKNN(x, 10, BNPARAM = p, warn.ties = FALSE)
ways <- list(
  knng = function() knng::knng(x, 10, threads = 2, device = "cpu"),
  knng_integers = function() knng::knng(x, 10, threads = 2, device = "cpu"),
  FNN = function() FNN::get.knn(x, 10, algorithm = "brute"),
  RANN = function() RANN::nn2(x, k = 11),
  dbscan = function() dbscan::kNN(x, 10),
  Exhaustive = function() bioc(BiocNeighbors::ExhaustiveParam()),
  Kmknn = function() bioc(BiocNeighbors::KmknnParam()),
  Annoy = function() bioc(BiocNeighbors::AnnoyParam()),
  Hnsw = function() bioc(BiocNeighbors::HnswParam())
)
if (way == "knng_integers") storage.mode(x) <- "integer"
for (package in c(if (startsWith(way, "knng")) "knng", if (!startsWith(way, "knng")) "BiocNeighbors"))
  loadNamespace(package, lib.loc = if (package == "knng") arguments[1])
used <- system.time(ways[[way]]())
peak <- sub("\\D*(\\d+) kB", "\\1", grep("^VmHWM", readLines("/proc/self/status"), value = TRUE))
cat(sprintf("%s %d rows: %.2f s of processors, %.2f s of wall, peak %.0f MB\n", way, n, used[["user.self"]] + used[["sys.self"]],
            used[["elapsed"]], as.numeric(peak) / 1000))
