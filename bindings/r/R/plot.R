# Two pictures: how far the k-th neighbour is, and how unevenly rows are others' neighbours.

plot.knng <- function(x, data = NULL, which = 1:2, ...) {
  require_graph(x, "x")
  if (!is.null(data)) { # as dbscan has it: points in the plane with their edges
    require_package("dbscan", "plot(g, data)")
    plot(as_kNN(x), plane(data, nrow(x$id)), ...)
    return(invisible(x))
  }
  if (length(which) == 0L || !all(which %in% 1:2))
    refuse(sprintf("which must be 1, the k-distance curve, 2, the in-degrees, or both, not %s", said(which)), "which")
  if (length(which) > 1L) {
    old <- par(mfrow = c(1L, length(which)))
    on.exit(par(old))
  }
  if (1L %in% which) plot_k_distance(x, ...)
  if (2L %in% which) plot_in_degree(x, ...)
  invisible(x)
}

# Where to draw so many points.
plane <- function(data, n) {
  if (is.data.frame(data)) data <- frame_matrix(data, "data")
  if (!is.matrix(data) || !is.numeric(data))
    refuse(sprintf("data is %s; it must be a matrix or a data frame of numbers", kind_of(data)), "data")
  if (nrow(data) != n || ncol(data) != 2L)
    refuse(sprintf("data is %d x %d; it must be %d x 2, a row for each point and the two columns to draw, such as data[, 1:2]",
                   nrow(data), ncol(data), n), "data")
  data
}

plot_k_distance <- function(g, main = sprintf("%d-distance curve", g$k), xlab = "points, sorted",
                            ylab = sprintf("%s to neighbour %d", g$value, g$k), type = "l", ...) {
  last <- k_distance(g)
  plot(sort(last[is.finite(last)], decreasing = g$value != "distance"), type = type, main = main, xlab = xlab, ylab = ylab, ...)
}

# type is the curve's.
plot_in_degree <- function(g, main = "In-degree", xlab = "lists that a point is in", ylab = "points", border = NA, space = 0,
                           type = NULL, ...) {
  counts <- table(factor(in_degree(g), levels = seq(0L, max(in_degree(g)))))
  barplot(counts, main = main, xlab = xlab, ylab = ylab, border = border, space = space, ...)
}
