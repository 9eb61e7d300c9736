# The same neighbours as other packages find, and distances that differ in no more than their rounding.

x <- some_points()

test_that("FNN finds the same", {
  need("FNN")
  peer <- FNN::get.knn(x[-300, ], 10)
  g <- knng(x[-300, ], 10)
  expect_identical(unname(g$nn.index), peer$nn.index)
  expect_equal(unname(g$nn.dist), peer$nn.dist, tolerance = 1e-14)
  peer <- FNN::get.knnx(x[1:200, ], x[201:250, ], 7)
  g <- knng(x[1:200, ], 7, query = x[201:250, ])
  expect_identical(unname(g$nn.index), peer$nn.index)
  expect_equal(unname(g$nn.dist), peer$nn.dist, tolerance = 1e-14)
})

test_that("RANN, which counts the point itself, finds the same", {
  need("RANN")
  peer <- RANN::nn2(x[-300, ], k = 11)
  g <- knng(x[-300, ], 10, self = TRUE)
  expect_identical(unname(g$nn.idx), peer$nn.idx)
  expect_equal(unname(g$nn.dists), peer$nn.dists, tolerance = 1e-14)
})

test_that("dbscan finds the same, and takes the object", {
  need("dbscan")
  peer <- dbscan::kNN(x[-300, ], 6)
  g <- knng(x[-300, ], 6)
  expect_identical(g$id, peer$id)
  expect_equal(g$dist, peer$dist, tolerance = 1e-14)
  expect_identical(dimnames(g$dist), dimnames(peer$dist))
  expect_identical(dbscan::comps(g), dbscan::comps(peer))
  expect_identical(dbscan::sNN(g, 4)$shared, dbscan::sNN(peer, 4)$shared)
  expect_identical(dbscan::kNN(g, 3)$id, peer$id[, 1:3])
  expect_identical(dbscan::adjacencylist(g), dbscan::adjacencylist(peer))
  expect_identical(sort(g), g)
  expect_s3_class(g, c("knng", "kNN", "NN"), exact = TRUE)
  self <- as_kNN(knng(x[-300, ], 6, self = TRUE))
  expect_identical(dbscan::kNN(self, 3)$id, peer$id[, 1:3])
  expect_identical(dbscan::comps(self), dbscan::comps(peer))
  for (other in list(knng(x, 6, self = TRUE), knng(x[1:100, ], 6, query = x))) {
    expect_error(dbscan::sNN(other, 4))
    expect_error(dbscan::kNN(other, 3))
    expect_error(dbscan::comps(other))
  }
})

test_that("an oracle in R agrees to the last digits for metrics of its own", {
  small <- abs(x[1:60, ])
  metrics <- list(
    manhattan = function(a, b) sum(abs(a - b)),
    chebyshev = function(a, b) max(abs(a - b)),
    canberra = function(a, b) sum(abs(a - b) / (abs(a) + abs(b))),
    braycurtis = function(a, b) sum(abs(a - b)) / sum(abs(a + b)),
    cosine = function(a, b) 1 - sum(a * b) / sqrt(sum(a^2) * sum(b^2)),
    correlation = function(a, b) 1 - cor(a, b),
    spearman = function(a, b) 1 - cor(a, b, method = "spearman"),
    hellinger = function(a, b) sqrt(sum((sqrt(a) - sqrt(b))^2) / 2),
    sqeuclidean = function(a, b) sum((a - b)^2)
  )
  for (metric in names(metrics)) {
    oracle <- by_definition(small, 5, metrics[[metric]])
    g <- knng(small, 5, metric = metric)
    expect_equal(unname(g$dist), oracle$dist, tolerance = 1e-12, info = metric)
    if (metric != "spearman") expect_identical(unname(g$id), oracle$id, info = metric) # full of ties, which cor() rounds apart
  }
  oracle <- by_definition(small, 5, function(a, b) sum(abs(a - b)^3)^(1 / 3))
  g <- knng(small, 5, metric = "minkowski", p = 3)
  expect_identical(unname(g$id), oracle$id)
  expect_equal(unname(g$dist), oracle$dist, tolerance = 1e-12)
})
