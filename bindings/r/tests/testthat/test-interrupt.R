# Ctrl-C and progress: a call ends soon, as R users expect it to, and R and the library go on.

# Points whose graph takes minutes on two threads: metrics that are no products have no filter on CPUs.
long <- function(...) knng(matrix(stats::runif(100000 * 40), 100000), 10, metric = "canberra", device = "cpu", threads = 2, ...)

test_that("progress is reported, and its function can end the call by an error of its own", {
  seen <- character()
  e <- expect_error(long(progress = function(stage, done, total) {
    seen <<- c(seen, stage)
    if (done > 0 && length(seen) > 3) stop("enough")
  }), "^enough$")
  expect_gt(length(seen), 3)
  expect_false(inherits(e, "knng_error"))
  expect_silent(knng(some_points(), 3))
})

test_that("the line of progress says stage, part and time left", {
  line <- knng:::progress_line("distances", 25, 100, 30)
  expect_identical(line, "distances  25 %, 90 s left")
  expect_identical(knng:::progress_line("rows", 0, 0, 1), "rows   0 %")
  expect_identical(knng:::duration(300), "5 min")
  expect_identical(knng:::duration(7200), "2.0 h")
})

test_that("an interrupt ends the call within a second or so, as a condition that R knows", {
  skip_on_os("windows")
  script <- tempfile(fileext = ".R")
  said <- tempfile()
  on.exit(unlink(c(script, said)))
  writeLines(c(
    sprintf(".libPaths(c(%s))", paste(shQuote(.libPaths()), collapse = ", ")),
    "library(knng)",
    sprintf("said <- %s", shQuote(said)),
    "say <- function(...) cat(..., '\\n', file = said, append = TRUE)",
    "x <- matrix(runif(100000 * 40), 100000)",
    "long <- function() {",
    "  first <- TRUE",
    "  at_work <- function(stage, done, total) if (first && done > 0) { first <<- FALSE; say(Sys.getpid()) }",
    "  knng(x, 10, metric = 'canberra', device = 'cpu', threads = 2, progress = at_work)",
    "}",
    "tryCatch({ long(); say('finished') }, interrupt = function(e) say('interrupt'))",
    "tryCatch({ long(); say('finished') }, error = function(e) say(class(e)[1]))", # as in a script without a handler
    "say(nrow(knng(x[1:100, ], 3)$id))"
  ), script)
  system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)), wait = FALSE, stdout = FALSE, stderr = FALSE)
  lines <- function() if (file.exists(said)) trimws(readLines(said, warn = FALSE)) else character()
  wait_for <- function(n, seconds) {
    start <- proc.time()[["elapsed"]]
    while (length(lines()) < n && proc.time()[["elapsed"]] - start < seconds) Sys.sleep(0.02)
    proc.time()[["elapsed"]] - start
  }
  expect_lt(wait_for(1, 60), 60)
  pid <- as.integer(lines()[1])
  tools::pskill(pid, tools::SIGINT)
  first <- wait_for(2, 20)
  expect_lt(first, 10) # on a busy machine; the graph takes several times as long
  wait_for(3, 20)
  tools::pskill(pid, tools::SIGINT)
  second <- wait_for(4, 20)
  expect_lt(min(first, second), 1)
  wait_for(5, 20)
  tools::pskill(pid, tools::SIGKILL)
  expect_identical(lines(), c(pid, "interrupt", pid, "knng_interrupted", "100"))
})
