# Points as a user has them, made ready for C: nothing is copied that the library can read where it is.

# A list: kind "matrix", "sparse" or "file"; value, what C takes; by_columns; names of the points or NULL; n, their number.
points_of <- function(x, points, argument) {
  if (missing(x)) refuse(sprintf("%s is missing: the points", argument), argument)
  if (is.character(x) && is.null(dim(x)) && length(x) == 1L) return(points_in_file(x, points, argument))
  if (inherits(x, "sparseMatrix")) return(points_sparse(x, points, argument))
  if (inherits(x, "denseMatrix")) {
    require_valid(x, argument)
    x <- as.matrix(x)
  }
  if (is.data.frame(x)) x <- frame_matrix(x, argument)
  if (!is.matrix(x))
    refuse(sprintf("%s is %s; it must be a matrix, a data frame or a matrix of package Matrix%s", argument, kind_of(x),
                   if (is.numeric(x) && is.null(dim(x)) && !is.object(x)) advice_vector(argument) else ""), argument)
  refuse_codes(x, argument)
  if (!is.double(x) && !is.integer(x) && !is.logical(x))
    refuse(sprintf("%s is a matrix of type %s; it must be of type double, integer or logical", argument, typeof(x)),
           argument)
  by_columns <- points == "columns"
  require_some(x, argument)
  if (!is.double(x) && anyNA(x)) refuse_na(x, argument)
  list(kind = "matrix", value = x, by_columns = by_columns, n = if (by_columns) ncol(x) else nrow(x),
       names = if (by_columns) colnames(x) else rownames(x))
}

require_some <- function(x, argument) {
  if (any(dim(x) == 0L))
    refuse(sprintf("%s has %d rows and %d columns; it needs at least one of each", argument, nrow(x), ncol(x)), argument, "range")
}

# Classes whose numbers are not what R stores.
refuse_codes <- function(x, argument) {
  if (is.factor(x))
    refuse(sprintf("%s is of class factor, whose numbers are codes of levels; it must be a matrix of numbers", argument),
           argument)
  if (inherits(x, "integer64"))
    refuse(sprintf("%s is of class integer64, which R stores as other doubles; give matrix(as.double(x), nrow(x)) of it", argument),
           argument)
}

kind_of <- function(x) {
  if (is.null(dim(x)) && is.atomic(x) && !is.null(x) && !is.object(x)) return(sprintf("a vector of type %s", typeof(x)))
  sprintf("of class %s", class(x)[1L])
}

advice_vector <- function(argument) {
  one <- if (argument == "query") "matrix(query, nrow = 1) for one point, " else ""
  sprintf(" (a point in each row: %smatrix(%s, ncol = 1) for points on a line)", one, argument)
}

# NA of integers and logicals is a number to C; that of doubles is NaN, which the library finds.
refuse_na <- function(x, argument) {
  place <- arrayInd(which(is.na(x))[1L], dim(x))
  refuse(sprintf("%s: a value is NA; every value must be finite (row %d, column %d of %s)", argument, place[1L],
                 place[2L], argument), argument, "data", place[1L], place[2L])
}

frame_matrix <- function(x, argument) {
  # scale() makes columns that are matrices of one column.
  single <- function(column) is.null(dim(column)) || (is.matrix(column) && ncol(column) == 1L)
  fit <- vapply(x, function(column) single(column) && !is.object(column) && (is.numeric(column) || is.logical(column)),
                logical(1L))
  if (!all(fit)) {
    wrong <- which(!fit)[1L]
    advice <- if (inherits(x[[wrong]], "integer64")) ", which as.double() makes it" else ""
    refuse(sprintf("%s: column %d, %s, is of class %s; every column must be numeric or logical%s", argument, wrong,
                   names(x)[wrong], class(x[[wrong]])[1L], advice), argument, column = wrong)
  }
  named <- .row_names_info(x) > 0L
  x <- as.matrix(x)
  if (!named) rownames(x) <- NULL
  x
}

# turned: the library takes the file's columns for points; by_columns is of matrices.
points_in_file <- function(x, points, argument) {
  if (argument == "query" && names_metric(x) && !file.exists(x))
    refuse(sprintf("cannot open '%s': there is no such file; did you mean metric = \"%s\"?", x, x), argument, "io")
  list(kind = "file", value = enc2native(path.expand(x)), by_columns = FALSE, turned = points == "columns", names = NULL, n = NA)
}

names_metric <- function(text) {
  known <- knng_metrics()
  tolower(text) %in% c(known$name, unlist(strsplit(known$other_names, ", ", fixed = TRUE)))
}

# What the library has to know before it reads the file.
turn_file <- function(handle, p) if (isTRUE(p$turned)) done(.Call(knng_r_set, handle, "file_points", "columns"))

# A dgCMatrix whose columns are the points.
points_sparse <- function(x, points, argument) {
  require_some(x, argument)
  by_columns <- points == "columns"
  names <- if (by_columns) colnames(x) else rownames(x)
  require_valid(x, argument)
  x <- as(as(as(x, "dMatrix"), "generalMatrix"), "CsparseMatrix")
  if (!by_columns) x <- t(x)
  list(kind = "sparse", value = x, by_columns = by_columns, names = names, n = ncol(x))
}

# C reads and writes where the slots say: they must be what their class promises.
require_valid <- function(x, argument) {
  valid <- validObject(x, test = TRUE)
  if (!isTRUE(valid)) refuse(sprintf("%s is no valid %s: %s", argument, class(x)[1L], valid[1L]), argument)
}

# Gives points to a handle.
show_points <- function(handle, p, watcher) {
  turn_file(handle, p)
  done(watcher$after(switch(p$kind,
    matrix = .Call(knng_r_borrow, handle, p$value, p$by_columns, watcher$show),
    sparse = .Call(knng_r_add_sparse, handle, p$value@p, p$value@i, p$value@x, nrow(p$value), watcher$show),
    file = .Call(knng_r_add_file, handle, p$value, watcher$show)
  )), "x", p)
}

# Queries in one matrix; a sparse one is made dense as a whole.
query_points <- function(query, points) {
  q <- points_of(query, points, "query")
  if (q$kind == "sparse") {
    q$kind <- "matrix"
    q$value <- as.matrix(if (q$by_columns) q$value else t(q$value))
  }
  q
}
