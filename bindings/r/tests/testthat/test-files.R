# Graphs in files: what comes back is what was written, and what no file can be is refused.

x <- some_points(120, 5)
bytes <- function(file) readBin(file, "raw", file.size(file))
file_of <- function(end = ".knng") tempfile(fileext = end)
has_npz <- local({
  file <- file_of(".npz")
  !inherits(try(write_knng(knng(x, 3), file), silent = TRUE), "try-error")
})
formats <- c(".knng", if (has_npz) ".npz")

test_that("a graph comes back as it was, given its names", {
  graphs <- list(
    knng(x, 6), knng(x, 6, self = TRUE), knng(x, 1), knng(x, 119, threads = 1), knng(x, 4, value_type = "f32"),
    knng(x, 6, metric = "cosine", value = "similarity"), knng(x, 6, metric = "minkowski", p = 3),
    knng(x, 5, query = unname(x[1:9, ])), knng(x, 5, query = unname(x[1:9, ]), leave_out = 1:9)
  )
  for (g in graphs) for (end in formats) {
    file <- file_of(end)
    expect_identical(write_knng(g, file), g)
    expect_false(withVisible(write_knng(g, file))$visible)
    expect_identical(read_knng(file, names = rownames(x)), g)
    plain <- read_knng(file)
    expect_null(plain$names)
    expect_null(rownames(plain$id))
    expect_identical(unname(plain$id), unname(g$id))
    again <- file_of(end)
    write_knng(plain, again)
    if (end == ".knng") expect_identical(bytes(again), bytes(file))
    expect_s3_class(plain, c("knng", if (g$value == "distance" && !g$query && !g$self) c("kNN", "NN")), exact = TRUE)
  }
  g <- read_knng({write_knng(graphs[[7]], file <- file_of()); file})
  expect_identical(g$info$texts[c("metric", "p")], c(metric = "minkowski", p = "3"))
  expect_identical(knng_check(g, x), 0)
})

test_that("values keep the type that they had", {
  for (type in c("f32", "f64")) {
    g <- knng(x, 4, value_type = type)
    expect_identical(g$info$single, type == "f32")
    expect_identical(knng_check(g, x), 0)
    file <- file_of()
    write_knng(g, file)
    back <- read_knng(file)
    expect_identical(unname(back$dist), unname(g$dist))
    expect_identical(knng_check(back, x), 0)
    m <- as_sparse(back) # computed in double precision either way
    expect_identical(unname(m[1, back$id[1, ]]), unname(back$dist[1, ]))
  }
  expect_lt(file.size({write_knng(knng(x, 9, value_type = "f32"), file <- file_of()); file}),
            file.size({write_knng(knng(x, 9), other <- file_of()); other}))
})

test_that("what a graph becomes is the same after a file", {
  g <- knng(x, 6)
  file <- file_of()
  write_knng(g, file)
  back <- read_knng(file, names = rownames(x))
  expect_identical(as_sparse(back, "snn:jaccard"), as_sparse(g, "snn:jaccard"))
  expect_identical(as.data.frame(back), as.data.frame(g))
  expect_identical(capture.output(print(summary(back))), capture.output(print(summary(g))))
  old <- g
  old$info$proof <- old$info$single <- NULL # an object that an earlier version saved
  write_knng(old, file)
  expect_identical(unname(read_knng(file)$id), unname(g$id))
})

test_that("nobody looks for equal points among queries", {
  g <- knng(x, 5, query = unname(x[1:9, ]))
  expect_identical(g$info$stats[["duplicates"]], NA_real_)
  expect_identical(g$info$stats[["proved"]], 9)
  expect_output(print(summary(g)), "made by +cpu")
  expect_false(any(grepl("duplicates", capture.output(print(summary(g))))))
})

test_that("a graph of another program: no metric, and shorter lists", {
  g <- knng(x, 3)
  g$id[2, 3] <- 0L
  g$dist[2, 3] <- Inf
  g$info$texts[] <- "unknown"
  g$info$texts[["p"]] <- ""
  g$info$texts[["value"]] <- "distance"
  g$info$stats[] <- 0
  g$info$stats[c("rows", "columns")] <- 120
  g$info$ties[] <- FALSE
  g$info$proof[] <- as.raw(0)
  g$metric <- "unknown"
  file <- file_of()
  write_knng(g, file)
  back <- read_knng(file)
  expect_identical(back$metric, "unknown")
  expect_identical(unname(back$id), unname(g$id))
  known <- back$info$stats[!is.na(back$info$stats)]
  expect_identical(known, c(rows = 120, columns = 120))
  expect_null(back$info$ties)
  expect_identical(read_knng({write_knng(back, file); file}), back)
  expect_output(print(back), "3 nearest neighbours of 120 points, distance of a metric that is not known", fixed = TRUE)
  expect_output(print(back), "2 .* -\n")
  expect_output(print(summary(back)), "made by +another program")
  expect_false(any(grepl("duplicates|ties", capture.output(print(summary(back))))))
  expect_identical(nrow(as.data.frame(back)), 359L)
  expect_identical(length(as_sparse(back)@x), 359L)
  expect_error(as_uwot(back), "shorter", class = "knng_error")
  pdf(NULL)
  on.exit(dev.off())
  expect_silent(plot(back))
  full <- knng(x, 3, metric = "manhattan")
  full$info <- back$info
  full$metric <- "unknown"
  expect_message(first <- knng_check(full, x), "names no metric: euclidean is assumed")
  expect_gt(first, 0)
  expect_silent(first <- knng_check(full, x, metric = "manhattan"))
  expect_identical(first, 0)
})

test_that("a graph whose metric is unknown is told it, and files keep it", {
  for (g in list(knng(x, 3, metric = "minkowski", p = 3, self = TRUE), knng(x, 3, query = x[1:5, ], value_type = "f32"))) {
    other <- g
    other$info$texts[] <- c("unknown", "", "distance", rep("unknown", 6))
    other$info$stats[!names(g$info$stats) %in% c("rows", "columns")] <- NA
    other["metric"] <- "unknown"
    file <- file_of()
    write_knng(other, file)
    other <- read_knng(file, names = rownames(x))
    expect_identical(other$metric, "unknown")
    told <- as_knng(other, metric = if (g$self) "lp" else "l2", p = if (g$self) 3)
    expect_identical(told$metric, g$metric)
    expect_identical(told[c("value", "id", "dist", "names")], other[c("value", "id", "dist", "names")])
    expect_identical(told$info$texts[["p"]], g$info$texts[["p"]])
    expect_identical(told$info$single, g$info$single)
    write_knng(told, file)
    expect_identical(read_knng(file, names = rownames(x)), told)
    if (!g$query) expect_identical(expect_silent(knng_check(told, x)), 0)
    expect_error(as_knng(told, metric = "cosine"), "whose metric is known", class = "knng_error")
    expect_error(as_knng(other, metric = "round"), "metric=round", class = "knng_error")
    expect_error(as_knng(other, p = 3), "lists: p goes with metric minkowski", class = "knng_error")
    expect_identical(as_knng(other), other)
  }
  like <- knng(x, 4, metric = "cosine", value = "similarity")
  other <- as_knng(list(id = like$id, dist = like$dist))
  expect_false(other$sort) # by distances
  told <- as_knng(other, "cosine", value = "similarity")
  expect_true(told$sort)
  expect_identical(knng_check(told, x), 0)
})

test_that("knng_check goes by the caller's settings where there are some", {
  g <- knng(x, 4, metric = "minkowski", p = 3)
  expect_identical(knng_check(g, x, threads = 1), 0)
  expect_gt(knng_check(g, x, p = 2.5), 0)
  expect_gt(knng_check(g, x, metric = "cosine"), 0)
  expect_error(knng_check(g, x, 0, 2), "need names", class = "knng_error")
})

test_that("files for other programs", {
  g <- knng(x, 4)
  file <- file_of(".mtx")
  write_knng(g, file)
  m <- as(Matrix::readMM(file), "CsparseMatrix")
  expected <- as(g, "dgCMatrix")
  expect_identical(m@p, expected@p)
  expect_identical(m@i, expected@i)
  expect_equal(m@x, expected@x, tolerance = 1e-14) # R reads decimals to some last bits
  expect_error(read_knng(file), "only written", class = "knng_error")
  file <- file_of(".tsv")
  write_knng(g, file)
  edges <- read.delim(file)
  expect_identical(edges$target + 1L, as.vector(t(g$id)))
})

test_that("what cannot be written or read", {
  g <- knng(x, 3)
  refused <- function(call, text) {
    e <- expect_error(call, class = "knng_error")
    expect_match(conditionMessage(e), text, fixed = TRUE)
    invisible(e)
  }
  refused(write_knng(g, file_of(".txt")), ".npz")
  refused(write_knng(g, file_of(), format = "csv"), "csv")
  refused(write_knng(g, file_of(), format = 1), "format must be one text")
  refused(write_knng(x, file_of()), "g is of class matrix")
  refused(write_knng(g, 1), "file must be one text")
  refused(write_knng(g, c("a.knng", "b.knng")), "file must be one text")
  refused(write_knng(g, file.path(tempdir(), "none", "g.knng")), "g.knng")
  e <- refused(read_knng("/no/such/graph.knng"), "/no/such/graph.knng")
  expect_identical(deparse(conditionCall(e)), "read_knng(\"/no/such/graph.knng\")")
  refused(read_knng(NULL), "file must be one text")
  file <- file_of()
  write_knng(g, file)
  refused(read_knng(file, names = 1:120), "names is of class integer")
  refused(read_knng(file, names = letters), "names has 26 entries; the graph is of 120 points")
  content <- bytes(file)
  for (damage in list(content[1:200], c(content, as.raw(1)))) {
    writeBin(damage, file)
    refused(read_knng(file), "is truncated or damaged")
  }
  damage <- replace(content, 700, xor(content[700], as.raw(1)))
  writeBin(damage, file)
  refused(read_knng(file), "its checksum is wrong")
  short <- g
  short$info$ties <- short$info$ties[-1]
  refused(write_knng(short, file), "ties: 119 x 1, but the graph has 120 rows")
  expect_identical(bytes(file), damage) # the old file is as it was
  named <- file_of(".graph")
  write_knng(g, named, format = "knng")
  expect_identical(unname(read_knng(named)$id), unname(g$id))
})
