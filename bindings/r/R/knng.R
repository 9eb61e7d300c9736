# The graph: from arguments to an object of class knng.

# What stands behind the dots must be spelled out: p is the library's setting, not points or progress.
knng <- function(x, k = 10, query = NULL, metric = "euclidean", self = FALSE, ..., points = c("rows", "columns"),
                 leave_out = NULL, progress = getOption("knng.progress", interactive())) {
  points <- match.arg(points)
  other_packages(names(list(...)))
  if (missing(x)) refuse("x is missing: the points, a row each")
  k <- whole_number(k, "k")
  if (!is.logical(self) || length(self) != 1L || is.na(self)) refuse("self must be TRUE or FALSE")
  if (self && !is.null(query)) refuse("self = TRUE puts each row of x before its neighbours; query rows are not rows of x")
  if (!is.null(leave_out) && is.null(query)) refuse("leave_out goes with query; without one each row of x leaves out itself")
  p <- points_of(x, points, "x")
  watcher <- watch(progress)
  handle <- new_handle(list(metric = metric, self = if (self) "first" else "exclude"), list(...))
  on.exit(.Call(knng_r_end, handle))
  show_points(handle, p, watcher)
  q <- if (!is.null(query)) query_points(query, points)
  graph <- if (is.null(query)) done(watcher$after(.Call(knng_r_build, handle, k, watcher$show)), "x", p$by_columns)
           else run_query(handle, q, leave_out_ids(leave_out, q, p), k, watcher)
  on.exit(.Call(knng_r_end, graph), add = TRUE)
  new_knng(graph, k, self, p$names, q)
}

# Who comes from FNN, RANN, dbscan or BiocNeighbors may bring an argument of theirs that has another name here, or none.
other_packages <- function(given) {
  advice <- c(data = "it is x here", X = "it is x here", algorithm = "leave it out, no choice changes a result",
              treetype = "leave it out, no choice changes a result", search = "leave it out, no choice changes a result",
              eps = "leave it out, nothing is approximate", approx = "leave it out, nothing is approximate",
              searchtype = "lists have k entries, whatever their distance",
              radius = "lists have k entries, whatever their distance",
              num.threads = "it is threads here", BNPARAM = "it goes with findKNN() of BiocNeighbors")
  found <- intersect(given, names(advice))
  if (length(found) > 0L) refuse(sprintf("%s is no argument of knng(): %s", found[1L], advice[[found[1L]]]), argument = found[1L])
}

run_query <- function(handle, q, left, k, watcher) {
  if (q$kind == "file") {
    if (!is.null(left)) refuse("leave_out goes with a query matrix, not with a file")
    turn_file(handle, q)
    return(done(watcher$after(.Call(knng_r_query_file, handle, q$value, k, watcher$show)), "query"))
  }
  done(watcher$after(.Call(knng_r_query, handle, q$value, q$by_columns, left, k, watcher$show)), "query", q$by_columns)
}

# Rows that queries must not return, as integers from 1, 0 for none; given as numbers or as names of rows of x.
leave_out_ids <- function(leave_out, q, p) {
  if (is.null(leave_out)) return(NULL)
  if (is.character(leave_out)) {
    ids <- match(leave_out, p$names)
    several <- leave_out %in% p$names[duplicated(p$names)]
    if (any(several))
      refuse(sprintf("leave_out: x has several rows of name %s; give their numbers", leave_out[several][1L]))
    if (anyNA(ids[!is.na(leave_out)]))
      refuse(sprintf("leave_out: x has no row of name %s", leave_out[!is.na(leave_out) & is.na(ids)][1L]))
  } else {
    if (!is.numeric(leave_out)) refuse("leave_out must be numbers, or names, of rows of x")
    ids <- suppressWarnings(as.integer(leave_out))
    if (anyNA(ids[!is.na(leave_out)]) || any(ids != leave_out, na.rm = TRUE))
      refuse("leave_out must be whole numbers of rows of x")
  }
  ids[is.na(ids)] <- 0L
  if (!is.na(q$n) && length(ids) != q$n)
    refuse(sprintf("leave_out has %d entries; query has %d points", length(ids), q$n))
  ids
}

# A handle with these settings.
new_handle <- function(named, more) {
  if (length(more) > 0L && (is.null(names(more)) || any(names(more) == "")))
    refuse("further arguments are settings of the library and need names, such as threads = 2")
  twice <- intersect(names(more), names(named))
  if (length(twice) > 0L || anyDuplicated(names(more)))
    refuse(sprintf("setting %s is given twice", c(twice, names(more)[duplicated(names(more))])[1L]))
  handle <- done(.Call(knng_r_create))
  settings <- c(named, more)
  # Numbers of R are doubles: nothing is rounded unless the caller says so.
  if (is.null(settings$value_type)) settings$value_type <- "f64"
  if (!is.null(settings$file_points))
    refuse("file_points is the argument points here, of files too: points = \"columns\"", argument = "file_points")
  for (key in names(settings)) done(.Call(knng_r_set, handle, key, setting_text(key, settings[[key]])))
  handle
}

setting_text <- function(key, value) {
  if (length(value) != 1L || !(is.character(value) || is.numeric(value)) || is.na(value))
    refuse(sprintf("%s must be one text or one number", key))
  if (is.character(value)) enc2utf8(value) else number_text(value)
}

# As the library reads it, whatever options() say: all digits of a whole number, else as few as read back equal.
number_text <- function(value) {
  if (value == floor(value) && abs(value) < 1e22) return(sprintf("%.0f", value))
  for (digits in 15:17) {
    text <- sprintf("%.*g", digits, value)
    if (as.numeric(text) == value) break
  }
  text
}

whole_number <- function(value, argument, least = 1) {
  if (!is.numeric(value) || length(value) != 1L || !is.finite(value) || value != floor(value))
    refuse(sprintf("%s must be one whole number", argument))
  if (value < least || value > 2^53) refuse(sprintf("%s=%s is not in %s to 2^53", argument, number_text(value), number_text(least)))
  as.double(value)
}

# The object: lists, of class NN and kNN where they are as dbscan has them, and beside them what the build says of itself.
# elsewhere: the lists may be short, or in no order.
new_knng <- function(graph, k, self, names, q, elsewhere = FALSE) {
  lists <- done(.Call(knng_r_lists, graph))
  labels <- list(if (is.null(q)) names else q$names, as.character(seq_len(ncol(lists$id)) - self))
  dimnames(lists$id) <- dimnames(lists$dist) <- labels
  words <- c("metric", "p", "value", "precision", "engine", "selector", "device", "version", "fingerprint")
  texts <- vapply(words, function(word) done(.Call(knng_r_graph_text, graph, word)), "")
  stats <- done(.Call(knng_r_stats, graph))
  sort <- !elsewhere || in_order(lists, self, texts[["value"]])
  # dbscan reads ids without looking, and takes the smallest value for the nearest.
  as_dbscan <- sort && texts[["value"]] == "distance" && !(elsewhere && any(lists$id == 0L))
  structure(
    list(dist = lists$dist, id = lists$id, k = as.integer(k), sort = sort, metric = texts[["metric"]],
         value = texts[["value"]], self = self, query = !is.null(q), columns = stats[["columns"]], names = names,
         info = list(k = as.integer(k), texts = texts, stats = stats,
                     ties = if (!is.na(stats[["ties_at_k"]])) done(.Call(knng_r_rows, graph, "ties", FALSE)) != 0L,
                     proof = as.raw(done(.Call(knng_r_rows, graph, "proof", FALSE))),
                     single = done(.Call(knng_r_shape, graph))$single)),
    class = c("knng", if (as_dbscan) c("kNN", "NN"))
  )
}

# Whether the nearest come first in every list; places without a neighbour, and the row itself in front, do not count.
in_order <- function(lists, self, value) {
  id <- unname(if (self) lists$id[, -1L, drop = FALSE] else lists$id)
  dist <- unname(if (self) lists$dist[, -1L, drop = FALSE] else lists$dist)
  if (ncol(id) < 2L) return(TRUE)
  if (value != "distance") dist <- -dist
  front <- -ncol(id)
  all(id[, -1L] == 0L | id[, front] == 0L | dist[, front] <= dist[, -1L])
}

# The spellings of FNN, RANN and BiocNeighbors for the members id and dist.
spellings <- c(nn.index = "id", nn.dist = "dist", nn.idx = "id", nn.dists = "dist", index = "id", distance = "dist",
               idx = "id")

`$.knng` <- function(x, name) {
  if (name %in% names(spellings)) name <- spellings[[name]]
  .subset2(x, name)
}

`[[.knng` <- function(x, i, ...) {
  if (is.character(i) && length(i) == 1L && i %in% names(spellings)) i <- spellings[[i]]
  .subset2(x, i, ...)
}

# What a call would need, without running it.
knng_estimate <- function(x, k = 10, queries = 0, metric = "euclidean", ..., points = c("rows", "columns")) {
  points <- match.arg(points)
  handle <- new_handle(list(metric = metric), list(...))
  on.exit(.Call(knng_r_end, handle))
  show_points(handle, points_of(x, points, "x"), watch(FALSE))
  done(.Call(knng_r_estimate, handle, whole_number(queries, "queries", 0), whole_number(k, "k")))
}

# Compares a graph with the definition, ids and bits: the first row that differs, or 0.
knng_check <- function(g, x, sample = 0, ..., points = c("rows", "columns"),
                       progress = getOption("knng.progress", interactive())) {
  points <- match.arg(points)
  require_graph(g)
  if (g$query) refuse("g is a graph of queries; only graphs of the rows of x can be checked")
  watcher <- watch(progress)
  handle <- new_handle(check_settings(g, list(...)), NULL)
  on.exit(.Call(knng_r_end, handle))
  show_points(handle, points_of(x, points, "x"), watcher)
  graph <- import(g, as_it_was = TRUE)
  on.exit(.Call(knng_r_end, graph), add = TRUE)
  done(watcher$after(.Call(knng_r_check, handle, graph, whole_number(sample, "sample", 0), watcher$show)))
}

# What the graph says of itself, and then what the caller says.
check_settings <- function(g, more) {
  given <- list(metric = g$metric, self = if (g$self) "first" else "exclude", value = g$value)
  if (nzchar(g$info$texts[["p"]]) && is.null(more$metric)) given$p <- g$info$texts[["p"]]
  if (g$metric == "unknown") {
    given$metric <- "euclidean"
    if (is.null(more$metric)) message("g names no metric: euclidean is assumed; give another with metric =")
  }
  if (length(more) > 0L && (is.null(names(more)) || any(names(more) == "")))
    refuse("further arguments are settings of the library and need names, such as threads = 2")
  c(given[setdiff(names(given), names(more))], more)
}

# A graph, whose lists may have been edited.
require_graph <- function(g) {
  if (!inherits(g, "knng"))
    refuse(sprintf("g is %s; it must be a graph from knng() or read_knng(), and as_knng() makes one of lists", kind_of(g)))
  lists <- list(id = .subset2(g, "id"), dist = .subset2(g, "dist"))
  for (member in names(lists)) {
    m <- lists[[member]]
    wanted <- if (member == "id") "integer" else "double"
    if (!is.matrix(m)) refuse(sprintf("g: %s is %s; it must be a matrix of type %s", member, kind_of(m), wanted))
    if (typeof(m) != wanted)
      refuse(sprintf("g: %s is of type %s; it must be of type %s, as storage.mode(g$%s) <- \"%s\" makes it", member, typeof(m),
                     wanted, member, wanted))
  }
  if (anyNA(lists$id)) {
    place <- arrayInd(which(is.na(lists$id))[1L], dim(lists$id))
    refuse(sprintf("g: id is NA (row %d, column %d of id); 0 is no neighbour", place[1L], place[2L]))
  }
}

# The library's graph again, from the lists. as_it_was: its values in the type that they had.
import <- function(g, as_it_was = FALSE) {
  require_graph(g)
  done(.Call(knng_r_import, g$id, g$dist, as_it_was && isTRUE(g$info$single), g$columns, !g$query), "g")
}
