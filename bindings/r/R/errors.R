# What a routine of C answers: its value, or a failure that becomes an R condition. The library counts rows and columns
# from 0 and knows no R argument; here they are named and counted as the caller has them.

# answer: what .Call() returned. argument: the R argument that a failure is about, if it names none of R's. p: its points.
done <- function(answer, argument = "x", p = NULL) {
  if (!inherits(answer, "knng_failure")) return(answer)
  if (answer$interrupted) interrupt()
  place <- c(answer$row, answer$col) + 1
  if (answer$argument == "leave_out") argument <- "leave_out"
  else if (points_are_columns(p)) place <- rev(place)
  known <- place > 0
  reason <- in_words_of_r(answer$reason, argument, p)
  if (all(known) && holds_na(p, place)) reason <- sub("a value is NaN", "a value is NA", reason, fixed = TRUE)
  where <- paste(c("row", "column")[known], format(place[known], scientific = FALSE, trim = TRUE), collapse = ", ")
  numbers <- c(answer$given, answer$limit)
  numbers[numbers == -1 & answer$limit == -1] <- NA
  refuse(if (any(known)) sprintf("%s (%s of %s)", reason, where, argument) else reason,
         argument_of_r(answer$argument, argument), code = answer$code, row = if (known[1L]) place[1L] else NA_real_,
         column = if (known[2L]) place[2L] else NA_real_, given = numbers[1L], limit = numbers[2L])
}

in_words_of_r <- function(reason, argument, p) {
  reason <- sub("^(rows|q|ids|values|facts)\\b", argument, reason)
  if (!points_are_columns(p)) return(reason)
  gsub("([0-9]) rows\\b", "\\1 points", sub("rows have ([0-9]+) columns", "points have \\1 values", reason))
}

points_are_columns <- function(p) isTRUE(p$by_columns) || isTRUE(p$turned)

# Parameters of C's functions that are another argument in R; all others are settings, which have one name.
argument_of_r <- function(name, argument) {
  if (name %in% c("rows", "q", "path", "ids", "values", "facts", "key", "g")) return(argument)
  switch(name, nq = "queries", columns = "points", name)
}

# Whether this value of points is R's NA, which the library takes for a NaN as any other.
holds_na <- function(p, place) {
  if (!(identical(p$kind, "matrix") || identical(p$kind, "sparse"))) return(FALSE)
  if (p$kind == "sparse" && !p$by_columns) place <- rev(place) # its columns are the points
  value <- p$value[place[1L], place[2L]]
  is.na(value) && !is.nan(value)
}

# The library's codes of what R finds by itself.
codes <- c(argument = -1L, range = -2L, option = -3L, data = -4L, state = -5L, io = -9L, unsupported = -11L)

# An error of class knng_error, whose members say what was wrong; a member is NA where it says nothing.
refuse <- function(message, argument = NA_character_, kind = "argument", row = NA_real_, column = NA_real_,
                   given = NA_real_, limit = NA_real_, code = codes[[kind]]) {
  stop(structure(class = c("knng_error", "error", "condition"),
                 list(message = message, call = outer_call(), code = code, argument = argument, row = as.double(row),
                      column = as.double(column), given = as.double(given), limit = as.double(limit))))
}

# A value as a message shows it.
said <- function(value) {
  if (is.atomic(value) && length(value) == 1L && is.na(value) && !is.nan(value)) return("NA")
  text <- deparse(value, nlines = 1L)[1L]
  if (nchar(text) > 40L) paste0(substr(text, 1L, 37L), "...") else text
}

# The call that the user made, rather than one within the package.
outer_call <- function() {
  here <- topenv()
  for (i in seq_len(sys.nframe()))
    if (identical(topenv(environment(sys.function(i))), here)) return(sys.call(i))
  NULL
}

# Ctrl-C was pressed during a call of the library, and nothing of it is held any more: what R does then.
interrupt <- function() {
  signalCondition(structure(class = c("interrupt", "condition"), list(message = "interrupted", call = NULL)))
  if (!interactive()) stop(structure(class = c("knng_interrupted", "error", "condition"),
                                     list(message = "interrupted", call = outer_call())))
  invokeRestart("abort")
}
