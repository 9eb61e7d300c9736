# BiocNeighbors: a parameter class that makes findKNN() and queryKNN(), and what calls them (scran, bluster, batchelor),
# use this package. BiocNeighbors is a suggestion, so classes and methods are defined when it is first there.

# They stand in an environment of their own, as the package's is locked by then.
bioc_room <- new.env()
assign(".packageName", "knng", envir = bioc_room)

# A parameter for BNPARAM. distance: as in BiocNeighbors, or any metric of knng_metrics(). ...: settings.
KnngParam <- function(distance = "Euclidean", ...) {
  require_package("BiocNeighbors", "KnngParam()")
  define_bioc()
  settings <- list(...)
  for (key in intersect(names(settings), c("value", "self")))
    refuse(sprintf("%s is no setting of KnngParam(): BiocNeighbors takes distances to other points", key), key, "option")
  .Call(knng_r_end, new_handle(list(metric = one_text(distance, "distance")), settings)) # refuses what is unknown
  new(getClass("KnngParam", where = bioc_room), distance = distance, settings = settings)
}

define_bioc <- function(...) {
  if (isClass("KnngParam", where = bioc_room)) return(invisible())
  bioc <- asNamespace("BiocNeighbors")
  setClass("KnngParam", contains = structure("BiocNeighborParam", package = "BiocNeighbors"), slots = c(settings = "list"),
           where = bioc_room)
  if (packageVersion("BiocNeighbors") < "1.99") define_bioc_1(bioc) else define_bioc_2(bioc)
  invisible()
}

# Up to 1.x methods are chosen by index and parameter, and an index holds the points as columns.
define_bioc_1 <- function(bioc) {
  setClass("KnngIndex", contains = structure("BiocNeighborIndex", package = "BiocNeighbors"), slots = c(settings = "list"),
           where = bioc_room)
  find <- function(X, k, ..., BNINDEX, BNPARAM) bioc_find(X, k, ..., distance = BNPARAM@distance, settings = BNPARAM@settings)
  query <- function(X, query, k, ..., BNINDEX, BNPARAM)
    bioc_query(X, query, k, ..., distance = BNPARAM@distance, settings = BNPARAM@settings)
  find_index <- function(X, k, ..., BNINDEX, BNPARAM)
    bioc_find(BNINDEX@data, k, ..., distance = BNINDEX@distance, settings = BNINDEX@settings, stored = TRUE)
  query_index <- function(X, query, k, ..., BNINDEX, BNPARAM)
    bioc_query(BNINDEX@data, query, k, ..., distance = BNINDEX@distance, settings = BNINDEX@settings, stored = TRUE)
  build <- function(X, ..., BNPARAM) bioc_index(X, ..., BNPARAM = BNPARAM)
  define <- function(generic, signature, method)
    setMethod(get(generic, envir = bioc), signature, method, where = bioc_room)
  define("findKNN", c("missing", "KnngParam"), find)
  define("queryKNN", c("missing", "KnngParam"), query)
  for (parameter in c("missing", "KnngParam")) {
    define("findKNN", c("KnngIndex", parameter), find_index)
    define("queryKNN", c("KnngIndex", parameter), query_index)
  }
  for (name in bioc_radius) {
    define(name, c("missing", "KnngParam"), no_radius(bioc, name))
    for (parameter in c("missing", "KnngParam")) define(name, c("KnngIndex", parameter), no_radius(bioc, name))
  }
  define("buildIndex", "KnngParam", build)
  define("bnorder", "KnngIndex", function(x) seq_len(ncol(x@data)))
}

# From 2.x on they are chosen by points and parameter, and threads are num.threads.
define_bioc_2 <- function(bioc) {
  threads <- function(settings, num.threads) {
    if (is.null(settings$threads)) settings$threads <- num.threads
    settings
  }
  find <- function(X, k, get.index = TRUE, get.distance = TRUE, num.threads = 1, subset = NULL, ..., BNPARAM = NULL)
    bioc_find(X, k, get.index = get.index, get.distance = get.distance, subset = subset, ..., distance = BNPARAM@distance,
              settings = threads(BNPARAM@settings, num.threads))
  query <- function(X, query, k, get.index = TRUE, get.distance = TRUE, num.threads = 1, subset = NULL, transposed = FALSE,
                    ..., BNPARAM = NULL)
    bioc_query(X, query, k, get.index = get.index, get.distance = get.distance, subset = subset, transposed = transposed,
               ..., distance = BNPARAM@distance, settings = threads(BNPARAM@settings, num.threads))
  for (points in c("matrix", "ANY")) {
    setMethod(get("findKNN", envir = bioc), c(points, "KnngParam"), find, where = bioc_room)
    setMethod(get("queryKNN", envir = bioc), c(points, "KnngParam"), query, where = bioc_room)
    for (name in bioc_radius)
      setMethod(get(name, envir = bioc), c(points, "KnngParam"), no_radius(bioc, name), where = bioc_room)
  }
}

# Generics that look for all points within a distance, which this package does not.
bioc_radius <- c("findNeighbors", "queryNeighbors")

# A method that says so, with the arguments of its generic.
no_radius <- function(bioc, name) {
  method <- function()
    refuse(sprintf("%s() looks within a distance, and KnngParam is for k neighbours: give it another BNPARAM", name), "BNPARAM",
           "unsupported")
  formals(method) <- formals(get(name, envir = bioc))
  method
}

bioc_index <- function(X, transposed = FALSE, ..., BNPARAM) {
  data <- as.matrix(if (transposed) X else t(X))
  new(getClass("KnngIndex", where = bioc_room), data = data, NAMES = colnames(data), distance = BNPARAM@distance,
      settings = BNPARAM@settings)
}

# stored: points are columns, as an index holds them.
bioc_find <- function(X, k, get.index = TRUE, get.distance = TRUE, last = k, subset = NULL, transposed = FALSE, ...,
                      distance, settings, stored = FALSE) {
  points <- if (stored || transposed) "columns" else "rows"
  n <- if (points == "columns") ncol(X) else nrow(X)
  k <- bioc_capped(k, n - 1L, " minus 1")
  if (is.null(subset)) {
    g <- bioc_graph(X, k, points, distance, settings)
  } else {
    which <- bioc_subset(subset, X, points)
    g <- bioc_graph(X, k, points, distance, settings, query = bioc_take(X, which, points), leave_out = which)
  }
  bioc_answer(g, get.index, get.distance, last)
}

bioc_query <- function(X, query, k, get.index = TRUE, get.distance = TRUE, last = k, subset = NULL, transposed = FALSE, ...,
                       distance, settings, stored = FALSE) {
  if (transposed) query <- t(query)
  if (stored) X <- t(X)
  else if (transposed) X <- t(X)
  k <- bioc_capped(k, nrow(X), "")
  if (!is.null(subset)) query <- bioc_take(query, bioc_subset(subset, query, "rows"), "rows")
  bioc_answer(bioc_graph(X, k, "rows", distance, settings, query = query), get.index, get.distance, last)
}

bioc_graph <- function(X, k, points, distance, settings, ...) {
  do.call(knng, c(list(X, k, metric = distance, points = points, progress = FALSE, ...), settings))
}

bioc_capped <- function(k, most, why) {
  if (k > most) {
    warning("'k' capped at the number of observations", why, call. = FALSE)
    k <- most
  }
  k
}

bioc_subset <- function(subset, X, points) {
  all <- seq_len(if (points == "columns") ncol(X) else nrow(X))
  names(all) <- if (points == "columns") colnames(X) else rownames(X)
  which <- unname(all[subset])
  if (anyNA(which)) refuse("subset has entries that are no points of X", "subset")
  which
}

bioc_take <- function(X, which, points) if (points == "columns") X[, which, drop = FALSE] else X[which, , drop = FALSE]

# BiocNeighbors' cosine is the Euclidean distance of rows of length 1.
bioc_answer <- function(g, get.index, get.distance, last) {
  columns <- seq(to = ncol(g$id), length.out = min(last, ncol(g$id)))
  shown <- function(m, wanted) {
    m <- unname(m[, columns, drop = FALSE])
    if (identical(wanted, "transposed")) t(m) else m
  }
  dist <- if (g$metric == "cosine") sqrt(2 * g$dist) else g$dist
  out <- list()
  if (!identical(get.index, FALSE)) out$index <- shown(g$id, get.index)
  if (!identical(get.distance, FALSE)) out$distance <- shown(dist, get.distance)
  out
}
