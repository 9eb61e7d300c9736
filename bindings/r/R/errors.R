# What a routine of C answers: its value, or a failure that becomes an R condition. The library counts rows and columns
# from 0 and knows no R argument; here they are named and counted as the caller has them.

# answer: what .Call() returned. argument: the R argument whose rows a failure may name. by_columns: its points are columns.
done <- function(answer, argument = "x", by_columns = FALSE) {
  if (!inherits(answer, "knng_failure")) return(answer)
  if (answer$interrupted) interrupt()
  place <- c(answer$row, answer$col) + 1
  if (answer$argument == "leave_out") argument <- "leave_out"
  else if (by_columns) place <- rev(place)
  known <- place > 0
  reason <- sub("^(rows|q)\\b", argument, answer$reason)
  where <- paste(c("row", "column")[known], format(place[known], scientific = FALSE, trim = TRUE), collapse = ", ")
  refuse(if (any(known)) sprintf("%s (%s of %s)", reason, where, argument) else reason,
         code = answer$code, argument = answer$argument, row = place[1L], column = place[2L],
         given = answer$given, limit = answer$limit)
}

# An error of class knng_error, whose members say what was wrong; code is the library's (KNNG_ERR_RANGE is -2, ...).
refuse <- function(message, ...) {
  stop(structure(class = c("knng_error", "error", "condition"), list(message = message, call = outer_call(), ...)))
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
