"""Ground truth for approximate search: made from .fbin files that NumPy wrote, checked with FAISS, and used to measure
FAISS's approximate indexes."""
import pathlib
import tempfile
import time

import faiss
import numpy as np

import knng
from common import images, plt, save

base, queries = images("train")[0], images("t10k")[0]
k = 100
temporary = tempfile.TemporaryDirectory()
folder = pathlib.Path(temporary.name)


def write(path, array):
    """.fbin and .ibin: two 32-bit numbers, rows and columns, then the values."""
    with open(path, "wb") as file:
        np.array(array.shape, np.uint32).tofile(file)
        array.tofile(file)


def read(path, dtype):
    return np.fromfile(path, dtype, offset=8).reshape(np.fromfile(path, np.uint32, 2))


write(folder / "base.fbin", base)
write(folder / "queries.fbin", queries)
g = knng.graph(folder / "base.fbin", k, query=folder / "queries.fbin", metric="sqeuclidean")
write(folder / "truth.ibin", g.copy(np.int32)[0])
write(folder / "distances.fbin", g.distances)

truth, distances = read(folder / "truth.ibin", np.int32), read(folder / "distances.fbin", np.float32)
print(f"queries whose list of {k} is cut at a tie: {int(g.rows('ties').sum())}")


def recall(found, k=10):
    """The part of the k nearest that were found; whatever is as near as the k-th counts, so that ties do not matter."""
    far = ((base[np.maximum(found[:, :k], 0)] - queries[:, None]) ** 2).sum(axis=2, dtype=np.float64)
    return ((far <= distances[:, k - 1:k]) & (found[:, :k] >= 0)).mean()


flat = faiss.IndexFlatL2(base.shape[1])
flat.add(base)
d, ids = flat.search(queries, k)
print(f"FAISS's exact index: {(ids == truth).mean():.5%} of the ids are in the same place, "
      f"distances differ by {np.max(np.abs(d - distances) / distances):.1e} at most; recall {recall(ids):.6f}")

indexes = {"IVF": (faiss.IndexIVFFlat(faiss.IndexFlatL2(784), 784, max(4, len(base) // 256)), [1, 2, 4, 8, 16, 32]),
           "HNSW": (faiss.IndexHNSWFlat(784, 16), [10, 20, 40, 80, 160])}
figure, axes = plt.subplots(figsize=(5.6, 3.6))
for (name, (index, efforts)), marker in zip(indexes.items(), "os"):
    index.train(base)
    index.add(base)
    curve = []
    for effort in efforts:
        if name == "IVF":
            index.nprobe = effort
        else:
            index.hnsw.efSearch = effort
        start = time.process_time()
        ids = index.search(queries, 10)[1]
        curve.append((recall(ids), (time.process_time() - start) / len(queries) * 1e3))
        print(f"{name}, {effort}: recall {curve[-1][0]:.4f}, {curve[-1][1]:.3f} ms of a processor for a query")
    axes.plot(*zip(*curve), marker=marker,
              label=f"{name}, {'nprobe' if name == 'IVF' else 'efSearch'} {efforts[0]} to {efforts[-1]}")
axes.set(yscale="log", xlabel="recall of the 10 nearest", ylabel="processor time for a query, ms")
axes.grid(alpha=0.3, which="both")
axes.legend(frameon=False)
figure.tight_layout()
save(figure)
