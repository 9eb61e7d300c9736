# Lists of other packages become graphs of this one.

x <- some_points(119, 5)[-119, ] # rows without ties, on whose order packages agree
g <- knng(x, 6)

test_that("lists that FNN, RANN, dbscan and BiocNeighbors found", {
  same <- function(lists, itself = FALSE) {
    made <- as_knng(lists, metric = "l2")
    expect_s3_class(made, c("knng", if (!itself) c("kNN", "NN")), exact = TRUE)
    expect_identical(made$metric, "euclidean")
    expect_identical(made$self, itself)
    expect_identical(made$k, 6L)
    expect_identical(unname(made$id)[, seq(1 + itself, 6 + itself)], unname(g$id))
    expect_equal(as_sparse(made, "mutual")@x, as_sparse(g, "mutual")@x)
    if (!itself) expect_identical(as_sparse(made, "snn:jaccard")@x, as_sparse(g, "snn:jaccard")@x)
    expect_output(print(summary(made)), "another program")
  }
  same(list(id = g$id, dist = g$dist))
  need("FNN")
  same(FNN::get.knn(x, 6))
  need("RANN")
  same(RANN::nn2(x, k = 7), itself = TRUE)
  need("dbscan")
  same(dbscan::kNN(x, 6))
  need("BiocNeighbors")
  same(BiocNeighbors::findKNN(x, 6))
})

test_that("what is known goes into a file and into a check", {
  three <- knng(x, 4, metric = "minkowski", p = 3)
  made <- as_knng(list(idx = three$id, dist = three$dist), metric = "minkowski", p = 3)
  expect_identical(rownames(made$id), rownames(x))
  expect_identical(made$names, rownames(x))
  expect_identical(knng_check(made, x), 0)
  file <- tempfile(fileext = ".knng")
  write_knng(made, file)
  expect_identical(read_knng(file, names = rownames(x)), made)
  expect_identical(as_knng(g), g)
  for (call in list(function() as_knng(g, "cosine"), function() as_knng(g, self = FALSE), function() as_knng(g, names = rownames(x))))
    expect_error(call(), "a graph of this package already", class = "knng_error")
  expect_identical(as_knng(as_kNN(three))$metric, "minkowski") # as the object says
  expect_identical(as_knng(list(id = g$id, dist = g$dist))$metric, "unknown")
  like <- knng(x, 4, metric = "cosine", value = "similarity")
  expect_identical(knng_check(as_knng(list(id = like$id, dist = like$dist), "cosine", value = "similarity"), x), 0)
})

test_that("queries, and lists that are shorter", {
  q <- knng(x, 3, query = x[1:4, ] + 1)
  made <- as_knng(list(id = q$id, dist = q$dist), metric = "euclidean", points = nrow(x), names = rownames(x))
  expect_true(made$query)
  expect_identical(as.data.frame(made), as.data.frame(q))
  near <- list(nn.idx = matrix(c(2, 1, 0, 3, NA, 2), 3), nn.dists = matrix(c(1, 1, 1e154, 2, NaN, 2), 3))
  near$nn.idx[3, 1] <- 0
  made <- as_knng(near)
  expect_identical(unname(made$id), matrix(c(2L, 1L, 0L, 3L, 0L, 2L), 3))
  expect_identical(unname(made$dist), matrix(c(1, 1, Inf, 2, Inf, 2), 3))
  expect_identical(nrow(as.data.frame(made)), 4L)
})

test_that("lists in no order stay as they are, and are none of dbscan's", {
  turned <- list(id = g$id[, 6:1], dist = g$dist[, 6:1])
  made <- as_knng(turned, metric = "euclidean")
  expect_s3_class(made, "knng", exact = TRUE)
  expect_false(made$sort)
  expect_identical(unname(made$id), unname(turned$id))
  expect_identical(as_kNN(made)$id, g$id) # which puts them in order
  expect_identical(as_kNN(made)$dist, g$dist)
  file <- tempfile(fileext = ".knng")
  write_knng(made, file)
  expect_false(read_knng(file)$sort)
  like <- knng(x, 4, metric = "cosine", value = "similarity")
  expect_true(as_knng(list(id = like$id, dist = like$dist), "cosine", value = "similarity")$sort)
  # Where there is no neighbour, and the row itself in front, do not count.
  expect_true(as_knng(list(id = matrix(c(1, 2, 2, 0), 2), dist = matrix(c(5, 0, 1, 0), 2)))$sort)
})

test_that("the row itself goes to the front, where lists have it", {
  twice <- rbind(x[1:30, ], x[1:30, ])
  own <- knng(twice, 3, self = TRUE)
  mixed <- list(id = own$id[, c(2, 1, 3, 4)], dist = own$dist[, c(2, 1, 3, 4)]) # the duplicate first
  mixed$id[5, ] <- own$id[5, ]
  for (self in list(NULL, TRUE)) {
    made <- as_knng(mixed, metric = "euclidean", self = self)
    expect_true(made$self)
    expect_identical(made$k, 3L)
    expect_identical(unname(made$id), unname(own$id))
    expect_identical(unname(made$dist), unname(own$dist))
  }
  expect_false(as_knng(mixed, self = FALSE)$self)
  expect_identical(unname(as_knng(mixed, self = FALSE)$id), unname(mixed$id))
  some <- mixed
  some$id[7, 2] <- 1L
  e <- expect_error(as_knng(some), "row 1 has itself in its list and row 7 has not", class = "knng_error")
  expect_match(conditionMessage(e), "self = FALSE")
  expect_error(as_knng(some, self = TRUE), "row 7 has not itself", class = "knng_error")
  expect_false(as_knng(some, self = FALSE)$self)
  expect_error(as_knng(list(id = g$id, dist = g$dist), self = TRUE), "row 1 has not itself", class = "knng_error")
  expect_error(as_knng(mixed, self = NA), "self must be", class = "knng_error")
  expect_error(as_knng(mixed, self = TRUE, points = 60), "queries", class = "knng_error")
  expect_false(as_knng(mixed, points = 60)$self) # of queries a number is no row's own
  # An inner product with itself need not be the largest.
  far <- list(id = matrix(c(2L, 1L, 1L, 2L), 2), dist = matrix(c(-4, -4, -1, -9), 2))
  expect_error(as_knng(far, "inner_product"), "row 1 has itself in its list, but others are nearer", class = "knng_error")
  expect_identical(unname(as_knng(far, "inner_product", self = TRUE)$id), matrix(c(1L, 2L, 2L, 1L), 2))
  like <- knng(x, 4, metric = "cosine", value = "similarity", self = TRUE)
  made <- as_knng(list(id = like$id[, c(2, 1, 3:5)], dist = like$dist[, c(2, 1, 3:5)]), "cosine", value = "similarity", self = TRUE)
  expect_identical(unname(made$id), unname(like$id))
  need("RANN")
  equal <- rbind(x[1:50, ], x[1:10, ], x[1:10, ])
  made <- as_knng(RANN::nn2(equal, k = 6), metric = "euclidean")
  expect_true(made$self)
  expect_identical(unname(made$id[, 1]), 1:70)
  expect_error(as_knng(RANN::nn2(equal, k = 2)), "self = FALSE", class = "knng_error")
})

test_that("what is no graph", {
  refused <- function(call, text) {
    e <- expect_error(call, class = "knng_error")
    expect_match(conditionMessage(e), text, fixed = TRUE)
  }
  refused(as_knng(1:3), "lists is a vector of type integer")
  refused(as_knng(list(a = 1)), "lists has no member id, nn.index")
  refused(as_knng(list(id = g$id)), "lists has no member dist")
  refused(as_knng(list(id = "a", dist = g$dist)), "lists: id is a vector of type character")
  refused(as_knng(list(id = g$id, dist = g$dist[, -1])), "lists: ids are 118 x 6, distances 118 x 5")
  refused(as_knng(list(id = g$id + 0.5, dist = g$dist)), "is no number of a point")
  far <- g$id
  far[5, 2] <- 200L
  refused(as_knng(list(id = far, dist = g$dist)), "(row 5, column 2 of lists)")
  refused(as_knng(list(id = g$id, dist = g$dist), metric = "round"), "metric=round: it takes")
  refused(as_knng(list(id = g$id, dist = g$dist), metric = "cosine", p = 3), "p goes with metric minkowski")
  refused(as_knng(list(id = g$id, dist = g$dist), names = "a"), "names has 1 entries; the graph is of 118 points")
  refused(as_knng(list(id = g$id, dist = g$dist), points = 0), "points=0")
})
