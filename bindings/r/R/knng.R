# The graph: from arguments to an object of class knng.

# What stands behind the dots must be spelled out: p is the library's setting, not points or progress.
knng <- function(x, k = 10, query = NULL, metric = "euclidean", self = FALSE, ..., points = c("rows", "columns"),
                 leave_out = NULL, progress = getOption("knng.progress", interactive())) {
  points <- rows_or_columns(points)
  require_settings(names(list(...)))
  if (!is.logical(self) || length(self) != 1L || is.na(self))
    refuse(sprintf("self must be TRUE or FALSE, not %s", said(self)), "self")
  if (self && !is.null(query))
    refuse("self = TRUE puts each point of x before its neighbours; queries are not points of x", "self")
  if (!is.null(leave_out) && is.null(query))
    refuse("leave_out goes with query; without one each point of x leaves out itself", "leave_out")
  p <- points_of(x, points, "x")
  k <- whole_number(k, "k", most = p$n - is.null(query))
  watcher <- watch(progress)
  handle <- new_handle(list(metric = metric, self = if (self) "first" else "exclude"), list(...))
  on.exit(.Call(knng_r_end, handle))
  show_points(handle, p, watcher)
  q <- if (!is.null(query)) query_points(query, points)
  graph <- if (is.null(query)) done(watcher$after(.Call(knng_r_build, handle, k, watcher$show)), "x", p)
           else run_query(handle, q, leave_out_ids(leave_out, q, p), k, watcher)
  on.exit(.Call(knng_r_end, graph), add = TRUE)
  new_knng(graph, k, self, p$names, q)
}

run_query <- function(handle, q, left, k, watcher) {
  if (q$kind == "file") {
    if (!is.null(left)) refuse("leave_out goes with a query matrix, not with a file", "leave_out")
    turn_file(handle, q)
    return(done(watcher$after(.Call(knng_r_query_file, handle, q$value, k, watcher$show)), "query", q))
  }
  done(watcher$after(.Call(knng_r_query, handle, q$value, q$by_columns, left, k, watcher$show)), "query", q)
}

# Points that queries must not return, as integers from 1, 0 for none; given as numbers or as names of points of x.
leave_out_ids <- function(leave_out, q, p) {
  if (is.null(leave_out)) return(NULL)
  if (is.character(leave_out)) {
    ids <- match(leave_out, p$names)
    several <- leave_out %in% p$names[duplicated(p$names)]
    if (any(several))
      refuse(sprintf("leave_out: x has several points of name %s; give their numbers", leave_out[several][1L]), "leave_out")
    if (anyNA(ids[!is.na(leave_out)]))
      refuse(sprintf("leave_out: x has no point of name %s", leave_out[!is.na(leave_out) & is.na(ids)][1L]), "leave_out")
  } else {
    if (!is.numeric(leave_out)) refuse("leave_out must be numbers, or names, of points of x", "leave_out")
    ids <- suppressWarnings(as.integer(leave_out))
    if (anyNA(ids[!is.na(leave_out)]) || any(ids != leave_out, na.rm = TRUE))
      refuse("leave_out must be whole numbers of points of x", "leave_out")
  }
  ids[is.na(ids)] <- 0L
  if (!is.na(q$n) && length(ids) != q$n)
    refuse(sprintf("leave_out has %d entries; query has %d points", length(ids), q$n), "leave_out", given = length(ids),
           limit = q$n)
  ids
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
  # dbscan reads ids without looking, as other rows of the same matrix, and takes the smallest value for the nearest.
  as_dbscan <- sort && !self && is.null(q) && texts[["value"]] == "distance" && !(elsewhere && any(lists$id == 0L))
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
  points <- rows_or_columns(points)
  handle <- new_handle(list(metric = metric), list(...))
  on.exit(.Call(knng_r_end, handle))
  p <- points_of(x, points, "x")
  queries <- whole_number(queries, "queries", 0)
  k <- whole_number(k, "k", most = p$n - (queries == 0))
  show_points(handle, p, watch(FALSE))
  done(.Call(knng_r_estimate, handle, queries, k), "x", p)
}

# Compares a graph with the definition, ids and bits: the first row that differs, or 0.
knng_check <- function(g, x, sample = 0, ..., points = c("rows", "columns"),
                       progress = getOption("knng.progress", interactive())) {
  points <- rows_or_columns(points)
  require_graph(g)
  if (g$query) refuse("g is a graph of queries; only graphs of the points of x can be checked", "g")
  watcher <- watch(progress)
  handle <- new_handle(check_settings(g, list(...)), NULL)
  on.exit(.Call(knng_r_end, handle))
  p <- points_of(x, points, "x")
  show_points(handle, p, watcher)
  graph <- import(g, as_it_was = TRUE)
  on.exit(.Call(knng_r_end, graph), add = TRUE)
  done(watcher$after(.Call(knng_r_check, handle, graph, whole_number(sample, "sample", 0), watcher$show)), "x", p)
}

# What the graph says of itself, and then what the caller says.
check_settings <- function(g, more) {
  given <- list(metric = g$metric, self = if (g$self) "first" else "exclude", value = g$value)
  if (nzchar(g$info$texts[["p"]]) && is.null(more$metric)) given$p <- g$info$texts[["p"]]
  if (g$metric == "unknown") {
    given$metric <- "euclidean"
    if (is.null(more$metric)) message("g names no metric: euclidean is assumed; give another with metric =")
  }
  require_names(more)
  c(given[setdiff(names(given), names(more))], more)
}

# A graph, whose lists may have been edited.
require_graph <- function(g, argument = "g") {
  if (missing(g)) refuse(sprintf("%s is missing: a graph from knng() or read_knng()", argument), argument)
  if (!inherits(g, "knng"))
    refuse(sprintf("%s is %s; it must be a graph from knng() or read_knng(), and as_knng() makes one of lists", argument,
                   kind_of(g)), argument)
  lists <- list(id = .subset2(g, "id"), dist = .subset2(g, "dist"))
  for (member in names(lists)) {
    m <- lists[[member]]
    wanted <- if (member == "id") "integer" else "double"
    if (!is.matrix(m))
      refuse(sprintf("%s: %s is %s; it must be a matrix of type %s", argument, member, kind_of(m), wanted), argument)
    if (typeof(m) != wanted)
      refuse(sprintf("%s: %s is of type %s; it must be of type %s, as storage.mode(%s$%s) <- \"%s\" makes it", argument, member,
                     typeof(m), wanted, argument, member, wanted), argument)
  }
  if (anyNA(lists$id)) {
    place <- arrayInd(which(is.na(lists$id))[1L], dim(lists$id))
    refuse(sprintf("%s: id is NA (row %d, column %d of id); 0 is no neighbour", argument, place[1L], place[2L]), argument,
           "data", place[1L], place[2L])
  }
}

# The library's graph again, from the lists. as_it_was: its values in the type that they had.
import <- function(g, as_it_was = FALSE) {
  require_graph(g)
  done(.Call(knng_r_import, g$id, g$dist, as_it_was && isTRUE(g$info$single), g$columns, !g$query), "g",
       list(kind = "matrix", value = g$dist, by_columns = FALSE))
}

# The object anew, after its lists or what is known of it were changed.
made_anew <- function(g, argument = "g") {
  graph <- import(g, as_it_was = TRUE)
  on.exit(.Call(knng_r_end, graph))
  describe(graph, g, argument)
  new_knng(graph, g$k, g$self, g$names, if (g$query) list(names = rownames(g$id)), elsewhere = TRUE)
}

# A graph of fewer neighbours. Whether its lists end at ties cannot be told from values, which are rounded.
first_neighbours <- function(g, k) {
  require_graph(g)
  if (missing(k)) refuse("k is missing: how many neighbours to keep", "k")
  k <- whole_number(k, "k", most = g$k)
  if (k > g$k) refuse(sprintf("k=%s: g has %d neighbours", number_text(k), g$k), "k", "range", given = k, limit = g$k)
  if (!g$sort) refuse("g has lists in no order, whose first entries need not be the nearest", "g")
  if (k == g$k) return(g)
  kept <- seq_len(k + g$self)
  g$id <- g$id[, kept, drop = FALSE]
  g$dist <- g$dist[, kept, drop = FALSE]
  g$k <- g$info$k <- as.integer(k)
  g$info["ties"] <- list(NULL)
  g$info$stats[setdiff(names(g$info$stats), c("rows", "columns", "duplicates"))] <- NA
  made_anew(g)
}
