#!/usr/bin/env python3
"""What a GPU does during one build: how long kernels ran, how long copies, and how long both at once.

    timeline.py [--lib LIB] [-n N] [-d D] [-k K] [--metric M] [--windows W] [KEY=VALUE ...]

Rows are normal values in host memory; KEY=VALUE are settings, as in device=cuda:0 max_device_bytes=1000000000. Needs
PyTorch, whose profiler asks CUPTI. One build goes before, unseen.
"""

import argparse
import ctypes
import json
import sys
import tempfile
import time

import torch
from torch.profiler import ProfilerActivity, profile

KNNG_F32, KNNG_HOST = 0x220, 1


class Matrix(ctypes.Structure):
    """knng_matrix"""

    _fields_ = (
        [("struct_size", ctypes.c_uint32)]
        + [(name, ctypes.c_int32) for name in ("dtype", "space", "device")]
        + [(name, ctypes.c_int64) for name in ("rows", "cols", "row_stride", "col_stride")]
        + [("stream", ctypes.c_uint64)]
        + [(name, ctypes.c_void_p) for name in ("data", "release", "owner")]
    )


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lib", default="libknng.so.0")
    parser.add_argument("-n", type=int, default=400000)
    parser.add_argument("-d", type=int, default=2048)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--metric", default="sqeuclidean")
    parser.add_argument("--windows", type=int, default=10)
    parser.add_argument("settings", nargs="*", default=[])
    return parser.parse_args()


def spans(events):
    """Sorted, disjoint [begin, end) in seconds."""
    merged = []
    for begin, end in sorted((e["ts"] / 1e6, (e["ts"] + e["dur"]) / 1e6) for e in events):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def within(merged, begin, end):
    return sum(max(0.0, min(b, end) - max(a, begin)) for a, b in merged)


def common(one, other):
    both, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        begin, end = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if begin < end:
            both.append([begin, end])
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return both


def main():
    args = parse()
    lib = ctypes.CDLL(args.lib)
    lib.knng_last_error.restype = ctypes.c_char_p

    def done(status):
        if status:
            sys.exit(lib.knng_last_error().decode())

    rows = torch.randn(args.n, args.d)

    def build():
        handle, graph = ctypes.c_void_p(), ctypes.c_void_p()
        done(lib.knng_create(ctypes.byref(handle), ctypes.c_int64(0), ctypes.c_int32(0), None))
        for key, value in [("metric", args.metric)] + [s.split("=", 1) for s in args.settings]:
            done(lib.knng_set(handle, key.encode(), value.encode(), None))
        matrix = Matrix(ctypes.sizeof(Matrix), KNNG_F32, KNNG_HOST, 0, args.n, args.d)
        matrix.data = rows.data_ptr()
        done(lib.knng_borrow(handle, ctypes.byref(matrix), None, None))
        begin = time.perf_counter()
        done(lib.knng_build(handle, ctypes.c_int64(args.k), None, ctypes.byref(graph), None))
        seconds = time.perf_counter() - begin
        lib.knng_graph_destroy(graph)
        lib.knng_destroy(handle)
        return seconds

    torch.cuda.init()
    build()
    with profile(activities=[ProfilerActivity.CUDA]) as watched:
        seconds = build()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        watched.export_chrome_trace(file.name)
        with open(file.name, encoding="utf-8") as trace:
            events = [e for e in json.load(trace)["traceEvents"] if e.get("ph") == "X"]
    copies = [e for e in events if e.get("cat") == "gpu_memcpy"]
    kernels = spans([e for e in events if e.get("cat") == "kernel"])
    to_device = [e for e in copies if "HtoD" in e["name"]]
    copying = spans(to_device)
    if not kernels or not copying:
        sys.exit("nothing ran on a GPU")
    both = common(kernels, copying)
    gigabytes = sum(e["args"].get("bytes", 0) for e in to_device) / 1e9
    begin, end = min(kernels[0][0], copying[0][0]), max(kernels[-1][1], copying[-1][1])
    total = [within(x, begin, end) for x in (kernels, copying, both)]
    print(f"{args.n} x {args.d}, k={args.k}, {args.metric}, {' '.join(args.settings)}: {seconds:.3f} s while watched")
    print(f"{gigabytes:.2f} GB to the device in {total[1]:.3f} s, {total[2]:.3f} s of it behind kernels; kernels {total[0]:.3f} s")
    print("\n| from s | to s | kernels | copies | both |\n| ---: | ---: | ---: | ---: | ---: |")
    step = (end - begin) / args.windows
    for i in range(args.windows):
        a, b = begin + i * step, begin + (i + 1) * step
        shares = " | ".join(f"{100 * within(x, a, b) / step:.0f} %" for x in (kernels, copying, both))
        print(f"| {a - begin:.3f} | {b - begin:.3f} | {shares} |")


if __name__ == "__main__":
    main()
