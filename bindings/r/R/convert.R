# A graph in the shapes that other packages take.

setOldClass(c("knng", "kNN", "NN"))
setOldClass("igraph")

# Sparse matrix by one of the library's rules: from x's rows (or queries) to x's rows.
as_sparse <- function(g, rule = "directed") {
  graph <- import(g)
  on.exit(.Call(knng_r_end, graph))
  s <- done(.Call(knng_r_sparse, graph, one_text(rule, "rule"), NULL), "g")
  new("dgCMatrix", p = s$p, i = s$i, x = s$x, Dim = c(nrow(g$id), as.integer(g$columns)), Dimnames = list(rownames(g$id), g$names))
}

one_text <- function(value, argument) {
  if (missing(value)) refuse(sprintf("%s is missing: it must be one text", argument), argument)
  if (!is.character(value) || length(value) != 1L || is.na(value))
    refuse(sprintf("%s must be one text, not %s", argument, said(value)), argument)
  value
}

require_package <- function(package, whose) {
  if (!requireNamespace(package, quietly = TRUE))
    refuse(sprintf("%s needs the package %s", whose, package), kind = "unsupported")
}

setAs("knng", "dgCMatrix", function(from) as_sparse(from))
setAs("knng", "CsparseMatrix", function(from) as_sparse(from))
setAs("knng", "sparseMatrix", function(from) as_sparse(from))

as.matrix.knng <- function(x, ...)
  refuse("x is a graph, of which no dense matrix is made: as(x, \"dgCMatrix\") is sparse, and its lists are x$id and x$dist", "x",
         "unsupported")

# Edges: source, target, weight and, of lists, rank (0: the row itself); of symmetric rules each pair once. One text in
# the place of row names is the rule, which stands there in as_sparse() and as_igraph().
as.data.frame.knng <- function(x, row.names = NULL, optional = FALSE, ..., rule = "directed", names = TRUE) {
  require_graph(x, "x")
  if (missing(rule) && is.character(row.names) && length(row.names) == 1L) {
    rule <- row.names
    row.names <- NULL
  }
  e <- edges(x, rule)
  if (names) {
    if (!is.null(rownames(x$id))) e$source <- rownames(x$id)[e$source]
    if (!is.null(x$names)) e$target <- x$names[e$target]
  }
  as.data.frame(e, row.names = row.names, optional = optional, ...)
}

setAs("knng", "data.frame", function(from) as.data.frame.knng(from))

edges <- function(g, rule) {
  if (identical(rule, "directed")) {
    width <- ncol(g$id)
    n <- nrow(g$id)
    e <- list(source = rep(seq_len(n), each = width), target = as.vector(t(unname(g$id))),
              weight = as.vector(t(unname(g$dist))), rank = rep(seq_len(width) - g$self, times = n))
    there <- e$target > 0L # lists of graphs from elsewhere may be shorter
    return(if (all(there)) e else lapply(e, function(member) member[there]))
  }
  s <- as_sparse(g, rule)
  source <- rep(seq_len(ncol(s)), diff(s@p))
  target <- s@i + 1L
  upper <- source < target
  list(source = source[upper], target = target[upper], weight = s@x[upper])
}

# Without the row itself in front.
neighbours_only <- function(m, g) if (g$self) m[, -1L, drop = FALSE] else m

refuse_short <- function(g, package) {
  short <- which(g$id == 0L, arr.ind = TRUE)
  if (length(short) > 0L)
    refuse(sprintf("%s takes lists of one length; that of row %d of g is shorter", package, short[1L]), "g", "data",
           row = short[1L])
}

as_igraph <- function(g, rule = "directed") {
  require_graph(g)
  require_package("igraph", "as_igraph()")
  if (g$query) refuse("g is a graph of queries, whose points are of two sets; as.data.frame(g) has its edges", "g", "state")
  e <- edges(g, rule)
  if (identical(rule, "directed") && g$self) e <- lapply(e, function(member) member[e$rank > 0L])
  graph <- igraph::make_empty_graph(nrow(g$id), directed = identical(rule, "directed"))
  graph <- igraph::add_edges(graph, rbind(e$source, e$target), attr = list(weight = e$weight))
  if (!is.null(g$names)) graph <- igraph::set_vertex_attr(graph, "name", value = g$names)
  graph
}

setAs("knng", "igraph", function(from) as_igraph(from))

as.igraph.knng <- function(x, rule = "directed", ...) as_igraph(x, rule)

# list(idx, dist) for uwot's nn_method, whose lists begin with the row itself; those of queries do not.
as_uwot <- function(g) {
  require_graph(g)
  if (g$value != "distance") refuse("uwot takes distances; g has similarities", "g", "state")
  refuse_short(g, "uwot")
  id <- unname(g$id)
  dist <- unname(g$dist)
  if (any(dist < 0)) refuse("uwot takes distances of 0 or more; g has negative ones", "g", "data")
  if (!g$query && !g$self) {
    id <- cbind(seq_len(nrow(id)), id)
    dist <- cbind(0, dist)
  }
  list(idx = id, dist = dist)
}

# As dbscan::kNN() returns it: the row itself is never in it, and lists are in order.
as_kNN <- function(g) {
  require_graph(g)
  if (g$query)
    refuse("g is a graph of queries, and dbscan takes rows and neighbours for the same points; as.data.frame(g) has its edges",
           "g", "state")
  if (g$value != "distance") refuse("dbscan takes distances; g has similarities", "g", "state")
  refuse_short(g, "dbscan")
  id <- neighbours_only(g$id, g)
  dist <- neighbours_only(g$dist, g)
  if (!g$sort) {
    sorted <- order(row(id), dist, id)
    id[] <- matrix(id[sorted], nrow(id), byrow = TRUE)
    dist[] <- matrix(dist[sorted], nrow(id), byrow = TRUE)
  }
  structure(list(dist = dist, id = id, k = ncol(id), sort = TRUE, metric = g$metric),
            class = c("kNN", "NN"))
}

setAs("knng", "kNN", function(from) as_kNN(from))

setAs("knng", "list", function(from) as_uwot(from))
