# Progress of a long call: a function(stage, done, total) for C, or NULL. What it raises ends the call.

# progress: TRUE, FALSE, or the caller's function(stage, done, total). The result has $show, for C, and $after(),
# which takes what a call of C answers, clears the line even if that is none, and returns it.
watch <- function(progress) {
  if (is.function(progress)) return(list(show = progress, after = identity))
  if (!is.logical(progress) || length(progress) != 1L || is.na(progress))
    refuse(sprintf("progress must be TRUE, FALSE or a function(stage, done, total), not %s", said(progress)), "progress")
  if (progress) watch_line() else list(show = NULL, after = identity)
}

# One line that is drawn anew, after the first two seconds.
watch_line <- function() {
  start <- proc.time()[["elapsed"]]
  began <- start
  last <- ""
  width <- 0L
  list(
    show = function(stage, done, total) {
      now <- proc.time()[["elapsed"]]
      if (stage != last) began <<- now
      last <<- stage
      if (now - start < 2) return()
      line <- progress_line(stage, done, total, now - began)
      cat("\r", formatC(line, width = -width), sep = "", file = stderr())
      width <<- max(width, nchar(line))
    },
    after = function(answer) {
      on.exit(if (width > 0L) cat("\r", strrep(" ", width), "\r", sep = "", file = stderr()))
      answer
    }
  )
}

progress_line <- function(stage, done, total, seconds) {
  part <- if (total > 0) min(1, done / total) else 0
  left <- if (part > 0.02) sprintf(", %s left", duration(seconds * (1 - part) / part)) else ""
  sprintf("%s %3.0f %%%s", stage, 100 * part, left)
}

duration <- function(seconds) {
  if (seconds < 100) return(sprintf("%.0f s", seconds))
  if (seconds < 6000) return(sprintf("%.0f min", seconds / 60))
  sprintf("%.1f h", seconds / 3600)
}
