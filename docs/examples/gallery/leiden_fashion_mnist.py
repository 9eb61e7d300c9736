"""Leiden clusters of Fashion-MNIST from shared nearest neighbours, beside the classes that they were not told."""
import random

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import knng
from common import NAMES, images, plt, save, show_image

x, labels = images("train", "t10k")
g = knng.graph(x, k=15)
network = g.to_igraph("snn:jaccard")
random.seed(1)  # igraph's chance is Python's
found = network.community_leiden("modularity", weights="weight", n_iterations=5)
clusters = np.array(found.membership)
print(f"{network.ecount()} edges, {len(found)} clusters, modularity {found.modularity:.3f}")
print(f"adjusted Rand index {adjusted_rand_score(labels, clusters):.3f}, "
      f"normalised mutual information {normalized_mutual_info_score(labels, clusters):.3f}")

shares = np.array([np.bincount(labels[clusters == c], minlength=10) for c in range(len(found))])
shares = shares[shares.sum(axis=1) >= len(x) / 1000]
kept = np.flatnonzero(np.bincount(clusters) >= len(x) / 1000)
order = np.lexsort((-shares.max(axis=1), shares.argmax(axis=1)))  # by class, the largest first
figure, axes = plt.subplots(figsize=(7, 0.34 * len(kept) + 1))
figure.subplots_adjust(0.22, 0.02, 0.92, 1 - 0.8 / (0.34 * len(kept) + 1))
part = shares[order] / shares[order].sum(axis=1, keepdims=True)
axes.imshow(part, cmap="Blues", vmin=0, vmax=1, aspect="auto")
for (i, j), share in np.ndenumerate(part):
    if share >= 0.01:
        axes.text(j, i, f"{share:.0%}", ha="center", va="center", fontsize=7,
                  color="white" if share > 0.55 else "black")
axes.xaxis.tick_top()
axes.set_xticks(range(10), NAMES, rotation=30, ha="left")
axes.set_yticks(range(len(kept)), [f"{size:,} images" for size in shares[order].sum(axis=1)])
axes.tick_params(length=0)
axes.spines[:].set_visible(False)
for place, cluster in enumerate(kept[order]):  # the mean image of each
    inset = axes.inset_axes([-0.28, 1 - (place + 1) / len(kept), 0.06, 1 / len(kept)])
    show_image(inset, x[clusters == cluster].mean(axis=0))
save(figure)
