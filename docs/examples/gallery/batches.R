# Neighbours within and across batches: 57 arrays of bladder tissue, made in five batches. In the plain graph the batches
# keep to themselves; one query for each batch gives every array the same number of neighbours in each.
#   Rscript batches.R PICTURE.png [PROBE_SETS]
arguments <- commandArgs(trailingOnly = TRUE)
suppressPackageStartupMessages({
  library(knng)
  library(bladderbatch)
  library(igraph)
})
data(bladderdata)
x <- exprs(bladderEset) # 22,283 probe sets x 57 arrays
if (length(arguments) > 1) x <- x[seq_len(as.integer(arguments[2])), ]
batch <- pData(bladderEset)$batch
tissue <- as.character(pData(bladderEset)$cancer)

plain <- knng(x, k = 10, points = "columns", metric = "pearson")
within <- mean(batch[plain$id] == batch) # of row i, as a matrix goes column by column

# All arrays ask each batch for their two nearest; who is of the batch does not find itself.
balanced <- do.call(cbind, lapply(unique(batch), function(b) {
  members <- which(batch == b)
  self <- match(seq_along(batch), members, nomatch = 0)
  found <- knng(x[, members], k = 2, query = x, points = "columns", metric = "pearson", leave_out = self)
  matrix(members[found$id], ncol = 2)
}))

network <- function(id) simplify(graph_from_edgelist(cbind(rep(seq_len(nrow(id)), ncol(id)), c(id)), directed = FALSE))
networks <- list("ten nearest of all" = network(plain$id), "two nearest of each batch" = network(balanced))
chance <- sum(table(batch) * (table(batch) - 1)) / (length(batch) * (length(batch) - 1))
cat(sprintf("plain graph: %.0f %% of the neighbours are of the same batch, of %.0f %% by chance\n", 100 * within,
            100 * chance))
for (name in names(networks)) {
  g <- networks[[name]]
  cat(sprintf("%s: modularity of batches %.2f, of tissues %.2f\n", name, modularity(g, as.integer(factor(batch))),
              modularity(g, as.integer(factor(tissue)))))
}

colours <- c("#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#e15759")
png(arguments[1], 1200, 640, res = 120)
par(mfrow = c(1, 2), mar = c(3, 0, 1.5, 0))
for (name in names(networks)) {
  set.seed(1)
  places <- norm_coords(layout_with_fr(networks[[name]]))
  plot(networks[[name]], layout = places, vertex.shape = "none", vertex.size = 0, vertex.label = NA,
       edge.color = "#cccccc")
  points(places, pch = c(Biopsy = 22, Cancer = 21, Normal = 24)[tissue], bg = colours[batch], col = "white", cex = 1.7)
  title(name, font.main = 1, cex.main = 1)
}
par(fig = c(0, 1, 0, 1), mar = c(0, 0, 0, 0), new = TRUE)
plot.new()
legend("bottom", c(paste("batch", 1:5), "cancer", "biopsy", "normal"), pch = c(rep(19, 5), 1, 0, 2),
       col = c(colours, rep("black", 3)), bty = "n", horiz = TRUE, cex = 0.85)
invisible(dev.off())
