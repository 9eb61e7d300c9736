# BiocNeighbors' functions with this package behind them.

need("BiocNeighbors")
x <- some_points(299, 8)[-299, ]
findKNN <- BiocNeighbors::findKNN
queryKNN <- BiocNeighbors::queryKNN

test_that("a parameter is one of theirs", {
  p <- KnngParam()
  expect_true(is(p, "BiocNeighborParam"))
  expect_output(print(p), "KnngParam")
  expect_error(KnngParam("euclid"), "metric=euclid", class = "knng_error")
  expect_error(KnngParam(thread = 2), "unknown setting", class = "knng_error")
  expect_error(KnngParam("cosine", value = "similarity"), "value is no setting of KnngParam", class = "knng_error")
  expect_error(KnngParam(self = TRUE), "self is no setting of KnngParam", class = "knng_error")
})

test_that("the lists are those of an exhaustive search", {
  for (distance in c("Euclidean", "Manhattan", "Cosine")) {
    ours <- KnngParam(distance, threads = 1)
    theirs <- BiocNeighbors::ExhaustiveParam(distance = distance)
    same <- function(f) {
      a <- f(ours)
      b <- f(theirs)
      expect_identical(a$index, b$index, info = distance)
      expect_equal(a$distance, b$distance, tolerance = 1e-13, info = distance)
    }
    same(function(p) findKNN(x, 5, BNPARAM = p))
    same(function(p) findKNN(x, 5, BNPARAM = p, subset = c("p7", "p3")))
    same(function(p) findKNN(x, 5, BNPARAM = p, subset = 10:20, last = 2))
    same(function(p) findKNN(x, 5, BNPARAM = p, get.distance = FALSE))
    same(function(p) findKNN(x, 5, BNPARAM = p, get.index = FALSE))
    same(function(p) queryKNN(x, x[1:9, ] + 1, 5, BNPARAM = p))
    same(function(p) queryKNN(x, x[1:9, ] + 1, 5, BNPARAM = p, subset = 2:4))
    same(function(p) suppressWarnings(findKNN(x[1:4, ], 9, BNPARAM = p)))
  }
  expect_warning(findKNN(x[1:4, ], 9, BNPARAM = KnngParam()), "capped at the number of observations minus 1")
})

test_that("every name of cosine is theirs", {
  for (name in c("cosine", "COSINE", "cos")) expect_identical(findKNN(x, 5, BNPARAM = KnngParam(name)), findKNN(x, 5, BNPARAM = KnngParam("Cosine")))
})

test_that("what looks within a distance says that it is not for k neighbours", {
  refused <- function(call) expect_error(call, "looks within a distance, and KnngParam is for k neighbours", class = "knng_error")
  refused(BiocNeighbors::findNeighbors(x, threshold = 1, BNPARAM = KnngParam()))
  refused(BiocNeighbors::queryNeighbors(x, x[1:3, ], threshold = 1, BNPARAM = KnngParam()))
  skip_if(utils::packageVersion("BiocNeighbors") >= "1.99", "its index is opaque from 2.0 on")
  index <- BiocNeighbors::buildIndex(x, BNPARAM = KnngParam())
  refused(BiocNeighbors::findNeighbors(BNINDEX = index, threshold = 1))
  refused(BiocNeighbors::queryNeighbors(BNINDEX = index, query = x[1:3, ], threshold = 1, BNPARAM = KnngParam()))
})

test_that("an index, as versions before 2 have it", {
  skip_if(utils::packageVersion("BiocNeighbors") >= "1.99", "its index is opaque from 2.0 on")
  index <- BiocNeighbors::buildIndex(x, BNPARAM = KnngParam("Manhattan"))
  theirs <- BiocNeighbors::buildIndex(x, BNPARAM = BiocNeighbors::ExhaustiveParam(distance = "Manhattan"))
  expect_identical(dim(index), dim(theirs))
  expect_equal(findKNN(BNINDEX = index, k = 3), findKNN(BNINDEX = theirs, k = 3))
  expect_equal(findKNN(BNINDEX = index, k = 3, BNPARAM = KnngParam("Manhattan")), findKNN(BNINDEX = theirs, k = 3))
  expect_equal(queryKNN(BNINDEX = index, query = x[1:4, ], k = 3), queryKNN(BNINDEX = theirs, query = x[1:4, ], k = 3))
  expect_equal(queryKNN(BNINDEX = index, query = t(x[1:4, ]), k = 3, transposed = TRUE),
               queryKNN(BNINDEX = theirs, query = t(x[1:4, ]), k = 3, transposed = TRUE))
})

test_that("functions that are built on them", {
  expect_identical(BiocNeighbors::findMutualNN(x[1:100, ], x[101:200, ], 5, BNPARAM = KnngParam()),
                   BiocNeighbors::findMutualNN(x[1:100, ], x[101:200, ], 5, BNPARAM = BiocNeighbors::KmknnParam()))
})
