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

# n: how many rows, Inf for all. digits: significant ones of values; NULL: as many as tell the entries of a row apart, from 3
# to getOption("digits").
print.knng <- function(x, n = 6L, digits = NULL, ...) {
  if (!identical(n, Inf)) n <- whole_number(n, "n", 0)
  digits <- if (is.null(digits)) seq(3L, max(3L, getOption("digits"))) else whole_number(digits, "digits")
  cat(format(x), "\n", sep = "")
  shown <- seq_len(min(n, nrow(x$id)))
  if (length(shown) == 0L) return(invisible(x))
  for (places in digits) {
    table <- cells_that_fit(x, shown, places)
    if (told_apart(table, x$dist[shown, seq_len(ncol(table)), drop = FALSE])) break
  }
  print(noquote(table), right = TRUE)
  rest <- c(if (nrow(x$id) > length(shown)) counted(nrow(x$id) - length(shown), "more row"),
            if (ncol(x$id) > ncol(table)) counted(ncol(x$id) - ncol(table), "more neighbour"))
  if (length(rest) > 0L) cat("and ", paste(rest, collapse = ", "), "\n", sep = "")
  invisible(x)
}

# Texts of these rows: as many columns as fit into a line, one at least.
cells_that_fit <- function(x, shown, digits) {
  most <- seq_len(min(ncol(x$id), getOption("width"))) # a column takes more than one place
  id <- x$id[shown, most, drop = FALSE]
  cells <- sprintf("%d (%s)", id, format(x$dist[shown, most], digits = digits, trim = TRUE))
  cells[id == 0L] <- "-" # a list of a graph from elsewhere, which is shorter
  labels <- list(if (is.null(rownames(id))) as.character(shown) else rownames(id),
                 if (is.null(colnames(id))) as.character(most) else colnames(id))
  table <- matrix(cells, nrow = length(shown), dimnames = labels)
  wide <- pmax(apply(nchar(table), 2L, max), nchar(labels[[2L]])) + 1L
  fit <- sum(max(nchar(labels[[1L]], "width")) + cumsum(wide) <= getOption("width"))
  table[, seq_len(max(1L, fit)), drop = FALSE]
}

# Whether no two values of a row have the same text that differ by more than the last bits.
told_apart <- function(table, values) {
  texts <- sub(".* ", "", table)
  values <- signif(values, max(3L, getOption("digits")))
  all(vapply(seq_len(nrow(table)), function(i) length(unique(texts[i, ])) >= length(unique(values[i, ])), NA))
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
