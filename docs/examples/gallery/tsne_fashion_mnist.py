"""t-SNE's affinities from a graph of k = 90, by the formula and as scikit-learn makes them, and its map."""
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.manifold import TSNE, _t_sne
from sklearn.pipeline import make_pipeline

import knng
from common import COLOURS, NAMES, images, legend_of_classes, plt, save, show_map

x, labels = images("t10k")
perplexity = 30
g = knng.graph(x, k=3 * perplexity, metric="sqeuclidean", value_type="f64")

# For each row the beta = 1 / (2 sigma^2) whose p = exp(-beta d^2) / sum has this perplexity, by halving an interval.
squares = g.distances - g.distances[:, :1]
low, high = np.zeros(len(x)), np.full(len(x), 1.0)
for _ in range(64):
    beta = (low + high) / 2
    p = np.exp(-beta[:, None] * squares)
    p /= p.sum(axis=1, keepdims=True)
    entropy = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)
    low, high = np.where(entropy > np.log(perplexity), beta, low), np.where(entropy > np.log(perplexity), high, beta)
assert np.allclose(np.exp(entropy), perplexity)

directed = csr_matrix((p.ravel(), g.indices.ravel(), np.arange(0, p.size + 1, 3 * perplexity)), (len(x), len(x)))
affinities = (directed + directed.T) / (2 * len(x))

theirs = _t_sne._joint_probabilities_nn(g.to_scipy(), perplexity, 0)
print(f"{affinities.nnz} affinities; they differ from scikit-learn's by {abs(affinities - theirs).sum():.1e} in sum")

# scikit-learn's TSNE makes the same from a graph, in which it counts the row itself.
pipeline = make_pipeline(knng.KNeighborsTransformer(n_neighbors=3 * perplexity + 1),
                         TSNE(perplexity=perplexity, metric="precomputed", init="random", random_state=1))
places = pipeline.fit_transform(x)

figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.2), width_ratios=[1.5, 1])
show_map(axes[0], places, COLOURS[labels], "the map", size=1.5)
sigma = np.sqrt(0.5 / beta)
boxes = axes[1].boxplot([sigma[labels == c] for c in range(10)], vert=False, patch_artist=True, labels=NAMES, sym="",
                        medianprops={"color": "black"})
for box, colour in zip(boxes["boxes"], COLOURS):
    box.set_facecolor(colour)
axes[1].invert_yaxis()
axes[1].set_title("width sigma of an image's kernel, by class")
legend_of_classes(figure)
figure.subplots_adjust(0.01, 0.12, 0.98, 0.92, 0.25)
save(figure)
