# A gene network from a microarray: 12,625 probe sets of 128 patients with leukaemia, which of them go together, by
# Pearson's and by Spearman's correlation, and a drawing of the firm part.
#   Rscript gene_network.R PICTURE.png [PROBE_SETS]
arguments <- commandArgs(trailingOnly = TRUE)
suppressPackageStartupMessages({
  library(knng)
  library(ALL)
  library(igraph)
})
data(ALL)
x <- exprs(ALL) # a row for each probe set, a column for each patient
if (length(arguments) > 1) x <- x[seq_len(as.integer(arguments[2])), ]

pearson <- knng(x, k = 10, metric = "pearson", value = "similarity")
spearman <- knng(x, k = 10, metric = "spearman", value = "similarity")
edges <- as.data.frame(pearson, rule = "mutual") # source, target, weight: each among the other's ten
ranked <- as.data.frame(spearman, rule = "mutual")
in_both <- paste(edges$source, edges$target) %in% paste(ranked$source, ranked$target)
cat(sprintf("%d edges by Pearson, %d by Spearman; %.1f %% of Pearson's are in both\n", nrow(edges), nrow(ranked),
            100 * mean(in_both)))
cat(sprintf("of the edges of 0.9 and more by Pearson %.1f %% are\n",
            100 * mean(in_both[edges$weight >= 0.9])))

firm <- edges[edges$weight >= 0.8, ]
network <- graph_from_data_frame(firm, directed = FALSE)
parts <- components(network)
network <- induced_subgraph(network, which(parts$csize[parts$membership] >= 4))
cat(sprintf("%d edges of 0.8 and more; drawn are %d among %d probe sets, in groups of four and more\n", nrow(firm),
            ecount(network), vcount(network)))

# Colours: higher in leukaemia of T cells (red) or of B cells (blue), in standard deviations.
lineage <- substr(as.character(ALL$BT), 1, 1)
shown <- x[V(network)$name, ]
difference <- (rowMeans(shown[, lineage == "T"]) - rowMeans(shown[, lineage == "B"])) / apply(shown, 1, sd)
shades <- colorRampPalette(c("#2166ac", "#92c5de", "#dddddd", "#f4a582", "#b2182b"))(101)
set.seed(1)
png(arguments[1], 1100, 920, res = 110)
par(mar = c(0, 0, 0, 0))
plot(network, layout = layout_with_graphopt(network, niter = 1000, charge = 0.003), margin = -0.05, vertex.size = 1.8,
     vertex.label = NA, vertex.frame.color = NA, edge.color = "#aaaaaa",
     vertex.color = shades[round(50 * pmax(-1, pmin(1, difference / 1.5))) + 51])
legend("bottomright", c("higher in T cells", "the same", "higher in B cells"), pch = 19, col = shades[c(95, 51, 7)],
       bty = "n")
invisible(dev.off())
