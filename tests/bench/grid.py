#!/usr/bin/python3
"""Times libknng and other libraries on a grid of sizes, in one process and in turns, and marks the cells that are lost.

    /usr/bin/python3 tests/bench/grid.py -b .build
    /usr/bin/python3 tests/bench/grid.py -b .build --cells 50:8:5,200:2:10 --calls 2000 --json small.json
    /usr/bin/python3 tests/bench/grid.py -b .build -n 1000000 -d 2,3 -k 10 --data uniform,clusters,line,lattice,equal
    python3 tests/bench/grid.py -b .build --on cuda:0 -n 1000,10000,100000 -d 2,8,32,128,512,2048 -k 1,10,100,1000
    python3 tests/bench/grid.py -b .build --on cuda:0 --queries 2000 -n 5000,100000 -d 32,512 -k 10

A call is all there is from a float32 array to all lists: libknng's handle is made, rows are borrowed, the graph is
built and viewed, and both are destroyed; the others make their tree or index and search all rows for k + 1, since they
find the row itself too. libknng's call is one C function (library_call.c), as nanoflann's is, with device=cpu and its
proof; the others prove nothing.
With --queries M so many other rows ask for k of the n, in place of the graph.
With --on rows are a tensor of PyTorch on that GPU, the graph stays there, and the peers are PyTorch (a product and
topk(), as many rows at a time as make 2^28 pairs) and, where it is installed, FAISS for GPUs.

Whoever has its turn makes some calls in a row, after a pause in which the threads of the one before fall asleep. Calls
take one of several inputs of the cell's shape after the other, the same for all: with a single small one a processor
learns which way every branch goes, and times are those that no program with data of its own sees. A cell is lost where
libknng's best or mean call takes longer than the fastest peer's: the last column says which. Where k is more than an
eighth of the rows, the floor is the time that the canonical keys of the listed pairs alone take: that of engine=direct,
which evaluates all pairs, times the share of the pairs that are listed.

Needs a C compiler, and of Debian python3-faiss with libopenblas0-pthread, python3-sklearn, python3-scipy and
libnanoflann-dev (of which the C++ compiler makes a library); who is missing is left out. FAISS is as fast as the kernels
of OpenBLAS, which an older OpenBLAS chooses badly for a processor that it does not know: the line of versions says which they are, and -o
names others (SkylakeX, Haswell, Zen). A benchmark, never a test.
"""
import argparse
import ctypes
import itertools
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TREE_DIMS = 16  # beyond, trees are slower than all pairs by far
SKLEARN_ROWS = 20000  # brute force holds more per pair than the others
FAR_BEHIND = 4  # times the fastest peer's first calls: such a peer has no turns
PAUSE = 0.03  # seconds between turns: OpenBLAS's threads look for work about as long
TURN_CALLS, TURN_SECONDS = 20, 0.02
MOST_INPUTS, INPUT_VALUES = 16, 1 << 22  # of a cell: fewer where rows are large and many, but 2
NAMES = ("faiss", "sklearn", "sklearn-tree", "scipy", "nanoflann")
GPU_NAMES = ("torch", "faiss-gpu")
TORCH_PAIRS = 1 << 28  # of a product in memory


def numbers(text):
    return [int(word) for word in text.split(",")]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-b", "--build", default=".build", help="build directory with lib/libknng.so.0")
    parser.add_argument("--library", help="the library itself")
    parser.add_argument("-n", type=numbers, default=[200, 1000, 5000, 20000], help="rows, separated by commas")
    parser.add_argument("-d", type=numbers, default=[2, 8, 32, 128, 512], help="dimensions")
    parser.add_argument("-k", type=numbers, default=[1, 10, 100], help="neighbours; those above n - 1 are left out")
    parser.add_argument("--queries", type=int, default=0, metavar="M", help="that ask, in place of the rows themselves")
    parser.add_argument("--cells", help="N:D:K, separated by commas, in place of the grid")
    parser.add_argument("--data", default="uniform", help=f"separated by commas: {', '.join(DATA)}")
    parser.add_argument("--on", metavar="cuda:N", help="rows and graphs are on that GPU")
    parser.add_argument("--peers", help=f"which, separated by commas, or none: {', '.join(NAMES)}; with --on "
                                        f"{', '.join(GPU_NAMES)}")
    parser.add_argument("--threads", type=int, default=0, help="of all; 0: as many as there are cores for this process")
    parser.add_argument("-o", "--openblas", default="", help="OPENBLAS_CORETYPE, if not what OpenBLAS chooses by itself")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of libknng's")
    parser.add_argument("--seconds", type=float, default=1, help="of a cell's turns, beyond three calls of each")
    parser.add_argument("--calls", type=int, default=200, help="of each in a cell, at most")
    parser.add_argument("--busy", action="store_true", help="another process keeps one core busy meanwhile")
    parser.add_argument("--json", help="write the results there, with the time of every call")
    return parser.parse_args()


def uniform(random, n, d):
    return random.random((n, d), dtype=np.float32)


def clusters(random, n, d):
    centres = random.random((100, d), dtype=np.float32)
    return centres[random.integers(0, 100, n)] + np.float32(0.001) * random.standard_normal((n, d), dtype=np.float32)


def line(random, n, d):
    return random.random((n, 1), dtype=np.float32) * np.ones(d, np.float32)


def lattice(random, n, d):
    """All points of a grid, in any order, the first side the longest: ties everywhere."""
    side = int(n ** (1 / d))
    places = random.permutation(n)
    columns = []
    for _ in range(d - 1):
        columns.append(places % side)
        places //= side
    return np.stack([places, *columns], axis=1).astype(np.float32)


DATA = {
    "uniform": uniform,
    "gaussian": lambda random, n, d: random.standard_normal((n, d), dtype=np.float32),
    "clusters": clusters,
    "line": line,
    "lattice": lattice,
    "equal": lambda random, n, d: np.ones((n, d), np.float32),
}

ARGS = arguments()
THREADS = ARGS.threads or len(os.sched_getaffinity(0))
# Read by the libraries below when they are loaded. What the user's shell says of OpenBLAS is dropped: it would slow the
# peers down if it was meant for something else.
for name in [v for v in os.environ if v.startswith(("OPENBLAS_", "OMP_", "GOMP_", "KNNG_"))]:
    del os.environ[name]
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = str(THREADS)
if ARGS.openblas:
    os.environ["OPENBLAS_CORETYPE"] = ARGS.openblas
os.environ["KNNG_LIBRARY"] = str(pathlib.Path(ARGS.library or f"{ARGS.build}/lib/libknng.so.0").resolve())
sys.path.insert(0, str(HERE.parent.parent / "bindings" / "python"))

import numpy as np  # noqa: E402
from knng import _declarations as c  # noqa: E402
from knng._library import lib, text_of_version  # noqa: E402



def compiled(folder, compiler, source, *options):
    """The shared library of a source beside this file."""
    if not shutil.which(compiler):
        raise ImportError(f"there is no {compiler}")
    library = f"{folder}/{source}.so"
    made = subprocess.run([compiler, "-O3", "-shared", "-fPIC", "-o", library, str(HERE / source), *options],
                          capture_output=True, text=True, check=False)
    if made.returncode:
        raise ImportError(f"{source} did not compile: {(made.stderr.strip() or '?').splitlines()[0]}")
    return ctypes.CDLL(library)


def library_calls():
    """What is timed of libknng, in C."""
    with tempfile.TemporaryDirectory() as folder:
        return compiled(folder, "cc", "library_call.c", f"-I{HERE.parent.parent / 'include'}",
                        os.environ["KNNG_LIBRARY"])


try:
    CALLS = library_calls()
except ImportError as without:
    sys.exit(f"grid.py: {without}")

# ---- Who is timed: of rows and k, a function without parameters that is a call.


class Call(ctypes.Structure):
    """As library_call.c has it."""

    _fields_ = [("rows", ctypes.POINTER(c.Matrix)), ("queries", ctypes.POINTER(c.Matrix)),
                ("settings", ctypes.POINTER(ctypes.c_char_p)), ("k", ctypes.c_int64), ("handle", ctypes.c_void_p), ("graph", ctypes.c_void_p), ("ids", c.Matrix),
                ("values", c.Matrix)]


def matrix_of(x):
    place = {"space": 2, "device": x.device.index, "data": x.data_ptr()} if ARGS.on else {"space": 1,
                                                                                        "data": x.ctypes.data}
    return c.Matrix(dtype=0x220, rows=len(x), cols=x.shape[1], row_stride=x.shape[1], col_stride=1, **place)


class Libknng:
    """One call through ctypes, as for nanoflann: what a C program does."""

    def __init__(self, x, k, settings=(), q=None):
        self.k, self.rows, self.kept = k, len(x), (x, q)
        rows, queries = (None if m is None else ctypes.pointer(matrix_of(m)) for m in (x, q))
        where = (f"device={ARGS.on}", "graph=device") if ARGS.on else ("device=cpu",)
        words = [word for s in (*where, "metric=sqeuclidean", *settings) for word in s.encode().split(b"=", 1)]
        self.call = Call(rows, queries, (ctypes.c_char_p * (len(words) + 1))(*words), k)
        self.at = ctypes.byref(self.call)

    def require(self, status):
        if status:
            sys.exit(f"libknng: {lib.knng_last_error().decode()}")

    def __call__(self, whole=CALLS.whole_call):
        if whole(self.at):
            self.require(1)

    def open(self):
        self.require(CALLS.open_call(self.at))

    def close(self):
        CALLS.close_call(self.at)

    def compare(self):
        """A graph with the definition."""
        wrong = ctypes.c_int64()
        if lib.knng_check(self.call.handle, self.call.graph, 10, None, ctypes.byref(wrong), None) or wrong.value >= 0:
            sys.exit(f"libknng: row {wrong.value} is wrong: {lib.knng_last_error().decode()}")

    def engine(self):
        """What ran. A graph is compared first; for queries the library has no such check."""
        self.open()
        if not ARGS.queries:
            self.compare()
        text = ctypes.create_string_buffer(64)
        lib.knng_graph_text(self.call.graph, b"engine", text, 64, None, None)
        self.close()
        return text.value.decode()

    def listed_share(self):
        """Of all pairs, those of which one is in the other's list."""
        self.open()
        count = self.rows * self.k
        ids = np.ctypeslib.as_array(ctypes.cast(self.call.ids.data, ctypes.POINTER(ctypes.c_int64)), (count,))
        own = np.repeat(np.arange(self.rows), self.k)
        pairs = len(np.unique(np.minimum(own, ids) * self.rows + np.maximum(own, ids)))
        self.close()
        return pairs / (self.rows * (self.rows - 1) / 2)


def asked(x, k, q):
    """Who asks, and for how many: of a graph all rows, which find themselves, too."""
    return (x, k + 1) if q is None else (q, k)


def faiss_knn(x, k, q=None):
    import faiss

    faiss.omp_set_num_threads(THREADS)
    who, count = asked(x, k, q)
    return lambda: faiss.knn(who, x, count)


def sklearn_brute(x, k, q=None):
    from sklearn.neighbors import NearestNeighbors

    def call():
        model = NearestNeighbors(n_neighbors=k, algorithm="brute", metric="sqeuclidean", n_jobs=THREADS)
        return model.fit(x).kneighbors(q)  # without a query it leaves out the row itself

    return call if len(x) <= SKLEARN_ROWS else None


def sklearn_tree(x, k, q=None):
    from sklearn.neighbors import KDTree

    return (lambda: KDTree(x).query(*asked(x, k, q))) if x.shape[1] <= TREE_DIMS else None


def scipy_tree(x, k, q=None):
    from scipy.spatial import cKDTree

    return (lambda: cKDTree(x).query(*asked(x, k, q), workers=THREADS)) if x.shape[1] <= TREE_DIMS else None


def nanoflann_library(folder):
    return compiled(folder, "c++", "nanoflann_knn.cpp", "-march=native", "-fopenmp").nanoflann_knn


def nanoflann_tree(x, k, q=None):
    n, d = x.shape
    sizes = [ctypes.c_size_t(s) for s in (n, d, k + 1)]

    def call():
        ids, distances = np.empty((n, k + 1), np.uint32), np.empty((n, k + 1), np.float32)
        at = [ctypes.c_void_p(a.ctypes.data) for a in (x, ids, distances)]
        NANOFLANN(at[0], *sizes, THREADS, at[1], at[2])
        return distances, ids

    return call if d <= TREE_DIMS and q is None else None


def torch_topk(x, k, q=None):
    import torch

    who, count = asked(x, k, q)
    together = max(1, TORCH_PAIRS // len(x))

    def call():
        squares = (x * x).sum(1)
        of_who = squares if q is None else (q * q).sum(1)
        parts = []
        for first in range(0, len(who), together):
            rows = who[first:first + together]
            keys = torch.addmm(squares[None, :], rows, x.T, alpha=-2)
            values, ids = torch.topk(keys, count, dim=1, largest=False)
            parts.append((values.add_(of_who[first:first + together, None]), ids))
        torch.cuda.synchronize()
        return parts

    return call if count <= len(x) else None


def faiss_gpu(x, k, q=None):
    import faiss
    import faiss.contrib.torch_utils
    import torch

    resources = faiss.StandardGpuResources()
    who, count = asked(x, k, q)

    def call():
        found = faiss.knn_gpu(resources, who, x, count)
        torch.cuda.synchronize()
        return found

    return call if k < 2048 else None


PEERS = dict(zip(NAMES + GPU_NAMES,
                 (faiss_knn, sklearn_brute, sklearn_tree, scipy_tree, nanoflann_tree, torch_topk, faiss_gpu)))
NANOFLANN = None


def placed(x):
    """The rows where they are to be."""
    if not ARGS.on:
        return x
    import torch

    tensor = torch.from_numpy(x).to(ARGS.on)
    torch.cuda.synchronize()
    return tensor


def present_peers(folder):
    """Those asked for that are here, with a word on the others."""
    global NANOFLANN
    found = []
    names = GPU_NAMES if ARGS.on else NAMES
    for name in () if ARGS.peers == "none" else ARGS.peers.split(",") if ARGS.peers else names:
        if name not in names:
            sys.exit(f"--peers {name}: it takes {', '.join(names)}")
        try:
            if name == "nanoflann":
                NANOFLANN = nanoflann_library(folder)
            PEERS[name](placed(np.zeros((4, 2), np.float32)), 1)
            found.append(name)
        except (ImportError, OSError, AttributeError) as error:
            print(f"left out    {name}: {error}")
    return found


# ---- A cell: turns, and what they say.


def timed(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def first_calls(call):
    """The best of some calls, of which the first warms the library up."""
    took = [timed(call)]
    while len(took) < 6 and sum(took) < 0.3:
        took.append(timed(call))
    return min(took)


def take_turns(calls):
    """{name: seconds of each call}"""
    times = {name: [] for name in calls}
    spent = 0.0
    while any(len(t) < ARGS.calls and (len(t) < 3 or spent < ARGS.seconds) for t in times.values()):
        for name, call in calls.items():
            time.sleep(PAUSE)
            call()  # its threads are awake
            turn = 0.0
            for _ in range(min(TURN_CALLS, max(1, ARGS.calls - len(times[name])))):
                took = timed(call)
                times[name].append(took)
                turn += took
                if turn > TURN_SECONDS:
                    break
            spent += turn
    return times


def rotating(calls):
    """A call that is the next of `calls`."""
    turns = itertools.cycle(calls)
    return lambda: next(turns)()


def summary(times):
    ordered = sorted(times)
    return {"best": ordered[0], "mean": sum(times) / len(times), "calls": times,
            "p99": ordered[int(0.99 * (len(times) - 1) + 0.5)] if len(times) >= 50 else None}


def measure(data, n, d, k, peers):
    rows = n + ARGS.queries
    count = max(2, min(MOST_INPUTS, INPUT_VALUES // (rows * d)))
    inputs = [placed(DATA[data](np.random.default_rng(seed), rows, d)) for seed in range(1, count + 1)]
    inputs = [(x[:n], x[n:]) if ARGS.queries else (x, None) for x in inputs]
    ours = [Libknng(x, k, ARGS.set, q) for x, q in inputs]
    cell = {"data": data, "n": n, "queries": ARGS.queries, "d": d, "k": k, "inputs": count, "engine": ours[0].engine()}
    calls, firsts = {"libknng": rotating(ours)}, {}
    for name in peers:
        of_inputs = [PEERS[name](x, k, q) for x, q in inputs]
        if of_inputs[0]:
            calls[name] = rotating(of_inputs)
            firsts[name] = first_calls(calls[name])
    for name, took in firsts.items():
        if took > FAR_BEHIND * min(firsts.values()):
            del calls[name]
    cell["first"] = firsts
    cell["times"] = {name: summary(t) for name, t in take_turns(calls).items()}
    if 8 * k > n and not ARGS.on and not ARGS.queries:
        direct = Libknng(inputs[0][0], 1, ("engine=direct",))
        first_calls(direct)
        cell["floor"] = min(timed(direct) for _ in range(3)) * ours[0].listed_share()
    return cell


def lost_by(cell):
    """(of best and mean: the fastest peer's time / libknng's)"""
    times = dict(cell["times"])
    ours = times.pop("libknng")
    if not times:
        return None
    return {what: min(t[what] for t in times.values()) / ours[what] for what in ("best", "mean")}


def ms(seconds):
    return "" if seconds is None else f"{1e3 * seconds:.{3 if seconds < 1e-2 else 2 if seconds < 0.1 else 1}f}"


def triple(t):
    return " / ".join(ms(t[what]) for what in ("best", "mean", "p99") if t[what] is not None)


def row(cell, peers):
    ratio = lost_by(cell)
    times = cell["times"]
    floor = cell.get("floor")
    cells = [cell["data"], str(cell["n"]), str(cell["d"]), str(cell["k"]), cell["engine"], triple(times["libknng"]),
             ms(floor)]
    fastest = min((p for p in peers if p in times), key=lambda p: times[p]["best"], default=None)
    for name in peers:
        text = triple(times[name]) if name in times else ms(cell["first"].get(name))
        cells.append(f"**{text}**" if name == fastest else text)
    if ratio:
        lost = [what for what in ("best", "mean") if ratio[what] < 1]
        cells += [f"{ratio['best']:.2f}", f"{ratio['mean']:.2f}", "LOST: " + ", ".join(lost) if lost else ""]
    else:
        cells += ["", "", ""]
    return "| " + " | ".join(cells) + " |"


def versions():
    found = {"libknng": text_of_version(lib.knng_version()), "python": platform.python_version()}
    for name in ("numpy", "scipy", "sklearn", "faiss", "torch"):
        if name in sys.modules:
            found[name] = sys.modules[name].__version__
    if "faiss" in found:
        found["faiss"] += f" ({sys.modules['faiss'].get_compile_options().strip()})"
    try:
        import threadpoolctl

        found["blas"] = ", ".join(sorted({f"{p['internal_api']} {p['version']} ({p.get('architecture', '?')})"
                                          for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"}))
    except ImportError:
        pass
    return found


def hardware():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        info = dict(line.split(":", 1) for line in file.read().split("\n\n")[0].splitlines() if ":" in line)
    info = {key.strip(): value.strip() for key, value in info.items()}
    gpu = ""
    if ARGS.on:
        import torch

        gpu = f"{torch.cuda.get_device_name(ARGS.on)}; "
    return (f"{gpu}{info.get('model name', platform.machine())} (family {info.get('cpu family')}, model "
            f"{info.get('model')}), {len(os.sched_getaffinity(0))} cores, {platform.platform()}")


def cells():
    if ARGS.cells:
        return [numbers(cell.replace(":", ",")) for cell in ARGS.cells.split(",")]
    return [(n, d, k) for n in ARGS.n for d in ARGS.d for k in ARGS.k if k < n]


def main():
    with tempfile.TemporaryDirectory() as folder:
        peers = present_peers(folder)
    about = {"hardware": hardware(), "versions": versions(), "threads": THREADS,
             "command": "grid.py " + " ".join(sys.argv[1:])}
    print(f"hardware    {about['hardware']}")
    print("versions    " + ", ".join(f"{name} {v}" for name, v in about["versions"].items()))
    print(f"command     {about['command']}")
    print(f"{THREADS} threads{', one core busy with another process' if ARGS.busy else ''}; milliseconds: best / mean "
          "/ 99th percentile (of 50 calls or more); a number alone is a call of who is far behind\n")
    print("| data | n | d | k | engine | libknng | floor | " + " | ".join(peers) +
          " | fastest peer / libknng, best | mean | |\n| :--- " + "| ---: " * 3 + "| :--- " +
          "| ---: " * (len(peers) + 4) + "| :--- |")
    busy = None
    if ARGS.busy:
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        os.sched_setaffinity(busy.pid, {max(os.sched_getaffinity(0))})
    results = []
    try:
        for data in ARGS.data.split(","):
            for n, d, k in cells():
                results.append(measure(data, n, d, k, peers))
                print(row(results[-1], peers), flush=True)
    finally:
        if busy:
            busy.kill()
        if ARGS.json:
            with open(ARGS.json, "w", encoding="utf-8") as file:
                json.dump({**about, "results": results}, file, indent=1)
    ratios = [r for r in map(lost_by, results) if r]
    lost = {what: sum(r[what] < 1 for r in ratios) for what in ("best", "mean")}
    print(f"\nlost by best: {lost['best']}, by mean: {lost['mean']}, of {len(ratios)} cells")


if __name__ == "__main__":
    main()
