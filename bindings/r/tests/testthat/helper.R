# Shared by the tests. No test knows the library's tables.

options(knng.progress = FALSE)

# In continuous integration nothing is skipped for a package that is missing.
need <- function(package) {
  if (!identical(Sys.getenv("KNNG_CI"), "true")) testthat::skip_if_not_installed(package)
}

# Points with duplicates, ties and names.
some_points <- function(n = 300, d = 8, seed = 1) {
  set.seed(seed)
  x <- matrix(rnorm(n * d), n, d)
  x[n, ] <- x[1, ]
  rownames(x) <- paste0("p", seq_len(n))
  x
}

# The definition, written apart: all distances, the smaller row number first among equals. f(x, y) is a distance of two rows.
by_definition <- function(x, k, f) {
  n <- nrow(x)
  id <- matrix(0L, n, k)
  dist <- matrix(0, n, k)
  for (i in seq_len(n)) {
    d <- vapply(seq_len(n), function(j) f(x[i, ], x[j, ]), 0)
    d[i] <- Inf
    id[i, ] <- order(d, seq_len(n))[seq_len(k)]
    dist[i, ] <- d[id[i, ]]
  }
  list(id = id, dist = dist)
}
