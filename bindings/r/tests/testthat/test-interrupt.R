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

test_that("time limits end a call by R's own error", {
  on.exit(setTimeLimit())
  setTimeLimit(elapsed = 1, transient = TRUE)
  start <- proc.time()[["elapsed"]]
  e <- try(long(), silent = TRUE)
  setTimeLimit()
  expect_s3_class(e, "try-error")
  expect_match(e, "reached elapsed time limit")
  expect_lt(proc.time()[["elapsed"]] - start, 10)
  expect_silent(knng(some_points(), 3))
})

test_that("what a progress function signals reaches whoever waits for it outside", {
  x <- some_points(2000, 20)
  heard <- character()
  g <- withCallingHandlers(knng(x, 3, progress = function(stage, done, total) message(stage)), message = function(m) {
    heard <<- c(heard, conditionMessage(m))
    invokeRestart("muffleMessage")
  })
  expect_gt(length(heard), 0)
  expect_identical(g[c("id", "dist")], knng(x, 3)[c("id", "dist")])
  expect_silent(suppressMessages(knng(x, 3, progress = function(...) message("hello"))))
  mine <- structure(class = c("mine", "condition"), list(message = "mine", call = NULL))
  expect_identical(tryCatch(knng(x, 3, progress = function(...) signalCondition(mine)), mine = function(m) "caught"), "caught")
  expect_identical(withRestarts(knng(x, 3, progress = function(...) invokeRestart("away", 7)), away = identity), 7)
  expect_identical(callCC(function(leave) knng(x, 3, progress = function(...) leave(8))), 8)
  e <- expect_error(knng(x, 3, progress = function(...) stop("no more")), "^no more$")
  expect_s3_class(e, "simpleError")
  # A call within a call, which ends by itself and takes the outer one with it.
  expect_error(knng(x, 3, progress = function(...) knng(x, 3, progress = function(...) stop("within"))), "^within$")
  expect_identical(knng(x, 3, progress = function(...) try(knng(x, 2000), silent = TRUE))$id, g$id)
  # Every call that reports.
  file <- tempfile(fileext = ".knng")
  stopper <- function(...) stop("no more")
  expect_error(write_knng(g, file, progress = stopper), "^no more$")
  expect_false(file.exists(file))
  expect_error(knng_check(g, x, progress = stopper), "^no more$")
  expect_error(knng(x, 3, query = x, progress = stopper), "^no more$")
  write_knng(g, file)
  expect_error(read_knng(file, progress = stopper), "^no more$")
  for (i in 1:200) try(knng(x[1:50, ], 3, progress = stopper), silent = TRUE)
  expect_identical(knng(x, 3)[c("id", "dist")], g[c("id", "dist")])
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
