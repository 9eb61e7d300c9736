"""UMAP of all 70,000 images of Fashion-MNIST, from the exact graph and from the approximate one that umap makes itself."""
import time

import numpy as np
import umap.umap_ as umap

import knng
from common import COLOURS, images, legend_of_classes, plt, save, show_map

x, labels = images("train", "t10k")
knng.use_matrix_tiles()  # where the processor has them
start = time.process_time()
exact = knng.graph(x, k=14).umap()  # umap counts the image itself: n_neighbors=15
print(f"exact graph: {time.process_time() - start:.1f} processor seconds")


def neighbours_of_umap(x):
    return umap.nearest_neighbors(x, 15, "euclidean", {}, False, np.random.RandomState(1))


neighbours_of_umap(x[:5000])  # compiles what is timed
start = time.process_time()
*approximate, index = neighbours_of_umap(x)
print(f"umap's own: {time.process_time() - start:.1f} processor seconds")
found = (exact[0][:, :, None] == approximate[0][:, None, :]).any(axis=2).sum(axis=1)
missed = 15 - found
print(f"umap's own misses {missed.sum() / (14 * len(x)):.2%} of the neighbours; {(missed > 0).mean():.1%} of the lists")

# Both maps start from the two main directions of the images, so that what differs comes from the graphs.
centred = x - x.mean(axis=0)
directions = np.linalg.eigh(centred.T @ centred)[1][:, :-3:-1]
first_places = centred @ directions
first_places *= 10 / np.abs(first_places).max()


def map_of(lists):
    return umap.UMAP(n_neighbors=15, precomputed_knn=(*lists, index), init=first_places, random_state=1,
                     force_approximation_algorithm=True).fit_transform(x)


figure, axes = plt.subplots(1, 3, figsize=(10, 3.9))
show_map(axes[0], map_of(exact), COLOURS[labels], "exact graph")
places = map_of(approximate)
show_map(axes[1], places, COLOURS[labels], "umap's own graph, approximate")
show_map(axes[2], places, np.full(len(x), "#dddddd"), "lists of umap's own that miss a neighbour")
axes[2].scatter(*places[missed > 0].T, c="#c00000", s=0.6, linewidths=0)
legend_of_classes(figure)
figure.subplots_adjust(0.01, 0.07, 0.99, 0.93, 0.02)
save(figure)
