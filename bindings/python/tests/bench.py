"""One way in Python to a graph of Fashion-MNIST, k = 10, in a process of its own; tests/bindings/speed.py calls it.
    bench.py WAY FILE N      FILE: N rows of 784 float32
Prints seconds of the clock and of all processors, and the largest memory in kB; of N = 0 that of Python and package."""
import re
import sys
import time

import numpy as np

K = 10


def knng_():
    import knng

    def call(x):
        g = knng.graph(x, K)
        return g.indices, g.distances

    return call


def scikit_learn():
    from sklearn.neighbors import NearestNeighbors

    return lambda x: NearestNeighbors(n_neighbors=K, algorithm="brute", n_jobs=-1).fit(x).kneighbors()


def faiss_():
    import faiss

    def call(x):
        index = faiss.IndexFlatL2(x.shape[1])
        index.add(x)
        return index.search(x, K + 1)

    return call


def pynndescent_():
    import pynndescent

    call = lambda x: pynndescent.NNDescent(x, n_neighbors=K + 1, random_state=1).neighbor_graph  # noqa: E731
    call(np.random.default_rng(1).random((2000, 784), np.float32))  # compiles what is timed
    return call


WAYS = {"knng": knng_, "scikit-learn": scikit_learn, "faiss": faiss_, "pynndescent": pynndescent_}
way, file, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
call = WAYS[way]()
wall = used = 0.0
if count:
    x = np.fromfile(file, np.float32, count * 784).reshape(count, 784)
    start, worked = time.monotonic(), time.process_time()
    lists = call(x)
    wall, used = time.monotonic() - start, time.process_time() - worked
with open("/proc/self/status") as status:  # what getrusage() has is also of the process that started this one
    peak, = re.findall(r"VmHWM:\s*(\d+)", status.read())
print(wall, used, peak)
