# A library that is older than the header it is called by lacks what the package uses; before 1.0 one of another minor
# version may have another interface.
.onLoad <- function(libname, pkgname) {
  numbers <- .Call(knng_r_version)
  if (numbers[1L] < numbers[2L] || numbers[1L] %/% 256L != numbers[2L] %/% 256L)
    stop(sprintf("libknng %s is installed, and this package was compiled with %s: install that, or compile the package again",
                 knng_version()[["library"]], knng_version()[["header"]]), call. = FALSE)
  # A KnngParam that comes from elsewhere needs its class as soon as BiocNeighbors is there.
  setHook(packageEvent("BiocNeighbors", "onLoad"), define_bioc)
}

.onUnload <- function(libpath) library.dynam.unload("knng", libpath)
