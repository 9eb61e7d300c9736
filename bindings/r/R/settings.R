# Arguments: settings of the library as text, and numbers and words that R checks by itself.

# A handle with these settings.
new_handle <- function(named, more) {
  require_names(more)
  require_settings(names(c(named, more)))
  twice <- c(intersect(names(more), names(named)), names(more)[duplicated(names(more))])
  if (length(twice) > 0L) refuse(sprintf("setting %s is given twice", twice[1L]), twice[1L])
  handle <- done(.Call(knng_r_create))
  settings <- c(named, more)
  # Numbers of R are doubles: nothing is rounded unless the caller says so.
  if (is.null(settings$value_type)) settings$value_type <- "f64"
  for (key in names(settings)) done(.Call(knng_r_set, handle, key, setting_text(key, settings[[key]])), key)
  handle
}

require_names <- function(more) {
  if (length(more) > 0L && (is.null(names(more)) || any(names(more) == "")))
    refuse("further arguments are settings of the library and need names, such as threads = 2")
}

# Who comes from FNN, RANN, dbscan, BiocNeighbors or uwot may bring an argument that has another name here, or none.
other_names <- c(
  data = "it is x here", X = "it is x here", K = "it is k here", n_neighbors = "it is k here", n_neighbours = "it is k here",
  num_neighbors = "it is k here", distance = "it is metric here", method = "it is metric here",
  cores = "it is threads here", ncores = "it is threads here", n_threads = "it is threads here", nthreads = "it is threads here",
  num.threads = "it is threads here", num_threads = "it is threads here", BPPARAM = "it is threads here, a number",
  verbose = "it is progress here", algorithm = "leave it out, no choice changes a result",
  treetype = "leave it out, no choice changes a result", search = "leave it out, no choice changes a result",
  eps = "leave it out, nothing is approximate", approx = "leave it out, nothing is approximate",
  searchtype = "lists have k entries, whatever their distance", radius = "lists have k entries, whatever their distance",
  BNPARAM = "it goes with findKNN() of BiocNeighbors", file_points = "it is points here, of files too"
)

# Names are told before values, which need not be of any setting.
require_settings <- function(given) {
  settings <- setdiff(.Call(knng_r_settings)$name, "file_points")
  for (name in setdiff(given, c(settings, ""))) {
    if (name %in% names(other_names))
      refuse(sprintf("%s is no argument of knng(): %s", name, other_names[[name]]), name, "option")
    near <- nearest_name(name, c(settings, "x", "k", "query", "points", "leave_out", "progress"))
    refuse(sprintf("unknown setting '%s'; %s settings are %s", name,
                   if (is.na(near)) "the" else sprintf("did you mean '%s'? The", near),
                   paste(knng_settings()$name, collapse = ", ")), name, "option")
  }
}

nearest_name <- function(name, known) {
  far <- drop(adist(name, known, ignore.case = TRUE))
  near <- startsWith(known, name) | (far <= 2 & far < nchar(name) / 2)
  known[near][order(far[near])][1L]
}

setting_text <- function(key, value) {
  if (key == "self" && (isTRUE(value) || isFALSE(value))) value <- if (value) "first" else "exclude"
  if (length(value) != 1L || !(is.character(value) || is.numeric(value)) || is.na(value))
    refuse(sprintf("%s must be one text or one number, not %s", key, said(value)), key, "option")
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

# most: for the message, NA where it is not known; whether a larger number does, the library knows.
whole_number <- function(value, argument, least = 1, most = NA) {
  number <- is.numeric(value) && length(value) == 1L
  if (!number || !is.finite(value) || value != floor(value))
    refuse(sprintf("%s must be one whole number, not %s", argument, said(value)), argument, "range",
           given = if (number) value else NA)
  if (value < least || value > 2^53) {
    most <- if (is.na(most) || most < least) 2^53 else most
    refuse(sprintf("%s=%s is not in %s to %s", argument, number_text(value), number_text(least),
                   if (most == 2^53) "2^53" else number_text(most)), argument, "range", given = value,
           limit = if (value < least) least else most)
  }
  as.double(value)
}

rows_or_columns <- function(points) {
  choices <- c("rows", "columns")
  if (identical(points, choices)) return("rows")
  chosen <- if (is.character(points) && length(points) == 1L) pmatch(points, choices) else NA
  if (is.na(chosen)) refuse(sprintf("points must be \"rows\" or \"columns\", not %s", said(points)), "points")
  choices[chosen]
}
