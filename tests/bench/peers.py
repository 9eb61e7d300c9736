#!/usr/bin/python3
"""Times other libraries' exact neighbours on rows that knng_bench wrote, and compares their ids with a graph of ours.

    knng_bench -n 20000 -d 128 -k 10 --write-data x.npy --save-graph g.npz
    /usr/bin/python3 peers.py x.npy -k 10 --graph g.npz

Needs Debian's python3-faiss, python3-sklearn and python3-numpy, and libopenblas0-pthread, without which FAISS and NumPy
use a BLAS several times slower; PyTorch with CUDA for torch-fp32 and torch-tf32. All rows are searched against all
rows, as float32, in squared Euclidean distance; a row itself is dropped from its list by its id, outside the clock. A
benchmark, never a test.
"""
import argparse
import json
import os
import platform
import resource
import sys
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help=".npy file of rows")
    parser.add_argument("-k", type=int, default=10, help="neighbours beside the row itself")
    parser.add_argument("--peers", default="faiss-knn,faiss-flat,sklearn", help="which, separated by commas")
    parser.add_argument("--threads", type=int, default=0, help="0: as many as there are cores for this process")
    parser.add_argument("--runs", type=int, default=5, help="runs that count; their median is shown")
    parser.add_argument("--warmup", type=int, default=1, help="runs before them")
    parser.add_argument("--graph", help=".npz file of a graph of the same rows, to compare ids with")
    parser.add_argument("--openblas", default="", help="OPENBLAS_CORETYPE, if not what OpenBLAS chooses by itself")
    parser.add_argument("--json", help="write the results there")
    return parser.parse_args()


ARGS = arguments()
THREADS = ARGS.threads or len(os.sched_getaffinity(0))
# Read by the libraries below when they are loaded. Whatever the user's shell says about OpenBLAS is dropped: an older
# processor's kernels, chosen for other reasons, would make the peers look half as fast as they are.
for name in [v for v in os.environ if v.startswith(("OPENBLAS_", "OMP_", "GOMP_"))]:
    del os.environ[name]
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = str(THREADS)
if ARGS.openblas:
    os.environ["OPENBLAS_CORETYPE"] = ARGS.openblas

import numpy as np  # noqa: E402

SKLEARN_ROWS = 20000  # it holds more per pair than the others


def faiss_knn(x, k):
    import faiss

    faiss.omp_set_num_threads(THREADS)
    return lambda: faiss.knn(x, x, k + 1, metric=faiss.METRIC_L2)


def faiss_flat(x, k):
    import faiss

    faiss.omp_set_num_threads(THREADS)

    def run():
        index = faiss.IndexFlatL2(x.shape[1])
        index.add(x)
        return index.search(x, k + 1)

    return run


def sklearn_brute(x, k):
    from sklearn.neighbors import NearestNeighbors

    # Without a query it leaves out the row itself.
    model = NearestNeighbors(n_neighbors=k, algorithm="brute", metric="sqeuclidean", n_jobs=THREADS).fit(x)
    return lambda: model.kneighbors()


TORCH_ELEMENTS = 1 << 31  # of a block of distances, 8 GiB: larger ones are no faster


def torch_topk(x, k, tf32):
    """The product of blocks of rows with all rows, and topk of it; rows are on the GPU, ids come to the host."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = tf32
    rows = torch.from_numpy(x).cuda()
    squares = (rows * rows).sum(1)
    block = max(1, min(len(x), TORCH_ELEMENTS // len(x)))
    ids = torch.empty((len(x), k + 1), dtype=torch.int64)

    def run():
        for first in range(0, len(x), block):
            # Without the row's own square, which is the same for all columns.
            far = torch.addmm(squares, rows[first:first + block], rows.T, alpha=-2)
            values, nearest = far.topk(k + 1, largest=False)
            ids[first:first + block] = nearest.cpu()
        return values, ids.numpy()

    return run


PEERS = {
    "faiss-knn": faiss_knn,
    "faiss-flat": faiss_flat,
    "sklearn": sklearn_brute,
    "torch-fp32": lambda x, k: torch_topk(x, k, False),
    "torch-tf32": lambda x, k: torch_topk(x, k, True),
}


def versions():
    found = {"python": platform.python_version(), "numpy": np.__version__}
    if "torch" in ARGS.peers:
        import torch

        found["torch"] = f"{torch.__version__} ({torch.cuda.get_device_name()})"
    if all(name.startswith("torch") for name in ARGS.peers.split(",")):
        return found
    import faiss
    import sklearn
    import threadpoolctl

    blas = [
        f"{p['internal_api']} {p['version']} ({p.get('architecture', '?')} kernels, {p['num_threads']} threads)"
        for p in threadpoolctl.threadpool_info()
        if p["user_api"] == "blas"
    ]
    return found | {
        "faiss": f"{faiss.__version__} ({faiss.get_compile_options().strip()})",
        "scikit-learn": sklearn.__version__,
        "blas": ", ".join(blas) or "reference BLAS (install libopenblas0-pthread)",
    }


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def without_self(ids, k):
    """The first k ids of each row that are not the row itself."""
    if ids.shape[1] == k:
        return ids
    rows = np.arange(len(ids))[:, None]
    keep = ids != rows
    keep[keep.all(axis=1), k] = False  # more than k rows at distance 0: it may be missing
    return ids[keep].reshape(len(ids), k)


def compare(ids, graph, x):
    """How ids differ from the exact ones, by distances in fp64."""
    exact = graph["indices"]
    if exact.shape != ids.shape:
        sys.exit(f"{ARGS.graph}: the graph is {exact.shape}, not {ids.shape}")
    theirs, ours = np.sort(ids, axis=1), np.sort(exact, axis=1)
    missed, wrong_rows, example, worst = 0, 0, None, 0.0
    for i in np.flatnonzero((theirs != ours).any(axis=1)):
        def far(js, row=x[i].astype(np.float64)):
            return ((x[js].astype(np.float64) - row) ** 2).sum(axis=1)

        limit = far(exact[i]).max()
        extra = np.setdiff1d(ids[i], exact[i])
        # An extra id as far as our last one is a tie that was broken in another way, not an error.
        beyond = far(extra) > limit * (1 + 1e-12)
        missed += int(beyond.sum()) + (ids.shape[1] - np.unique(ids[i]).size)
        if not beyond.any():
            continue
        wrong_rows += 1
        excess = float(far(extra).max() / limit - 1) if limit > 0 else float("inf")
        if example is None or excess > worst:
            worst = excess
            example = {
                "row": int(i),
                "theirs": int(extra[np.argmax(far(extra))]),
                "at": float(far(extra).max()),
                "ours": [int(j) for j in np.setdiff1d(exact[i], ids[i])],
                "farthest_of_ours": float(limit),
            }
    return {
        "recall": 1 - missed / exact.size,
        "missed": missed,
        "wrong_rows": wrong_rows,
        "other_sets": int((theirs != ours).any(axis=1).sum()),
        "other_order": int((ids != exact).any(axis=1).sum()),
        "worst": example,
    }


def measure(name, x, graph):
    n, d = x.shape
    run = PEERS[name](x, ARGS.k)
    for _ in range(ARGS.warmup):
        run()
    walls, cpus = [], []
    for _ in range(max(1, ARGS.runs)):
        cpu, start = cpu_seconds(), time.perf_counter()
        _, ids = run()
        walls.append(time.perf_counter() - start)
        cpus.append(cpu_seconds() - cpu)
    order = sorted(range(len(walls)), key=walls.__getitem__)
    middle = order[(len(order) - 1) // 2]
    wall = walls[middle]
    result = {"peer": name, "n": n, "d": d, "k": ARGS.k, "threads": THREADS, "wall": wall, "cpu": cpus[middle],
              "walls": walls, "cpus": cpus, "gflops": 2e-9 * n * n * d / wall}
    print(f"{name:11} {wall:8.3f} s ({min(walls):.3f} to {max(walls):.3f}), cpu {cpus[middle]:.3f} s, "
          f"{result['gflops']:7.1f} equivalent GFLOP/s")
    if graph is not None:
        c = result["difference"] = compare(without_self(ids, ARGS.k), graph, x)
        print(f"{'':11} recall {c['recall']:.6f}: {c['missed']} neighbours missed in {c['wrong_rows']} of {n} rows; "
              f"with ties, {c['other_sets']} rows have other sets, {c['other_order']} another order")
        if c["worst"]:
            w = c["worst"]
            print(f"{'':11} worst: row {w['row']} got {w['theirs']} at {w['at']:.17g}, not {w['ours']} "
                  f"within {w['farthest_of_ours']:.17g}")
    return result


def main():
    x = np.ascontiguousarray(np.load(ARGS.data), dtype=np.float32)
    n, d = x.shape
    graph = np.load(ARGS.graph) if ARGS.graph else None
    about = {"versions": versions(), "command": "peers.py " + " ".join(sys.argv[1:]),
             "environment": {v: os.environ[v] for v in sorted(os.environ)
                             if v.startswith(("OMP_", "OPENBLAS_", "GOMP_"))}}
    print("versions   ", ", ".join(f"{k} {v}" for k, v in about["versions"].items()))
    print("environment", " ".join(f"{k}={v}" for k, v in about["environment"].items()))
    print("command    ", about["command"])
    print(f"rows        {n} x {d}, float32, k={ARGS.k}, {THREADS} threads", flush=True)
    results = []
    for name in ARGS.peers.split(","):
        if name not in PEERS:
            sys.exit(f"--peers {name}: it takes {', '.join(PEERS)}")
        if name == "sklearn" and n > SKLEARN_ROWS:
            print(f"{name:11} not run: more than {SKLEARN_ROWS} rows")
            continue
        results.append(measure(name, x, graph))
    if ARGS.json:
        with open(ARGS.json, "w", encoding="utf-8") as file:
            json.dump({**about, "results": results}, file, indent=1)


if __name__ == "__main__":
    main()
