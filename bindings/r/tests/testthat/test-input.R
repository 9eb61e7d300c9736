# Every form in which points come gives the same graph as a matrix of doubles.

x <- some_points()
plain <- knng(x, 5)
same <- function(g) expect_identical(g[c("id", "dist")], plain[c("id", "dist")])

test_that("columns, data frames and row names", {
  same(knng(t(x), 5, points = "columns"))
  same(knng(as.data.frame(x), 5))
  bare <- knng(unname(x), 5)
  expect_null(rownames(bare$id))
  expect_identical(unname(bare$dist), unname(plain$dist))
  expect_null(rownames(knng(as.data.frame(unname(x)), 5)$id)) # automatic names are no names
  expect_identical(rownames(plain$dist), rownames(x))
  expect_identical(plain$names, rownames(x))
})

test_that("dense matrices of package Matrix, and columns that are matrices of one column", {
  same(knng(Matrix::Matrix(x, sparse = FALSE), 5)) # dgeMatrix
  same(knng(Matrix::t(Matrix::Matrix(x, sparse = FALSE)), 5, points = "columns"))
  near <- crossprod(x)
  for (form in c("symmetricMatrix", "packedMatrix", "triangularMatrix")) {
    dense <- as(as(Matrix::Matrix(near, sparse = FALSE), if (form == "packedMatrix") "symmetricMatrix" else "generalMatrix"), "denseMatrix")
    dense <- switch(form, packedMatrix = Matrix::pack(dense), triangularMatrix = Matrix::triu(dense), Matrix::forceSymmetric(dense))
    expect_s4_class(dense, form)
    expect_identical(unname(knng(dense, 3)$dist), unname(knng(as.matrix(dense), 3)$dist), info = form)
  }
  expect_identical(knng(Matrix::Matrix(x > 0, sparse = FALSE), 3, metric = "l1")$dist, knng(x > 0, 3, metric = "l1")$dist) # lgeMatrix
  expect_identical(knng(x, 5, query = Matrix::Matrix(x[1:3, ], sparse = FALSE))$id, knng(x, 5, query = x[1:3, ])$id)
  frame <- data.frame(a = 1:9)
  frame$b <- scale(c(4, 2, 7, 1, 9, 3, 8, 5, 6))
  expect_identical(unname(knng(frame, 2)$dist), unname(knng(cbind(1:9, as.vector(frame$b)), 2)$dist))
  frame$c <- matrix(0, 9, 2)
  expect_error(knng(frame, 2), "x: column 3, c, is of class matrix", class = "knng_error")
})

test_that("integers and logicals are taken as their numbers", {
  whole <- matrix(sample(-1000:1000, 600, replace = TRUE), 100)
  doubles <- whole + 0
  expect_identical(knng(whole, 4)$dist, knng(doubles, 4)$dist)
  expect_identical(knng(whole, 4)$id, knng(doubles, 4)$id)
  yes <- whole > 0
  expect_identical(knng(yes, 4, metric = "manhattan")[c("id", "dist")], knng(yes + 0, 4, metric = "manhattan")[c("id", "dist")])
  expect_identical(knng(doubles, 4, query = whole[1:3, ])$dist, knng(doubles, 4, query = doubles[1:3, ])$dist)
})

test_that("sparse matrices of every kind, and every type that they are made dense in", {
  set.seed(2)
  values <- list(bytes = sample(255, 400, replace = TRUE), words = sample(65535, 400, replace = TRUE),
                 singles = sample(-100:100, 400, replace = TRUE) / 8, doubles = rnorm(400), negative = -sample(9, 400, TRUE))
  for (kind in names(values)) {
    dense <- matrix(0, 120, 30, dimnames = list(paste0("r", 1:120), NULL))
    dense[sample(length(dense), 400)] <- values[[kind]]
    expected <- knng(dense, 4)
    sparse <- Matrix::Matrix(dense, sparse = TRUE)
    for (form in c("CsparseMatrix", "RsparseMatrix", "TsparseMatrix"))
      expect_identical(knng(as(sparse, form), 4)[c("id", "dist")], expected[c("id", "dist")], info = paste(kind, form))
    expect_identical(knng(Matrix::t(sparse), 4, points = "columns")$dist, expected$dist, info = kind)
    expect_identical(knng(dense, 4, query = sparse[1:9, ])$dist, knng(dense, 4, query = dense[1:9, ])$dist, info = kind)
  }
  expect_identical(knng(sparse != 0, 4)$dist, knng((as.matrix(sparse) != 0) + 0, 4)$dist) # lgCMatrix
  wide <- Matrix::rsparsematrix(3, 2e6, 1e-5) # several blocks of one row
  expect_identical(knng(wide, 1)$id, knng(as.matrix(wide), 1)$id)
})

test_that("queries, and rows that they leave out", {
  q <- knng(x, 5, query = x)
  expect_identical(unname(q$id[1:5, 1]), 1:5)
  expect_true(all(q$dist[, 1] == 0))
  left <- knng(x, 5, query = x, leave_out = seq_len(nrow(x)))
  same(left)
  same(knng(x, 5, query = x, leave_out = rownames(x)))
  some <- knng(x, 5, query = x[1:2, ], leave_out = c(NA, 2))
  expect_identical(some$id[1, ], q$id[1, ])
  expect_identical(some$id[2, ], plain$id[2, ])
  columns <- knng(t(x), 5, query = t(x[7:9, ]), points = "columns")
  expect_identical(columns$id, q$id[7:9, ])
  expect_true(q$query)
  expect_identical(q$columns, 300)
})

test_that("a file is read by the library", {
  file <- tempfile(fileext = ".fvecs")
  on.exit(unlink(file))
  small <- round(x[, 1:4] * 8) / 8
  to <- file(file, "wb")
  for (i in seq_len(nrow(small))) {
    writeBin(4L, to, size = 4L, endian = "little")
    writeBin(small[i, ], to, size = 4L, endian = "little")
  }
  close(to)
  expect_identical(knng(file, 3)$dist, knng(unname(small), 3)$dist)
  expect_identical(unname(knng(small, 3, query = file)$id), unname(knng(small, 3, query = small)$id))
  # Its columns, where points are columns: 4 of them, with as many values as the file has rows.
  columns <- knng(file, 2, points = "columns")
  expect_identical(unname(columns$id), unname(knng(unname(small), 2, points = "columns")$id))
  asked <- knng(unname(small), 2, points = "columns", query = file)
  expect_identical(unname(asked$id), unname(knng(unname(small), 2, points = "columns", query = unname(small))$id))
  expect_identical(knng_check(columns, file, points = "columns"), 0)
})

test_that("self, settings and values", {
  with_self <- knng(x, 5, self = TRUE)
  expect_identical(unname(with_self$id[, 1]), seq_len(300L)) # also where a duplicate is as near
  expect_identical(with_self$id[, -1], plain$id)
  expect_identical(colnames(with_self$id), as.character(0:5))
  expect_identical(knng(x, 5, threads = 1, engine = "direct")[c("id", "dist")], plain[c("id", "dist")])
  similar <- knng(x, 5, metric = "Pearson", value = "similarity")
  expect_identical(similar$metric, "correlation")
  expect_identical(similar$value, "similarity")
  expect_true(all(apply(similar$dist, 1, diff) <= 0))
  single <- knng(x, 5, value_type = "f32")$dist
  expect_false(identical(single, plain$dist))
  expect_equal(single, plain$dist, tolerance = 1e-6)
  # Doubles unless "auto" asks for the library's rule.
  whole <- matrix(1:60, 20)
  for (type in c("auto", "f32", "f64"))
    expect_identical(knng(whole, 2, value_type = type)$info$single, type != "f64")
  expect_false(knng(whole, 2)$info$single)
  expect_false(knng(x, 2, value_type = "auto")$info$single)
})

test_that("equal rows are at 0, ties go to the smaller number and are counted", {
  grid <- as.matrix(expand.grid(1:6, 1:6))
  g <- knng(grid, 3)
  oracle <- by_definition(grid, 3, function(a, b) sum((a - b)^2))
  expect_identical(unname(g$id), oracle$id)
  expect_identical(unname(g$dist), sqrt(oracle$dist))
  expect_true(any(g$info$ties))
  expect_identical(sum(g$info$ties), as.integer(g$info$stats[["ties_at_k"]]))
  expect_identical(unname(plain$id[c(1, 300), 1]), c(300L, 1L))
  expect_identical(unname(plain$dist[c(1, 300), 1]), c(0, 0))
})

test_that("other spellings of the members", {
  for (name in c("nn.index", "nn.idx", "index", "idx")) expect_identical(plain[[name]], plain$id)
  for (name in c("nn.dist", "nn.dists", "distance")) expect_identical(plain[[name]], plain$dist)
  expect_identical(plain$nn.index, plain$id)
  expect_null(plain$nothing)
})
