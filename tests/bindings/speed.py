"""The whole call, from an array to arrays, in a language, beside a program in C and the language's other packages, on
the first rows of Fashion-MNIST (dataset-fashion-mnist): the table of the language's page, and whether the bounds hold.

    speed.py python|r|rust|fortran BUILD_FOLDER [ROWS...]     --once: one run, without other packages, as a test does

FAISS and NumPy of Debian are many times slower without libopenblas0-pthread. The build is one with tests; for R
`ctest -R '^bindings.r$'` installs the package there. Each run is a process of its own; those of C and of the language
go in turn, so that what else the machine does meets both. The least of seven; of two for other packages, which have the
first number of rows alone."""
import ctypes
import gzip
import importlib.metadata
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINDINGS = ROOT / "bindings"
SOURCE = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"
RUNS, RUNS_OF_PEERS = 7, 2
#: For each language how C has its rows, how many, its own ways, and those of other packages.
LANGUAGES = {
    "python": ("f32", [20000], {"knng": "`knng.graph(x, 10)`"},
               {"scikit-learn": "scikit-learn, `algorithm=\"brute\"`", "faiss": "FAISS, `IndexFlatL2`",
                "pynndescent": "pynndescent, whose lists are approximate"}),
    "r": ("f64", [5000, 20000], {"knng": "`knng(x, 10)`", "knng_integers": "`knng(x, 10)`, `x` of integers"},
          {"FNN": "FNN, `algorithm = \"brute\"`", "RANN": "RANN", "dbscan": "dbscan",
           "Exhaustive": "BiocNeighbors, `ExhaustiveParam()`", "Kmknn": "BiocNeighbors, `KmknnParam()`",
           "Annoy": "BiocNeighbors, `AnnoyParam()`, whose lists are approximate",
           "Hnsw": "BiocNeighbors, `HnswParam()`, whose lists are approximate"}),
    "rust": ("f32", [20000], {"knng": "crate `knng`"}, {}),
    "fortran": ("f32", [20000], {"knng": "module `knng`"}, {}),
}


def need(there, what):
    """Without it there is nothing to measure: 77, as for a test that is skipped; where KNNG_CI=true a failure."""
    if not there:
        print(f"skipped: {what} is needed")
        sys.exit(1 if os.environ.get("KNNG_CI") == "true" else 77)


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: ended with {done.returncode}")
    return done.stdout


def program_of(language, build):
    """The command that a way, a file and a number of rows are added to."""
    if language == "python":
        os.environ["PYTHONPATH"] = str(BINDINGS / "python")
        os.environ["KNNG_LIBRARY"] = str(build / "lib/libknng.so.0")
        return ["/usr/bin/python3", BINDINGS / "python/tests/bench.py"]
    if language == "r":
        library = build / "bindings/r/tests/check/knng.Rcheck"
        need((library / "knng").exists(), "the package for R, which bindings.r installs in the build,")
        os.environ["R_LIBS"] = str(library)
        return ["Rscript", "--vanilla", BINDINGS / "r/tests/bench.R"]
    if language == "rust":
        work = build / "bindings/rust/tests"
        os.environ.update(KNNG_LIB_DIR=str(build / "lib"), CARGO_HOME=str(work / "home"),
                          CARGO_TARGET_DIR=str(work / "target"))
        run("cargo", "build", "--quiet", "--release", "--locked", "--offline", "--example", "timing", "--manifest-path",
            BINDINGS / "rust/knng/Cargo.toml")
        return [work / "target/release/examples/timing"]
    program = build / "bindings/fortran/tests/fortran_timing"
    need(program.exists(), "the Fortran module, built with its tests,")
    return [program]


def c_program(folder, build):
    run("cc", "-O2", "-std=c99", ROOT / "tests/bindings/speed.c", f"-I{ROOT}/include", f"-L{build}/lib", "-lknng", "-o",
        folder / "speed")
    return folder / "speed"


def write_rows(path, kind, count):
    with gzip.open(SOURCE) as file:
        rows = np.frombuffer(file.read(), np.uint8, offset=16)[:count * 784].reshape(count, 784)
    if kind == "f32":
        rows.astype(np.float32).tofile(path)
    else:  # as R has its matrices, also of 32-bit integers
        rows.T.astype(np.float64).tofile(path)
        rows.T.astype(np.int32).tofile(f"{path}_integers")
    return len(rows)


def least(runs):
    return tuple(map(min, zip(*runs)))


def measured(*command):
    return tuple(map(float, run(*map(str, command)).split()))


def tables(language, build, counts, once, folder):
    kind, usual, own, peers = LANGUAGES[language]
    c, program, rows = c_program(folder, build), program_of(language, build), folder / "rows"
    empty = measured(*program, "knng", rows, 0)[2] - measured(c, kind, rows, 0)[2]
    for place, count in enumerate(counts or usual):
        count = write_rows(rows, kind, count)
        commands = {"a C program with the same calls": [c, kind, rows, count]}
        commands.update({label: [*program, way, f"{rows}_integers" if way.endswith("_integers") else rows, count]
                         for way, label in own.items()})
        runs = [[measured(*command) for command in commands.values()] for _ in range(1 if once else RUNS)]
        results = {label: least(column) for label, column in zip(commands, zip(*runs))}
        if place == 0 and not once:
            results.update({label: least(measured(*program, way, rows, count) for _ in range(RUNS_OF_PEERS))
                            for way, label in peers.items()})
        print(f"\n{count} rows of 784 values, k = 10:\n")
        print("| | processor seconds | wall time | peak memory, MB |\n| --- | ---: | ---: | ---: |")
        for label, (wall, used, peak) in results.items():
            print(f"| {label} | {used:.3g} | {wall:.3g} | {peak / 1000:.0f} |")
        (c_wall, _, c_peak), (wall, _, peak) = list(results.values())[:2]
        beyond, copy = wall - c_wall, count * 10 * (16 if kind == "f64" else 12) / 1000
        soon, small = beyond <= max(0.03 * c_wall, 0.01), peak - c_peak <= copy + empty
        print(f"\nwall time: {1e3 * beyond:+.0f} ms, {100 * beyond / c_wall:+.1f} %; at most 10 ms or 3 %: "
              f"{'holds' if soon else 'does not hold'}")
        print(f"peak memory: {(peak - c_peak) / 1000:+.1f} MB; at most the language and its packages, {empty / 1000:.1f}, "
              f"and one copy of the result, {copy / 1000:.1f}: {'holds' if small else 'does not hold'}", flush=True)


def print_versions(language, build):
    model = next(line.split(": ", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    version = ctypes.CDLL(str(build / "lib/libknng.so.0")).knng_version()
    print(f"{model}, {len(os.sched_getaffinity(0))} processors; {platform.platform()}; "
          f"libknng {version >> 16}.{version >> 8 & 255}.{version & 255}")
    if language == "python":
        there = {one.metadata["Name"]: one.version for one in importlib.metadata.distributions()}
        print(", ".join([f"Python {platform.python_version()}"] + [
            f"{name} {there[name]}" for name in ("numpy", "scikit-learn", "faiss", "pynndescent") if name in there]))
    elif language == "r":
        packages = "c('FNN', 'RANN', 'dbscan', 'BiocNeighbors')"
        print(run("Rscript", "--vanilla", "-e", f"cat(R.version.string); for (name in {packages}) if "
                  "(nzchar(system.file(package = name))) cat(',', name, format(packageVersion(name)))"))
    else:
        print(run({"rust": "rustc", "fortran": "gfortran"}[language], "--version").splitlines()[0])


def main(language, folder, *counts):
    build = pathlib.Path(folder).resolve()
    os.environ["LD_LIBRARY_PATH"] = str(build / "lib")
    os.environ["KNNG_DEVICE"] = "cpu"
    os.environ["PATH"] = "/usr/bin:" + os.environ["PATH"]  # Debian's, before others that a developer may have
    tool = {"python": "python3", "r": "Rscript", "rust": "cargo", "fortran": "gfortran"}[language]
    need(shutil.which(tool), tool)
    need(os.path.exists(SOURCE), "the package dataset-fashion-mnist")
    print_versions(language, build)
    print("speed.py", language, *counts)
    with tempfile.TemporaryDirectory() as work:
        numbers = [int(count) for count in counts if count != "--once"]
        tables(language, build, numbers, "--once" in counts, pathlib.Path(work))


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in LANGUAGES:
        sys.exit(__doc__)
    main(*sys.argv[1:])
