# Bad input: an R error that names argument, value and limit, in R's counting.

x <- some_points(40, 4)
refused <- function(call, text) {
  e <- expect_error(call, class = "knng_error")
  expect_match(conditionMessage(e), text, fixed = TRUE)
  invisible(e)
}

test_that("k", {
  e <- refused(knng(x, 40), "k=40 needs at least 41 rows, the data set has 40")
  expect_identical(deparse(conditionCall(e)), "knng(x, 40)")
  expect_identical(e$argument, "k")
  expect_identical(e$given, 40)
  refused(knng(x, 41, query = x), "k=41")
  refused(knng(x, 0), "k=0 is not in 1 to 39")
  refused(knng(x, 0, query = x), "k=0 is not in 1 to 40")
  refused(knng(t(x), 0, points = "columns"), "k=0 is not in 1 to 39")
  refused(knng_estimate(x, 0), "k=0 is not in 1 to 39")
  refused(knng_estimate(x, 0, queries = 5), "k=0 is not in 1 to 40")
  refused(knng(x, -1), "k=-1")
  refused(knng(x, 1e300), "k=1e+300 is not in 1 to 39")
  refused(knng_check(knng(x, 2), x, sample = -1), "sample=-1 is not in 0 to 2^53")
  values <- list(2.5, NA, NULL, "3", Inf, 1:2, TRUE, NA_real_, list(1))
  for (i in seq_along(values))
    refused(knng(x, values[[i]]), paste("k must be one whole number, not",
                                        c("2.5", "NA", "NULL", "\"3\"", "Inf", "1:2", "TRUE", "NA", "list(1)")[i]))
})

test_that("every failure has the same members, by R's names", {
  members <- c("code", "argument", "row", "column", "given", "limit")
  shown <- function(call) {
    e <- expect_error(call, class = "knng_error")
    expect_true(all(members %in% names(e)))
    expect_identical(vapply(unclass(e)[members], typeof, ""), setNames(c("integer", "character", rep("double", 4)), members))
    unclass(e)[members]
  }
  as_shown <- function(code, argument, row = NA_real_, column = NA_real_, given = NA_real_, limit = NA_real_)
    list(code = code, argument = argument, row = row, column = column, given = given, limit = limit)
  y <- x
  y[7, 3] <- NA
  g <- knng(x, 3)
  expect_identical(shown(knng(x, 40)), as_shown(-2L, "k", given = 40, limit = 39))
  expect_identical(shown(knng(x, 0)), as_shown(-2L, "k", given = 0, limit = 1))
  expect_identical(shown(knng(x, 2.5)), as_shown(-2L, "k", given = 2.5))
  expect_identical(shown(knng(x, "2")), as_shown(-2L, "k"))
  expect_identical(shown(knng(y, 2)), as_shown(-4L, "x", 7, 3))
  expect_identical(shown(knng(t(y), 2, points = "columns")), as_shown(-4L, "x", 3, 7))
  expect_identical(shown(knng(x, 2, query = y)), as_shown(-4L, "query", 7, 3))
  expect_identical(shown(knng(matrix(c(1L, NA), 2), 1)), as_shown(-4L, "x", 2, 1))
  expect_identical(shown(knng(x, 2, query = x[, 1:3])), as_shown(-1L, "query", given = 3, limit = 4))
  expect_identical(shown(knng("/no/such.npy", 2)), as_shown(-9L, "x"))
  expect_identical(shown(knng(x, 2, query = "/no/such.npy")), as_shown(-9L, "query"))
  expect_identical(shown(read_knng("/no/such.knng")), as_shown(-9L, "file"))
  expect_identical(shown(write_knng(g, "/no/such.knng"))[1:2], list(code = -9L, argument = "file"))
  expect_identical(shown(knng(x, 2, nothing = 1)), as_shown(-3L, "nothing"))
  expect_identical(shown(knng(x, 2, threads = TRUE)), as_shown(-3L, "threads"))
  expect_identical(shown(knng(x, 2, threads = -1)), as_shown(-3L, "threads", given = -1, limit = 0))
  expect_identical(shown(knng(x, 2, metric = "euclid")), as_shown(-3L, "metric"))
  expect_identical(shown(as_sparse(g, "nothing")), as_shown(-3L, "rule"))
  expect_identical(shown(as_knng(list(id = g$id, dist = g$dist), p = 3)), as_shown(-4L, "lists"))
  expect_identical(shown(knng(x, 2, self = 1)), as_shown(-1L, "self"))
  expect_identical(shown(knng(x, 2, query = x, leave_out = 1:3)), as_shown(-1L, "leave_out", given = 3, limit = 40))
  expect_identical(shown(knng(x, 2, query = x[1:3, ], leave_out = c(1, 41, 2)))[c("argument", "row", "given")],
                   list(argument = "leave_out", row = 2, given = 41))
})

test_that("what is missing or no word is said so", {
  g <- knng(x, 3)
  refused(knng(), "x is missing")
  refused(knng_estimate(), "x is missing")
  refused(knng_check(), "g is missing")
  refused(knng_check(g), "x is missing")
  refused(write_knng(), "g is missing")
  refused(write_knng(g), "file is missing")
  refused(read_knng(), "file is missing")
  refused(as_knng(), "lists is missing")
  for (take in list(as_sparse, as_igraph, as_uwot, as_kNN)) refused(take(), "g is missing")
  for (call in list(quote(knng(x, 3, points = "cols")), quote(knng_check(g, x, points = "cols")), quote(knng_estimate(x, points = "cols"))))
    refused(eval(call), "points must be \"rows\" or \"columns\", not \"cols\"")
  refused(knng(x, 3, points = NULL), "not NULL")
  g$id <- NULL
  refused(plot(g), "x: id is of class NULL")
  refused(plot(g, data = x[, 1:2]), "x: id is of class NULL")
  refused(print(g), "x: id is of class NULL")
  refused(summary(g), "object: id is of class NULL")
})

test_that("arguments of other packages are told apart from settings", {
  refused(knng(data = x, k = 3), "data is no argument of knng(): it is x here")
  refused(knng(x, 3, algorithm = "kd_tree"), "algorithm is no argument of knng(): leave it out")
  refused(knng(x, 3, searchtype = "radius", radius = 1), "searchtype is no argument of knng(): lists have k entries")
  e <- refused(knng(x, 3, num.threads = 2), "num.threads is no argument of knng(): it is threads here")
  expect_identical(e$argument, "num.threads")
  refused(knng(k = 3), "x is missing")
  for (name in c("distance", "method")) refused(do.call(knng, c(list(x, 3), setNames(list("cosine"), name))), "it is metric here")
  for (name in c("K", "n_neighbors")) refused(do.call(knng, c(list(x), setNames(list(3), name))), "it is k here")
  for (name in c("cores", "n_threads")) refused(do.call(knng, c(list(x, 3), setNames(list(2), name))), "it is threads here")
  refused(knng(x, 3, BPPARAM = list(workers = 2)), "BPPARAM is no argument of knng(): it is threads here") # the name, not the value
  refused(knng(x, 3, verbose = TRUE), "verbose is no argument of knng(): it is progress here")
  refused(knng(x, 3, theads = TRUE), "unknown setting 'theads'; did you mean 'threads'? The settings are metric, p,")
  refused(knng(x, 3, point = "columns"), "unknown setting 'point'; did you mean 'points'?")
  refused(knng(x, 3, nothing = NULL), "unknown setting 'nothing'; the settings are metric, p,")
  refused(knng(x, 3, file_points = "columns"), "file_points is no argument of knng(): it is points here, of files too")
  # Who leaves out the name of metric gives a query.
  for (name in c("cosine", "L1", "pearson"))
    refused(knng(x, 3, name), sprintf("cannot open '%s': there is no such file; did you mean metric = \"%s\"?", name, name))
})

test_that("what is no matrix of numbers", {
  refused(knng(matrix("a", 2, 2), 1), "x is a matrix of type character")
  refused(knng(matrix(1i, 2, 2), 1), "x is a matrix of type complex")
  refused(knng(matrix(as.raw(1), 2, 2), 1), "x is a matrix of type raw")
  refused(knng(matrix(list(1), 2, 2), 1), "x is a matrix of type list")
  refused(knng(list(1:2, 1:3), 1), "x is of class list")
  refused(knng(NULL, 1), "x is of class NULL")
  refused(knng(1:9, 1), "matrix(x, ncol = 1)")
  refused(knng(array(1, c(2, 2, 2)), 1), "x is of class array")
  refused(knng(dist(x), 1), "x is of class dist")
  refused(knng(c("a", "b"), 1), "x is a vector of type character")
  refused(knng(iris, 3), "x: column 5, Species, is of class factor")
  refused(knng(data.frame(a = 1:3, b = Sys.Date()), 1), "column 2, b, is of class Date")
  long <- structure(matrix(1:6 * 4.94065645841247e-324, 3), class = "integer64") # as bit64 has 1 to 6
  refused(knng(long, 1), "x is of class integer64, which R stores as other doubles; give matrix(as.double(x), nrow(x))")
  refused(knng(x, 1, query = long), "query is of class integer64")
  frame <- data.frame(a = 1:3, b = 0)
  class(frame$b) <- "integer64"
  refused(knng(frame, 1), "column 2, b, is of class integer64; every column must be numeric or logical, which as.double() makes it")
  refused(as_knng(list(id = long, dist = matrix(1, 3, 2))), "lists: id is of class integer64")
  refused(knng(structure(factor(1:6), dim = 2:3), 1), "x is of class factor, whose numbers are codes of levels")
  refused(knng(x[0, ], 1), "x has 0 rows and 4 columns")
  refused(knng(x[, 0], 1), "x has 40 rows and 0 columns")
  refused(knng(Matrix::Matrix(0, 0, 3, sparse = TRUE), 1), "x has 0 rows and 3 columns")
  broken <- as(Matrix::rsparsematrix(10, 5, 0.5), "CsparseMatrix")
  broken@i[3] <- 1000L
  refused(knng(broken, 1), "x is no valid dgCMatrix")
  refused(knng(broken, 1, points = "columns"), "x is no valid dgCMatrix")
  dense <- Matrix::Matrix(x, sparse = FALSE)
  dense@x <- dense@x[-1]
  refused(knng(dense, 1), "x is no valid dgeMatrix")
  refused(knng(x, 1, query = "/no/such/file.npy"), "cannot open '/no/such/file.npy'")
})

test_that("sparse points that would be too large when dense are refused at once, whatever their type", {
  set.seed(3)
  sparse <- Matrix::rsparsematrix(4000, 1000, 0.001) # of doubles
  e <- refused(knng(sparse, 3, max_host_bytes = "20MB"),
               "max_host_bytes=20000000 is too small: sparse points are made dense, and 4000 points of 1000 values take 32000000 bytes")
  expect_identical(c(e$given, e$limit), c(2e7, 3.2e7))
  sparse@x[] <- 1 # a byte each: 4 MB
  expect_silent(knng(sparse, 3, max_host_bytes = "20MB"))
  refused(knng(sparse, 3, max_host_bytes = 3999999), "4000 points of 1000 values take 4000000 bytes")
})

test_that("values that no distance takes are named by row and column from 1", {
  y <- x
  y[7, 3] <- NA
  e <- refused(knng(y, 2), "x: a value is NA; every value must be finite (row 7, column 3 of x)")
  expect_identical(c(e$row, e$column), c(7, 3))
  refused(knng(t(y), 2, points = "columns"), "(row 3, column 7 of x)")
  refused(knng(x, 2, query = y), "query: a value is NA; every value must be finite (row 7, column 3 of query)")
  refused(knng(t(x), 2, query = t(y), points = "columns"), "query: a value is NA; every value must be finite (row 3, column 7 of query)")
  sparse <- Matrix::Matrix(y, sparse = TRUE)
  refused(knng(x, 2, query = sparse), "query: a value is NA; every value must be finite (row 7, column 3 of query)")
  refused(knng(t(x), 2, query = Matrix::t(sparse), points = "columns"), "(row 3, column 7 of query)")
  refused(knng(sparse, 2), "x: a value is NA; every value must be finite (row 7, column 3 of x)")
  refused(knng(Matrix::t(sparse), 2, points = "columns"), "x: a value is NA; every value must be finite (row 3, column 7 of x)")
  y[7, 3] <- NaN
  refused(knng(y, 2), "x: a value is NaN; every value must be finite (row 7, column 3 of x)")
  g <- knng(x, 2)
  g$dist[3, 2] <- NA
  refused(as_sparse(g), "g: a value is NA (row 3, column 2 of g)")
  refused(as_knng(list(id = g$id, dist = g$dist)), "lists: a value is NA (row 3, column 2 of lists)")
  y[7, 3] <- -Inf
  refused(knng(y, 2), "(row 7, column 3 of x)")
  z <- matrix(1:40, 10)
  z[2, 4] <- NA
  refused(knng(z, 2), "x: a value is NA; every value must be finite (row 2, column 4 of x)")
  refused(knng(z > 3, 2), "(row 2, column 4 of x)")
  refused(knng(Matrix::Matrix(y, sparse = TRUE), 2), "(row 7, column 3 of x)")
  refused(knng(x, 2, metric = "hellinger"), "is negative, which metric=hellinger does not take (row 1, column")
})

test_that("of columns, messages count points", {
  refused(knng(t(x), 40, points = "columns"), "k=40 needs at least 41 points, the data set has 40")
  refused(knng_estimate(t(x), 40, points = "columns"), "k=40 needs at least 41 points, the data set has 40")
  refused(knng(t(x), 2, query = x, points = "columns"), "query: points have 40 values, the data set has dimension 4")
  file <- tempfile(fileext = ".csv")
  y <- unname(t(x))
  y[3, 7] <- NA
  write.table(y, file, sep = ",", row.names = FALSE, col.names = FALSE)
  on.exit(unlink(file))
  refused(knng(file, 2, points = "columns"), "(row 3, column 7 of x)")
  write.table(t(x), file, sep = ",", row.names = FALSE, col.names = FALSE)
  refused(knng(file, 40, points = "columns"), "k=40 needs at least 41 points, the data set has 40")
})

test_that("query and leave_out", {
  refused(knng(x, 2, query = x[, 1:3]), "query: rows have 3 columns, the data set has dimension 4")
  refused(knng(x, 2, query = t(x)), "query: rows have 40 columns")
  refused(knng(x, 2, query = 1:4), "query is a vector of type integer")
  refused(knng(x, 2, query = x[1, ]), "matrix(query, nrow = 1) for one point")
  refused(knng(x, 2, query = x, self = TRUE), "self = TRUE")
  refused(knng(x, 2, leave_out = 1:40), "leave_out goes with query")
  refused(knng(x, 2, query = x[1:3, ], leave_out = 1:2), "leave_out has 2 entries; query has 3 points")
  refused(knng(x, 2, query = x[1:3, ], leave_out = c(1, 2, 41)), "leave_out: 41 is not in 0 to 40; 0 leaves out none (row 3 of leave_out)")
  refused(knng(x, 2, query = x[1:3, ], leave_out = c("p1", "q", "p2")), "x has no point of name q")
  twice <- x
  rownames(twice)[9] <- "p1"
  refused(knng(twice, 2, query = x[1:2, ], leave_out = c("p2", "p1")), "leave_out: x has several points of name p1; give their numbers")
  expect_silent(knng(twice, 2, query = x[1:2, ], leave_out = c("p2", NA)))
  refused(knng(x, 2, query = x[1, , drop = FALSE], leave_out = 1.5), "whole numbers")
})

test_that("settings", {
  refused(knng(x, 2, metric = "euclid"), "metric=euclid: it takes")
  refused(knng(x, 2, metric = c("cosine", "l1")), "metric must be one text or one number")
  refused(knng(x, 2, metric = NULL), "metric must be one text")
  refused(knng(x, 2, metric = NA_character_), "metric must be one text")
  refused(knng(x, 2, theads = 2), "unknown setting 'theads'")
  refused(knng(x, 2, threads = -1), "threads=-1")
  refused(knng(x, 2, threads = TRUE), "threads must be one text or one number, not TRUE")
  refused(knng(x, 2, NULL, "l2", FALSE, 4), "need names")
  refused(knng(x, 2, threads = 1, threads = 2), "setting threads is given twice")
  refused(knng(x, 2, value = "similarity"), "value=similarity")
  refused(knng(x, 2, max_host_bytes = "1KB"), "the smallest that works is")
  refused(knng(x, 2, self = NA), "self must be TRUE or FALSE")
  refused(knng(x, 2, progress = 3), "progress must be")
  expect_silent(knng(x, 2, metric = "minkowski", p = 3)) # p is the setting
})

test_that("graphs are not what they were", {
  g <- knng(x, 3)
  refused(as_sparse(g, "nothing"), "unknown rule 'nothing'")
  refused(as_sparse(knng(x, 3, query = x), "union"), "queries")
  refused(as_sparse(g, 1), "rule must be one text")
  takers <- list(as_sparse, as_igraph, as_uwot, as_kNN, function(g) knng_check(g, x), function(g) write_knng(g, tempfile()))
  whole <- g
  whole$id <- whole$id + 0
  lost <- g
  lost$id[3, 2] <- NA
  none <- g
  none$dist <- NULL
  for (take in takers) {
    refused(take(list(id = g$id, dist = g$dist)), "g is of class list; it must be a graph from knng() or read_knng(), and as_knng() makes one of lists")
    refused(take(1), "g is a vector of type double")
    refused(take(whole), "g: id is of type double; it must be of type integer, as storage.mode(g$id) <- \"integer\" makes it")
    refused(take(lost), "g: id is NA (row 3, column 2 of id); 0 is no neighbour")
    refused(take(none), "g: dist is of class NULL")
  }
  storage.mode(whole$id) <- "integer"
  expect_identical(as_sparse(whole), as_sparse(g))
  short <- g
  short$dist <- short$dist[-1, ]
  expect_error(as_sparse(short), class = "knng_error")
  g$id[3, 2] <- 99L
  e <- refused(as_sparse(g), "99")
  expect_identical(c(e$row, e$column), c(3, 2))
})

test_that("an external pointer that is no handle is refused by the library, not read", {
  done <- knng:::done
  dead <- done(.Call(knng:::knng_r_create))
  .Call(knng:::knng_r_end, dead)
  expect_null(.Call(knng:::knng_r_end, dead))
  expect_error(done(.Call(knng:::knng_r_build, dead, 1, NULL)), class = "knng_error")
  expect_error(done(.Call(knng:::knng_r_lists, NULL)), class = "knng_error")
  handle <- done(.Call(knng:::knng_r_create))
  restored <- unserialize(serialize(handle, NULL))
  expect_error(done(.Call(knng:::knng_r_set, restored, "metric", "cosine")), class = "knng_error")
  expect_error(done(.Call(knng:::knng_r_lists, handle)), class = "knng_error") # a handle is no graph
})

test_that("a child process finds the same after the parent has used the library", {
  skip_on_os("windows")
  here <- knng(x, 3)
  there <- parallel::mclapply(1:2, function(i) knng(x, 3)[c("id", "dist")], mc.cores = 2)
  for (child in there) expect_identical(child, here[c("id", "dist")])
})

test_that("a failed call leaves the next one as it was", {
  before <- knng(x, 3)
  for (i in 1:50) expect_error(knng(x, 40), class = "knng_error")
  expect_identical(knng(x, 3)[c("id", "dist")], before[c("id", "dist")])
})
