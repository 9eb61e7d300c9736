# Real data against other packages: microarrays, single cells, integers full of ties. Each part needs packages of Debian
# and is left out, saying so, where they are missing; never where KNNG_CI=true.
#   Rscript real_data.R LIBRARY_FOLDER_OF_THE_PACKAGE

library(knng, lib.loc = commandArgs(TRUE)[1])
options(knng.progress = FALSE)
left_out <- 0L

part <- function(title, packages, run) {
  missing <- packages[!vapply(packages, requireNamespace, TRUE, quietly = TRUE)]
  if (length(missing) > 0L) {
    left_out <<- left_out + 1L
    return(cat(title, ": skipped, without ", toString(missing), "\n", sep = ""))
  }
  seconds <- system.time(run())[["elapsed"]]
  cat(sprintf("%s: agrees (%.1f s)\n", title, seconds))
}

# Distances within rounding; the same neighbours wherever the peer's distances do not tie within rounding.
agree <- function(g, id, dist, tolerance = 1e-12) {
  stopifnot(identical(dim(g$id), dim(id)), all(abs(g$dist - dist) <= tolerance * (1 + abs(dist))))
  gap <- tolerance * (1 + abs(dist))
  before <- cbind(TRUE, dist[, -1] - dist[, -ncol(dist)] > gap[, -1])
  after <- cbind(before[, -1], FALSE) # the last may tie with one that is not shown
  alone <- before & after
  stopifnot(mean(alone) > 0.5 || ncol(id) == 1, identical(g$id[alone], id[alone]))
}

part("12,625 genes by Euclidean distance, FNN", c("ALL", "Biobase", "FNN"), function() {
  utils::data("ALL", package = "ALL", envir = environment())
  x <- Biobase::exprs(ALL)
  g <- knng(x, 10)
  some <- seq.int(1L, nrow(x), 20L)
  peer <- FNN::get.knnx(x, x[some, ], 11, algorithm = "brute")
  stopifnot(identical(peer$nn.index[, 1], some), identical(rownames(g$id), rownames(x)))
  agree(list(id = unname(g$id[some, ]), dist = unname(g$dist[some, ])), peer$nn.index[, -1], peer$nn.dist[, -1])
  stopifnot(knng_check(g, x, sample = 200) == 0)
})

part("12,625 genes by Pearson and Spearman correlation, cor()", c("ALL", "Biobase"), function() {
  utils::data("ALL", package = "ALL", envir = environment())
  x <- Biobase::exprs(ALL)
  some <- seq.int(1L, nrow(x), 50L)
  for (method in c("pearson", "spearman")) {
    g <- knng(x, 8, query = x[some, ], leave_out = some, metric = method, value = "similarity")
    r <- stats::cor(t(x[some, ]), t(x), method = method)
    r[cbind(seq_along(some), some)] <- -Inf
    id <- t(apply(r, 1, order, decreasing = TRUE))[, 1:8]
    agree(list(id = unname(g$id), dist = -unname(g$dist)), unname(id),
          matrix(-r[cbind(as.vector(row(id)), as.vector(id))], nrow(id)))
  }
})

part("271 cells, columns of 47,192 genes, FNN and BiocNeighbors", c("HSMMSingleCell", "FNN", "BiocNeighbors", "Matrix"), function() {
  utils::data("HSMM_expr_matrix", package = "HSMMSingleCell", envir = environment())
  x <- log1p(HSMM_expr_matrix)
  g <- knng(x, 15, points = "columns")
  stopifnot(identical(rownames(g$id), colnames(x)))
  sparse <- knng(Matrix::Matrix(x, sparse = TRUE), 15, points = "columns")
  stopifnot(identical(sparse$id, g$id), identical(sparse$dist, g$dist))
  peer <- FNN::get.knn(t(x), 15, algorithm = "brute")
  agree(list(id = unname(g$id), dist = unname(g$dist)), peer$nn.index, peer$nn.dist)
  x <- x[order(-apply(x, 1, stats::var))[1:2000], ] # as is usual, and as their search by k-means is slow beyond
  for (distance in c("Euclidean", "Manhattan", "Cosine")) {
    ours <- BiocNeighbors::findKNN(t(x), 15, BNPARAM = KnngParam(distance))
    theirs <- BiocNeighbors::findKNN(t(x), 15, BNPARAM = BiocNeighbors::KmknnParam(distance = distance))
    agree(list(id = ours$index, dist = ours$distance), theirs$index, theirs$distance, 1e-7) # cosine: from 1 - r
  }
})

part("57 arrays as columns of 22,283 genes, FNN, RANN, dbscan and BiocNeighbors",
     c("bladderbatch", "Biobase", "FNN", "RANN", "dbscan", "BiocNeighbors"), function() {
  utils::data("bladderdata", package = "bladderbatch", envir = environment())
  x <- Biobase::exprs(bladderEset)
  g <- knng(x, 10, points = "columns")
  stopifnot(identical(dim(g$id), c(57L, 10L)), identical(rownames(g$id), colnames(x)))
  ours <- list(id = unname(g$id), dist = unname(g$dist))
  y <- t(x)
  stopifnot(knng_check(g, y) == 0)
  fnn <- FNN::get.knn(y, 10, algorithm = "brute")
  agree(ours, fnn$nn.index, fnn$nn.dist)
  rann <- RANN::nn2(y, k = 11) # counts the array itself
  stopifnot(identical(rann$nn.idx[, 1], seq_len(57L)))
  agree(ours, rann$nn.idx[, -1], rann$nn.dists[, -1])
  dbscan <- dbscan::kNN(y, 10)
  agree(ours, unname(dbscan$id), unname(dbscan$dist))
  bioc <- BiocNeighbors::findKNN(y, 10, BNPARAM = BiocNeighbors::KmknnParam())
  agree(ours, bioc$index, bioc$distance)
})

part("58,000 x 9 integers full of ties, RANN", c("mlbench", "RANN"), function() {
  utils::data("Shuttle", package = "mlbench", envir = environment())
  x <- as.matrix(Shuttle[, 1:9])
  g <- knng(x, 10, self = TRUE)
  peer <- RANN::nn2(x, k = 11)
  stopifnot(identical(unname(g$dist), peer$nn.dists)) # roots of whole numbers: to the bit
  storage.mode(x) <- "integer"
  again <- knng(x, 10, self = TRUE)
  stopifnot(identical(again$id, g$id), identical(again$dist, g$dist))
  stopifnot(sum(g$info$ties) > 1000, knng_check(g, x, sample = 200) == 0)
})

part("20,000 letters x 16, dbscan", c("mlbench", "dbscan"), function() {
  utils::data("LetterRecognition", package = "mlbench", envir = environment())
  x <- as.matrix(LetterRecognition[, -1])
  g <- knng(x, 10)
  stopifnot(identical(unname(g$dist), unname(dbscan::kNN(x, 10)$dist)))
  stopifnot(identical(as.integer(table(dbscan::comps(g))), summary(g)$components))
})

if (left_out > 0L && identical(Sys.getenv("KNNG_CI"), "true")) quit(status = 1)
if (left_out == 6L) quit(status = 77)
