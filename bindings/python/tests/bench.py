"""The package beside a C program and beside other packages, on the first rows of Fashion-MNIST (dataset-fashion-mnist).

    KNNG_LIBRARY=libknng.so.0 PYTHONPATH=bindings/python /usr/bin/python3 bindings/python/tests/bench.py INCLUDE [ROWS]

Seconds from the array to the arrays of the result: wall time, and processor time of all threads, each the least of seven
(of two for other packages). The C program is compiled with cc, reads the same rows and makes the same calls. Peak
memory is of a process of its own.
"""
import gzip
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

import numpy as np

K = 10
RUNS = 7
THREADS = len(os.sched_getaffinity(0))
SOURCE = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"
PROGRAM = r"""
#include <knng.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
int main(int argc, char** argv) {
  const int64_t n = atol(argv[2]), d = 784, runs = atol(argv[3]);
  float* x = malloc(n * d * 4);
  FILE* f = fopen(argv[1], "rb");
  if (argc != 4 || fread(x, 4, n * d, f) != (size_t)(n * d)) return 1;
  double wall = 1e9, cpu = 1e9;
  for (int64_t i = 0; i < runs; ++i) {
    const double w = now(CLOCK_MONOTONIC), c = now(CLOCK_PROCESS_CPUTIME_ID);
    knng* h;
    knng_graph* g;
    knng_matrix rows = knng_packed(KNNG_F32, n, d, x), ids = rows, values = rows;
    if (knng_create(&h, 0, 0, NULL) || knng_borrow(h, &rows, NULL, NULL) || knng_build(h, 10, NULL, &g, NULL) ||
        knng_graph_view(g, &ids, &values, NULL))
      return puts(knng_last_error()), 1;
    const double took = now(CLOCK_MONOTONIC) - w, worked = now(CLOCK_PROCESS_CPUTIME_ID) - c;
    if (took < wall) wall = took;
    if (worked < cpu) cpu = worked;
    knng_destroy(h);
    knng_graph_destroy(g);
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("%.17g %.17g %ld\n", wall, cpu, usage.ru_maxrss);
}
"""


def rows_of(count):
    with gzip.open(SOURCE) as file:
        return np.frombuffer(file.read(), np.uint8, offset=16)[:count * 784].reshape(count, 784).astype(np.float32)


def timed(function, x, runs):
    wall = cpu = 1e9
    for _ in range(runs):
        w, c = time.monotonic(), time.process_time()
        function(x)
        wall, cpu = min(wall, time.monotonic() - w), min(cpu, time.process_time() - c)
    return wall, cpu


def knng_(x):
    import knng

    g = knng.graph(x, K)
    return g.indices, g.distances


def scikit_learn(x):
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=K, algorithm="brute", n_jobs=-1).fit(x).kneighbors()


def faiss_(x):
    import faiss

    index = faiss.IndexFlatL2(x.shape[1])
    index.add(x)
    return index.search(x, K + 1)


def pynndescent_(x):
    import pynndescent

    return pynndescent.NNDescent(x, n_neighbors=K + 1, random_state=1).neighbor_graph


PEERS = {"knng": knng_, "scikit-learn, brute": scikit_learn, "FAISS, IndexFlatL2": faiss_,
         "pynndescent (approximate)": pynndescent_}


def alone(name, count, runs):
    """In a process of its own: wall, processor time, peak memory in KiB."""
    import resource

    x = rows_of(count)
    function = PEERS[name]
    function(x[:2000])  # libraries loaded, code of numba compiled
    print(*timed(function, x, runs), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def c_program(folder, include, count):
    x = rows_of(count)
    x.tofile(folder / "rows")
    (folder / "main.c").write_text(PROGRAM)
    library = pathlib.Path(os.environ["KNNG_LIBRARY"]).resolve()
    subprocess.run(["cc", "-O2", "-std=gnu99", "main.c", "-o", "main", f"-I{pathlib.Path(include).resolve()}",
                    str(library), f"-Wl,-rpath,{library.parent}"], cwd=folder, check=True)
    return [str(folder / "main"), str(folder / "rows"), str(count)]


def measured(command):
    return [float(word) for word in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()]


def main(include, count):
    import knng

    print(f"libknng {knng.library_version}; {knng.devices()[0].name}; {platform.platform()}; Python "
          f"{platform.python_version()}, NumPy {np.__version__}; {count} x 784 float32, k={K}\n")
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        program = c_program(pathlib.Path(folder), include, count)
        # In turn, so that what else the machine does meets both.
        pairs = [(measured([*program, "1"]), measured([sys.executable, __file__, "alone", "knng", str(count), "1"]))
                 for _ in range(RUNS)]
        for place, name in enumerate(["C program", "knng"]):
            table[name] = [min(pair[place][i] for pair in pairs) for i in range(3)]
    for name in list(PEERS)[1:]:
        try:
            table[name] = measured([sys.executable, __file__, "alone", name, str(count), "2"])
        except subprocess.CalledProcessError as error:
            print(f"{name}: not here ({error.stderr.strip().splitlines()[-1]})")
    print("| | wall, s | processor, s | peak memory, MB |\n| --- | ---: | ---: | ---: |")
    for name, (wall, cpu, peak) in table.items():
        print(f"| {name} | {wall:.3f} | {cpu:.3f} | {peak / 1024:.0f} |")


if __name__ == "__main__":
    if sys.argv[1] == "alone":
        alone(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20000)
