# Graphs in files that the command, C, Python and the others read and write as well.

# file: its end says the format, unless format does.
write_knng <- function(g, file, format = NULL, progress = getOption("knng.progress", interactive())) {
  require_graph(g)
  if (!is.null(format)) format <- one_text(format, "format")
  file <- file_name(file)
  watcher <- watch(progress)
  graph <- import(g, as_it_was = TRUE)
  on.exit(.Call(knng_r_end, graph))
  describe(graph, g)
  done(watcher$after(.Call(knng_r_save, graph, file, format, watcher$show)), "file")
  invisible(g)
}

# names: of the points, which no file keeps.
read_knng <- function(file, names = NULL, progress = getOption("knng.progress", interactive())) {
  watcher <- watch(progress)
  graph <- done(watcher$after(.Call(knng_r_load, file_name(file), watcher$show)), "file")
  on.exit(.Call(knng_r_end, graph))
  shape <- done(.Call(knng_r_shape, graph))
  names <- names_for(names, shape$columns)
  self <- done(.Call(knng_r_graph_text, graph, "self")) == "first"
  new_knng(graph, shape$width - self, self, names, if (!shape$same_points) list(names = NULL), elsewhere = TRUE)
}

file_name <- function(file) enc2native(path.expand(one_text(file, "file")))

# Tells a graph that was made of g's lists what g knows beside them.
describe <- function(graph, g, argument = "g") {
  info <- g$info
  whole <- identical(as.integer(info$k), as.integer(g$k)) # shorter lists end at other ties
  stats <- info$stats
  if (!whole) stats[["ties_at_k"]] <- NA
  proof <- if (!is.na(stats["proved"])) info$proof # zeros where nobody knows
  if (is.null(proof)) stats[["proved"]] <- NA
  stats <- stats[!is.na(stats)]
  line <- function(kind, values) if (length(values) > 0L) sprintf("%s.%s=%s\n", kind, names(values), values)
  plain <- gsub("\n", "\\n", gsub("\\", "\\\\", info$texts, fixed = TRUE), fixed = TRUE)
  plain <- plain[!(plain == "unknown" | (names(plain) == "p" & plain == ""))]
  number <- vapply(stats, function(x) sprintf("%.17g", x), "")
  done(.Call(knng_r_describe, graph, paste(c(line("text", plain), line("stat", number)), collapse = ""),
             if (whole && !is.null(info$ties)) as.raw(info$ties), proof), argument)
}
