# Two pictures: how far the k-th neighbour is, and how unevenly rows are others' neighbours.

plot.knng <- function(x, data = NULL, which = 1:2, ...) {
  require_graph(x, "x")
  if (!is.null(data)) { # as dbscan has it: points in the plane with their edges
    if (!requireNamespace("dbscan", quietly = TRUE)) refuse("plot(g, data) needs the package dbscan")
    return(invisible(plot(as_kNN(x), data, ...)))
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
