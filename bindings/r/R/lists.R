# Lists that another package found, as a graph of this one; and what a graph of unknown metric is told of it.

# lists: an answer of FNN, RANN, dbscan, BiocNeighbors or uwot. points: of queries, how many points could be neighbours.
# self: whether lists have the row itself; NULL: as they show.
as_knng <- function(lists, metric = NULL, p = NULL, value = NULL, points = NULL, names = NULL, self = NULL) {
  if (missing(lists)) refuse("lists is missing: what FNN, RANN, dbscan or BiocNeighbors returned", "lists")
  if (inherits(lists, "knng")) {
    shape <- c("points", "names", "self")[!c(is.null(points), is.null(names), is.null(self))]
    if (length(shape) > 0L)
      refuse(sprintf("lists is a graph of this package already, which %s would not change", shape[1L]), shape[1L], "state")
    return(told_graph(lists, facts_told(metric, p, value)))
  }
  if (!is.list(lists))
    refuse(sprintf("lists is %s; it must be a list of two matrices, such as nn.index and nn.dist", kind_of(lists)), "lists")
  id <- member_of(lists, c("id", "nn.index", "nn.idx", "index", "idx"))
  dist <- member_of(lists, c("dist", "nn.dist", "nn.dists", "distance"))
  if (!identical(dim(id), dim(dist)))
    refuse(sprintf("lists: ids are %d x %d, distances %d x %d", nrow(id), ncol(id), nrow(dist), ncol(dist)), "lists")
  if (length(id) == 0L) refuse("lists: there is none", "lists", "range")
  wrong <- which(!is.na(id) & (id != floor(id) | abs(id) > .Machine$integer.max))
  if (length(wrong) > 0L) refuse(sprintf("lists: id %s is no number of a point", number_text(id[wrong[1L]])), "lists",
                                  "data", given = id[wrong[1L]])
  labels <- rownames(id)
  storage.mode(id) <- "integer"
  storage.mode(dist) <- "double"
  id[is.na(id)] <- 0L # RANN has 0 where there is no neighbour
  dist[id == 0L] <- Inf
  front <- own_places(id, dist, self, points, similar = identical(value, "similarity"))
  if (!is.null(front)) {
    id <- to_front(id, front)
    dist <- to_front(dist, front)
  }
  count <- if (is.null(points)) nrow(id) else whole_number(points, "points")
  graph <- done(.Call(knng_r_import, id, dist, FALSE, count, is.null(points)), "lists",
                list(kind = "matrix", value = dist, by_columns = FALSE))
  on.exit(.Call(knng_r_end, graph))
  told <- facts_told(if (is.null(metric)) lists[["metric"]] else metric, p, value)
  done(.Call(knng_r_describe, graph, paste(sprintf("text.%s=%s\n", names(told), told), collapse = ""), NULL, NULL), "lists")
  names <- names_for(names, count, if (is.null(points)) labels)
  shape <- done(.Call(knng_r_shape, graph))
  self <- done(.Call(knng_r_graph_text, graph, "self")) == "first"
  new_knng(graph, shape$width - self, self, names, if (!is.null(points)) list(names = labels), elsewhere = TRUE)
}

# What the caller says of distances, as texts of a graph.
facts_told <- function(metric, p, value) {
  told <- list(metric = metric, p = p, value = value)
  told <- told[!vapply(told, is.null, NA)]
  vapply(names(told), function(key) gsub("\n", " ", setting_text(key, told[[key]])), "")
}

told_graph <- function(g, told) {
  if (length(told) == 0L) return(g)
  if (g$metric != "unknown")
    refuse(sprintf("lists is a graph of this package already, whose metric is known: %s", g$metric), names(told)[1L], "state")
  g$info$texts[names(told)] <- told
  made_anew(g, "lists")
}

# In which column each row has itself, if it is to be moved to the front, or NULL. Where distances are equal packages
# order as they like, so that a duplicate may stand before the row, and many of them may leave it out.
own_places <- function(id, dist, self, points, similar) {
  if (!is.null(self) && (!is.logical(self) || length(self) != 1L || is.na(self)))
    refuse(sprintf("self must be TRUE, FALSE or NULL, not %s", said(self)), "self")
  if (!is.null(points)) {
    if (isTRUE(self))
      refuse("self = TRUE says that lists have the row itself; with points they are of queries, which are none of the points",
             "self")
    return(NULL)
  }
  if (identical(self, FALSE)) return(NULL)
  own <- unname(id) == row(id)
  place <- max.col(own, ties.method = "first")
  has <- rowSums(own) > 0
  lacks <- which(!has)[1L]
  if (is.null(self)) {
    if (!any(has)) return(NULL)
    if (!all(has))
      refuse(sprintf("lists: row %d has itself in its list and row %d has not; %s", which(has)[1L], lacks,
                     "search for more neighbours than any row has duplicates, or take lists as they are by self = FALSE"),
             "lists", "data", row = lacks)
    if (similar) dist <- -dist
    dist[id == 0L] <- Inf
    nearest <- do.call(pmin, lapply(seq_len(ncol(dist)), function(j) unname(dist[, j])))
    far <- which(place > 1L & dist[cbind(seq_along(place), place)] > nearest)
    if (length(far) > 0L)
      refuse(sprintf("lists: row %d has itself in its list, but others are nearer; %s", far[1L],
                     "self = TRUE moves each row itself to the front of its list, self = FALSE takes lists as they are"),
             "lists", "data", row = far[1L])
  } else if (!all(has)) {
    refuse(sprintf("lists: row %d has not itself in its list, as self = TRUE says", lacks), "lists", "data", row = lacks)
  }
  if (any(place > 1L)) place
}

# Each row's entry of this column moves to the first, those before it move on by one.
to_front <- function(m, place) {
  columns <- col(m)
  from <- ifelse(columns == 1L, place, columns - (columns <= place))
  m[] <- m[cbind(as.vector(row(m)), as.vector(from))]
  m
}

# The matrix that goes by one of these names.
member_of <- function(lists, known) {
  found <- intersect(known, names(lists))
  if (length(found) == 0L) refuse(sprintf("lists has no member %s", paste(known, collapse = ", ")), "lists")
  m <- lists[[found[1L]]]
  refuse_codes(m, sprintf("lists: %s", found[1L]))
  if (!is.matrix(m) || !is.numeric(m))
    refuse(sprintf("lists: %s is %s; it must be a matrix of numbers", found[1L], kind_of(m)), "lists")
  m
}

# Names of so many points, or NULL.
names_for <- function(names, count, otherwise = NULL) {
  if (is.null(names)) return(otherwise)
  if (!is.character(names)) refuse(sprintf("names is of class %s; it must be texts", class(names)[1L]), "names")
  if (length(names) != count)
    refuse(sprintf("names has %d entries; the graph is of %.0f points", length(names), count), "names", given = length(names),
           limit = count)
  names
}
