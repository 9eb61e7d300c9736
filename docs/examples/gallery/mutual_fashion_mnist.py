"""The mutual graph of Fashion-MNIST: hubs lose the edges that nobody returns, and images like no other stand
alone."""
import numpy as np
from scipy.sparse.csgraph import connected_components

import knng
from common import images, plt, save, show_image

x, labels = images("train", "t10k")
g = knng.graph(x, k=10)
lists = g.rows("indegree")                         # in how many lists an image is
mutual = g.to_scipy("mutual")                      # an edge where each lists the other
degree = np.diff(mutual.indptr)
largest = np.bincount(connected_components(mutual)[1]).max()
print(f"mutual edges: {mutual.nnz // 2} of {g.indices.size}; images without any: {(degree == 0).sum()}")
print(f"largest component: {largest} images; of the union of all lists: {np.bincount(g.rows('component')).max()}")
print(f"an image is in {lists.max()} lists at most, {(lists == 0).sum()} are in none")

figure = plt.figure(figsize=(9, 3.3))
axes = figure.add_axes([0.065, 0.15, 0.3, 0.68])
for numbers, colour, label in [(lists, "#a0cbe8", "lists that an image is in"),
                               (degree, "#e15759", "mutual neighbours that it has")]:
    counts = np.bincount(numbers)
    axes.plot(range(len(counts)), counts, ".-", color=colour, label=label, markersize=4, linewidth=1.5)
axes.set(xscale="symlog", yscale="log", xlabel="how many", ylabel="images", xlim=(-0.5, lists.max()))
axes.set_xticks([0, 1, 10, 100], ["0", "1", "10", "100"])
axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 0.98))

hubs = np.argsort(-lists, kind="stable")[:16]
alone = np.flatnonzero(lists == 0)
alone = alone[np.argsort(-g.distances[alone, 0], kind="stable")][:16]  # farthest from their nearest first
for top, title, chosen in [(0.87, "in most lists", hubs), (0.40, "in no list, and far from all", alone)]:
    figure.text(0.41, top + 0.03, title, fontsize=10)
    for place, image in enumerate(chosen):
        box = [0.41 + 0.0725 * (place % 8), top - 0.19 * (1 + place // 8), 0.07, 0.19]
        show_image(figure.add_axes(box), x[image])
save(figure)
