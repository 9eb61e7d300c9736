# What a graph says of itself.

format.knng <- function(x, ...) {
  require_graph(x, "x")
  whose <- if (x$query) paste(counted(nrow(x$id), "query", "queries"), "among", counted(x$columns, "point"))
           else counted(nrow(x$id), "point")
  measure <- if (x$metric == "unknown") paste(x$value, "of a metric that is not known") else paste(x$value, x$metric)
  if (nzchar(x$info$texts[["p"]])) measure <- sprintf("%s (p = %s)", measure, x$info$texts[["p"]])
  sprintf("%s of %s, %s%s", counted(x$k, "nearest neighbour"), whose, measure,
          if (x$self) ", each point itself first" else "")
}

counted <- function(n, one, many = paste0(one, "s")) paste(grouped(n), if (n == 1) one else many)

# Thousands apart, by another mark than that of decimals.
grouped <- function(n, ...) format(n, big.mark = if (identical(getOption("OutDec"), ",")) "." else ",", ...)

print.knng <- function(x, n = 6L, ...) {
  cat(format(x), "\n", sep = "")
  shown <- seq_len(min(n, nrow(x$id)))
  width <- min(8L, ncol(x$id))
  if (length(shown) > 0L) {
    cells <- sprintf("%d (%s)", x$id[shown, seq_len(width)], format(x$dist[shown, seq_len(width)], digits = 3L, trim = TRUE))
    cells[x$id[shown, seq_len(width)] == 0L] <- "-" # a list of a graph from elsewhere, which is shorter
    labels <- list(if (is.null(rownames(x$id))) as.character(shown) else rownames(x$id)[shown],
                   colnames(x$id)[seq_len(width)])
    print(noquote(matrix(cells, nrow = length(shown), dimnames = labels)), right = TRUE)
    rest <- c(if (nrow(x$id) > length(shown)) sprintf("%s more rows", grouped(nrow(x$id) - length(shown))),
              if (ncol(x$id) > width) sprintf("%d more columns", ncol(x$id) - width))
    if (length(rest) > 0L) cat("and ", paste(rest, collapse = ", "), "\n", sep = "")
  }
  invisible(x)
}

# In-degree of every row of x: in how many lists it appears, its own left out.
in_degree <- function(g) tabulate(neighbours_only(g$id, g), g$columns)

# Distance to the neighbour farthest down the list.
k_distance <- function(g) unname(g$dist[, ncol(g$dist)])

components <- function(g) {
  graph <- import(g)
  on.exit(.Call(knng_r_end, graph))
  done(.Call(knng_r_rows, graph, "component", FALSE), "g") + 1L
}

summary.knng <- function(object, ...) {
  g <- object
  require_graph(g, "object")
  structure(list(
    title = format(g),
    components = if (g$query) NULL else tabulate(components(g)),
    duplicates = g$info$stats[["duplicates"]],
    ties = if (!is.null(g$info$ties) && g$info$k == g$k) sum(g$info$ties) else NA,
    in_degree = quantile(in_degree(g)),
    k_distance = quantile(k_distance(g)),
    seconds = g$info$stats[["seconds_total"]],
    texts = g$info$texts
  ), class = "summary.knng")
}

print.summary.knng <- function(x, ...) {
  number <- function(v) grouped(v, digits = 3L, trim = TRUE)
  line <- function(label, ...) cat(sprintf("  %-12s", label), ..., "\n", sep = "")
  five <- function(q) paste(paste(c("min", "25%", "median", "75%", "max"), vapply(q, number, "")), collapse = ", ")
  cat(x$title, "\n", sep = "")
  if (!is.null(x$components))
    line("components", number(length(x$components)), ", the largest of ", counted(max(x$components), "point"))
  if (!is.na(x$duplicates)) line("duplicates", counted(x$duplicates, "point equals", "points equal"), " an earlier one")
  if (!is.na(x$ties)) line("ties", counted(x$ties, "list ends", "lists end"), " at a tie, the smaller row number taken")
  line("in-degree", five(x$in_degree))
  line("k-distance", five(x$k_distance))
  if (x$texts[["version"]] == "unknown") line("made by", "another program")
  else line("made by", x$texts[["device"]], ", engine ", x$texts[["engine"]], ", libknng ", x$texts[["version"]],
            if (!is.na(x$seconds)) paste0(", ", number(x$seconds), " s"))
  invisible(x)
}
