# The library's own tables, so that this package needs none.

# As knng() takes them: self and file_points are arguments of it, and values are doubles unless the caller says otherwise.
knng_settings <- function() {
  table <- as.data.frame(.Call(knng_r_settings), stringsAsFactors = FALSE)
  table$default[table$name == "value_type"] <- "f64"
  table <- table[!table$name %in% c("self", "file_points"), ]
  rownames(table) <- NULL
  table
}

knng_metrics <- function() as.data.frame(.Call(knng_r_metrics), stringsAsFactors = FALSE)

knng_devices <- function() as.data.frame(.Call(knng_r_devices), stringsAsFactors = FALSE)

# The library that runs, and the header that the package was compiled with.
knng_version <- function() {
  parts <- function(number) paste(bitwAnd(bitwShiftR(number, c(16L, 8L, 0L)), 255L), collapse = ".")
  numbers <- .Call(knng_r_version)
  c(library = parts(numbers[1L]), header = parts(numbers[2L]))
}

knng_use_matrix_tiles <- function() {
  answer <- .Call(knng_r_use_matrix_tiles)
  if (!inherits(answer, "knng_failure")) return(invisible(TRUE))
  warning(answer$reason, call. = FALSE)
  invisible(FALSE)
}
