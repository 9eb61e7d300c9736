# What a graph becomes for other packages, and what it says of itself.

x <- some_points(120, 5)
g <- knng(x, 6)

test_that("dgCMatrix: the entries, the names, and zeros that are entries", {
  m <- as(g, "dgCMatrix")
  expect_s4_class(m, "dgCMatrix")
  expect_true(validObject(m))
  expect_identical(length(m@x), 720L)
  expect_identical(dimnames(m), list(rownames(x), rownames(x)))
  for (i in c(1, 60, 120)) expect_identical(unname(m[i, g$id[i, ]]), unname(g$dist[i, ]))
  expect_identical(sum(m@x == 0), 2L) # the two rows that are equal
  q <- knng(x, 4, query = x[1:7, ])
  s <- as(q, "dgCMatrix")
  expect_true(validObject(s)) # rows ascend in each column
  expect_identical(dim(s), c(7L, 120L))
  for (i in 1:7) expect_identical(unname(s[i, q$id[i, ]]), unname(q$dist[i, ]))
  expect_identical(as(g, "CsparseMatrix"), m)
  expect_identical(as(g, "sparseMatrix"), m)
})

test_that("symmetric rules, against their definition", {
  lists <- matrix(FALSE, 120, 120)
  lists[cbind(rep(1:120, 6), as.vector(g$id))] <- TRUE
  d <- unname(as.matrix(dist(x)))
  structure_of <- function(m) {
    e <- matrix(FALSE, 120, 120)
    e[cbind(m@i + 1L, rep(1:120, diff(m@p)))] <- TRUE
    e
  }
  for (rule in c("union", "mutual")) {
    m <- as_sparse(g, rule)
    expect_true(validObject(m))
    wanted <- if (rule == "union") lists | t(lists) else lists & t(lists)
    expect_identical(structure_of(m), wanted, info = rule)
    expect_equal(unname(as.matrix(m)), d * wanted, tolerance = 1e-13, info = rule)
  }
  a <- lists
  diag(a) <- TRUE
  shared <- a %*% t(a)
  diag(shared) <- 0
  expect_identical(unname(as.matrix(as_sparse(g, "snn:number"))), shared + 0)
  jaccard <- shared / (14 - shared)
  expect_equal(unname(as.matrix(as_sparse(g, "snn:jaccard"))), jaccard, tolerance = 1e-15)
  none <- as_sparse(knng(matrix(c(0, 1, 3, 7)), 1), "mutual")
  expect_identical(length(none@x), 2L)
})

test_that("data frames of edges", {
  e <- as(g, "data.frame")
  expect_identical(names(e), c("source", "target", "weight", "rank"))
  expect_identical(e$source[1:7], rep(c("p1", "p2"), c(6, 1)))
  expect_identical(e$target[1:6], rownames(x)[g$id[1, ]])
  expect_identical(e$weight[1:6], unname(g$dist[1, ]))
  expect_identical(e$rank[1:6], 1:6)
  numbers <- as.data.frame(g, names = FALSE)
  expect_identical(numbers$target[1:6], unname(g$id[1, ]))
  mutual <- as.data.frame(g, rule = "mutual", names = FALSE)
  expect_true(all(mutual$source < mutual$target))
  expect_identical(nrow(mutual) * 2L, length(as_sparse(g, "mutual")@x))
  expect_identical(as.data.frame(knng(x, 2, self = TRUE))$rank[1:3], 0:2)
  expect_identical(as.data.frame(g, "mutual"), as.data.frame(g, rule = "mutual"))
  expect_identical(as.data.frame(g, "directed"), as.data.frame(g))
  expect_identical(rownames(as.data.frame(g, as.character(720:1)))[1], "720")
  expect_error(as.data.frame(g, "nothing"), "unknown rule 'nothing'", class = "knng_error")
})

test_that("no dense matrix of all points is made", {
  e <- expect_error(as.matrix(g), "as(x, \"dgCMatrix\")", fixed = TRUE, class = "knng_error")
  expect_identical(e$argument, "x")
})

test_that("fewer neighbours of a graph", {
  grid <- as.matrix(expand.grid(1:6, 1:6)) # full of ties
  near <- knng(x, 6, metric = "cosine", value = "similarity")
  graphs <- list(list(g, knng(x, 4)), list(knng(x, 6, self = TRUE), knng(x, 4, self = TRUE)),
                 list(knng(grid, 6), knng(grid, 4)), list(near, knng(x, 4, metric = "cosine", value = "similarity")),
                 list(knng(x, 6, query = x[1:7, ], value_type = "f32"), knng(x, 4, query = x[1:7, ], value_type = "f32")))
  for (pair in graphs) {
    four <- first_neighbours(pair[[1]], 4)
    same <- setdiff(names(four), "info")
    expect_identical(unclass(four)[same], unclass(pair[[2]])[same])
    expect_identical(class(four), class(pair[[2]]))
    expect_null(four$info$ties)
    known <- four$info$stats[!is.na(four$info$stats)]
    expect_true(all(names(known) %in% c("rows", "columns", "duplicates")))
    expect_identical(four$info$texts[["metric"]], four$metric)
    expect_identical(as_sparse(four), as_sparse(pair[[2]]))
    expect_identical(first_neighbours(four, 4), four)
    file <- tempfile(fileext = ".knng")
    write_knng(four, file)
    expect_identical(unclass(read_knng(file))["info"], unclass(four)["info"])
  }
  expect_identical(first_neighbours(g, 6), g)
  expect_identical(knng_check(first_neighbours(g, 1), x), 0)
  expect_output(print(summary(first_neighbours(g, 2))), "made by +cpu.*, libknng [0-9.]+$")
  expect_error(first_neighbours(g, 7), "k=7: g has 6 neighbours", class = "knng_error")
  expect_error(first_neighbours(g, 0), "k=0 is not in 1 to 6", class = "knng_error")
  expect_error(first_neighbours(g), "k is missing", class = "knng_error")
  turned <- as_knng(list(id = g$id[, 6:1], dist = g$dist[, 6:1]))
  expect_error(first_neighbours(turned, 3), "lists in no order", class = "knng_error")
  short <- as_knng(list(id = matrix(c(2, 1, 2, 3, 3, 0), 3), dist = matrix(c(1, 1, 2, 2, 2, 9), 3)))
  expect_s3_class(first_neighbours(short, 1), c("knng", "kNN", "NN"), exact = TRUE)
})

test_that("igraph", {
  need("igraph")
  directed <- as(g, "igraph")
  expect_identical(igraph::ecount(directed), 720)
  expect_identical(igraph::V(directed)$name, rownames(x))
  expect_identical(sort(as.integer(igraph::neighbors(directed, 5))), sort(unname(g$id[5, ])))
  expect_identical(igraph::ecount(igraph::as.igraph(knng(x, 6, self = TRUE))), 720) # no loops
  both <- as_igraph(g, "union")
  expect_false(igraph::is_directed(both))
  expect_identical(igraph::count_components(both), length(summary(g)$components) + 0)
  expect_identical(igraph::ecount(both) * 2, length(as_sparse(g, "union")@x) + 0)
  expect_equal(igraph::E(both)$weight[1], as_sparse(g, "union")@x[1])
  expect_error(as_igraph(knng(x, 2, query = x)), "queries", class = "knng_error")
})

test_that("uwot takes the lists, the point itself first", {
  u <- as_uwot(g)
  expect_identical(u$idx[, 1], 1:120)
  expect_identical(u$dist[, -1], unname(g$dist))
  expect_identical(as_uwot(knng(x, 6, self = TRUE)), u)
  expect_identical(as(g, "list"), u)
  expect_error(as_uwot(knng(x, 6, metric = "cosine", value = "similarity")), class = "knng_error")
  for (self in c(FALSE, TRUE))
    expect_error(as_uwot(knng(x, 6, metric = "inner_product", self = self)), "g has negative ones", class = "knng_error")
  need("uwot")
  set.seed(1)
  map <- uwot::umap(NULL, nn_method = u, n_epochs = 10, n_threads = 1, n_sgd_threads = 0, init = "rand")
  expect_identical(dim(map), c(120L, 2L))
  expect_true(all(is.finite(map)))
})

test_that("dbscan's class", {
  k <- as(knng(x, 6, self = TRUE), "kNN")
  expect_s3_class(k, c("kNN", "NN"), exact = TRUE)
  expect_identical(k$id, g$id)
  expect_identical(k$k, 6L)
  expect_identical(k$dist, g$dist)
  # Of self and of queries it would take one column, or one set of points, for another.
  expect_s3_class(knng(x, 6, self = TRUE), "knng", exact = TRUE)
  asked <- knng(x, 6, query = x[1:9, ])
  expect_s3_class(asked, "knng", exact = TRUE)
  for (call in list(as_kNN, function(g) as(g, "kNN")))
    expect_error(call(asked), "g is a graph of queries", class = "knng_error")
  # What dbscan would misread is none of its own: it reads id 0 as a place in memory, and the smallest value as the nearest.
  short <- as_knng(list(id = matrix(c(2, 1, 0, 3, NA, 2), 3), dist = matrix(c(1, 1, 9, 2, 9, 2), 3)))
  expect_s3_class(short, "knng", exact = TRUE)
  for (call in list(as_kNN, function(g) as(g, "kNN"))) {
    expect_error(call(short), "row 3 of g is shorter", class = "knng_error")
    expect_error(call(knng(x, 2, metric = "cosine", value = "similarity")), "similarities", class = "knng_error")
  }
  expect_s3_class(knng(x, 2, metric = "cosine", value = "similarity"), "knng", exact = TRUE)
  expect_identical(dim(as(knng(x, 2, metric = "cosine", value = "similarity"), "dgCMatrix")), c(120L, 120L))
})

test_that("a row is a line, whose entries can be told apart", {
  old <- options(width = 80, digits = 7)
  on.exit(options(old))
  table <- function(...) utils::capture.output(print(...))
  flowers <- as.matrix(iris[, 1:4])
  ten <- knng(flowers, 10)
  for (width in c(20, 40, 80, 81, 82, 120)) {
    options(width = width)
    shown <- table(ten)
    expect_identical(length(shown), 9L)
    fit <- length(strsplit(trimws(shown[2]), " +")[[1]])
    expect_identical(shown[9], if (fit == 10) "and 144 more rows"
                     else sprintf("and 144 more rows, %d more neighbours", 10 - fit))
    if (fit > 1) expect_lte(max(nchar(shown[2:8])), width)
  }
  options(width = 10)
  expect_identical(table(first_neighbours(ten, 2), n = 1), c("2 nearest neighbours of 150 points, distance euclidean",
                   "           1", "1 18 (0.100)", "and 149 more rows, 1 more neighbour"))
  options(width = 80)
  near <- knng(flowers, 3, metric = "pearson", value = "similarity")
  expect_identical(table(near, n = 1)[3], "1 11 (0.99998) 3 (0.99997) 49 (0.99989)")
  options(digits = 3)
  expect_identical(table(near, n = 1)[3], "1 11 (1) 3 (1) 49 (1)")
  options(digits = 7)
  expect_match(table(ten, n = 1, digits = 5)[3], "1 18 (0.10000)", fixed = TRUE)
  expect_identical(length(table(first_neighbours(ten, 2), n = Inf)), 152L)
  expect_identical(table(ten, n = 0), format(ten))
  expect_error(print(ten, n = -1), "n=-1 is not in 0 to", class = "knng_error")
  expect_error(print(ten, digits = 0), "digits=0", class = "knng_error")
})

test_that("print, format and summary", {
  expect_output(print(g), "6 nearest neighbours of 120 points, distance euclidean", fixed = TRUE)
  expect_output(print(g), "p1 +120 \\(0.0+\\)")
  expect_output(print(knng(x, 1, query = x[1, , drop = FALSE])), "1 nearest neighbour of 1 query among 120 points")
  expect_identical(format(knng(x, 2, metric = "minkowski", p = 2.5)), "2 nearest neighbours of 120 points, distance minkowski (p = 2.5)")
  s <- summary(g)
  expect_identical(s$duplicates, 1)
  expect_identical(sum(s$components), 120L)
  expect_equal(unname(s$in_degree[c("0%", "100%")]), range(tabulate(g$id, 120)))
  expect_output(print(s), "duplicates +1 point equals an earlier one")
  expect_output(print(summary(knng(x, 2, query = x[1:3, ]))), "3 queries")
  apart <- knng(rbind(x[1:20, ], x[21:40, ] + 1000), 3)
  expect_identical(summary(apart)$components, c(20L, 20L))
})

test_that("numbers are settings and texts whatever options say", {
  for (value in list(pi, 0.1, 1 / 3, 2.5, 3L, 1e-5, 100000, 123456789012, 2^53, 1e300)) {
    text <- knng:::number_text(value)
    expect_identical(as.numeric(text), as.numeric(value))
  }
  expect_identical(vapply(list(0.1, 3L, 1e15, 100000), knng:::number_text, ""), c("0.1", "3", "1000000000000000", "100000"))
  old <- options(OutDec = ",", scipen = -9)
  on.exit(options(old))
  odd <- knng(x, 3, metric = "minkowski", p = pi)
  expect_identical(as.numeric(odd$info$texts[["p"]]), pi)
  expect_identical(knng_check(odd, x), 0)
  many <- knng(matrix(as.double(1:1200)), 1)
  expect_silent(shown <- utils::capture.output(print(many), print(summary(many))))
  expect_match(shown[1], "1.200 points", fixed = TRUE)
})

test_that("plots", {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit({
    grDevices::dev.off()
    unlink(file)
  })
  expect_identical(plot(g), g)
  expect_silent(plot(g, which = 2))
  expect_silent(plot(g, type = "b"))
  expect_silent(plot(g, which = 2, border = 1, space = 1))
  for (which in list(3, 0:1, "a", NULL)) expect_error(plot(g, which = which), "which must be 1", class = "knng_error")
  expect_silent(plot(knng(x, 3, metric = "cosine", value = "similarity"), which = 1))
  need("dbscan")
  flat <- knng(x[, 1:2], 3)
  expect_identical(plot(flat, data = x[, 1:2]), flat)
  expect_silent(plot(flat, data = as.data.frame(x[, 1:2])))
  expect_silent(plot(knng(x[, 1:2], 3, self = TRUE), data = x[, 1:2]))
  refused <- function(data, text) expect_error(plot(flat, data = data), text, fixed = TRUE, class = "knng_error")
  refused(x, "data is 120 x 5; it must be 120 x 2")
  refused(x[1:9, 1:2], "data is 9 x 2; it must be 120 x 2")
  refused(x[, 1, drop = FALSE], "data is 120 x 1")
  refused(1:120, "data is a vector of type integer; it must be a matrix or a data frame of numbers")
  refused(iris[1:120, 4:5], "data: column 2, Species, is of class factor")
  refused(matrix("a", 120, 2), "data is of class matrix; it must be a matrix or a data frame of numbers")
  expect_identical(par("mfrow"), c(1L, 1L))
})

test_that("saved and read back it is the same, and still converts", {
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(g, file)
  back <- readRDS(file)
  expect_identical(back, g)
  expect_identical(as(back, "dgCMatrix"), as(g, "dgCMatrix"))
})

test_that("check and estimate", {
  expect_identical(knng_check(g, x), 0)
  expect_identical(knng_check(knng(x, 3, metric = "minkowski", p = 3, self = TRUE), x), 0)
  expect_identical(knng_check(knng(x, 3, metric = "cosine", value = "similarity"), t(x), points = "columns"), 0)
  wrong <- g
  wrong$dist[9, 1] <- wrong$dist[9, 1] * (1 - 2^-52)
  expect_identical(knng_check(wrong, x), 9)
  plan <- knng_estimate(x, 6)
  expect_gt(plan$smallest_host, 120 * 6 * 8)
  expect_silent(knng(x, 6, max_host_bytes = plan$smallest_host))
  expect_error(knng(x, 6, max_host_bytes = plan$smallest_host - 1), class = "knng_error")
})

test_that("the package has a page, and is cited with a year", {
  expect_length(utils::help("knng-package", package = "knng"), 1L)
  expect_identical(utils::citation("knng")$year, "2026")
})

test_that("tables come from the library", {
  settings <- knng_settings()
  expect_true(all(c("metric", "threads") %in% settings$name))
  expect_false(any(c("self", "file_points") %in% settings$name)) # which are arguments
  expect_identical(settings$default[settings$name == "value_type"], "f64")
  expect_identical(rownames(settings), as.character(seq_len(nrow(settings))))
  expect_gt(knng_estimate(x, 3, self = TRUE)$host_bytes, 0)
  expect_identical(knng_metrics()$other_names[knng_metrics()$name == "correlation"], "pearson")
  expect_identical(knng_devices()$why_not[1], "")
  expect_match(knng_version(), "^[0-9]+\\.[0-9]+\\.[0-9]+$")
})
