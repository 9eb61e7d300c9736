#!/usr/bin/python3
"""Draws what knng_bench --sweep wrote as SVG: seconds and equivalent GFLOP/s over the factor that varies.

    knng_bench --engine auto,direct --sweep n 5000,10000,20000,40000 --json n.json
    /usr/bin/python3 plot.py n.json -o n.svg

Needs Debian's python3-matplotlib. Draws what a run printed, measures nothing.
"""
import argparse
import json

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

FACTORS = ("n", "d", "k", "threads")


def varying(results):
    found = [f for f in FACTORS if len({r[f] for r in results}) > 1]
    if len(found) != 1:
        raise SystemExit(f"a plot needs one factor that varies, here vary: {', '.join(found) or 'none'}")
    return found[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("json", nargs="+", help="files of knng_bench --json, with one sweep of the same factor each")
    parser.add_argument("-o", "--output", required=True, help="the .svg file")
    args = parser.parse_args()
    runs = [json.load(open(path, encoding="utf-8")) for path in args.json]
    results = [r for run in runs for r in run["results"] if "error" not in r]
    factor = varying(results)

    plt.rcParams["svg.hashsalt"] = "knng"  # the same figures give the same file
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
    for label in dict.fromkeys((r["data"], r["dtype"], r["metric"], r["asked"]) for r in results):
        line = sorted((r for r in results if (r["data"], r["dtype"], r["metric"], r["asked"]) == label),
                      key=lambda r: r[factor])
        at = [r[factor] for r in line]
        left.plot(at, [r["wall"] for r in line], marker="o", label=f"{label[0]} {label[1]}, {label[3]}")
        right.plot(at, [r["gflops"] for r in line], marker="o")
    peaks = sorted({(r[factor], r["fp32_peak"]) for r in results})
    right.plot([p[0] for p in peaks], [p[1] for p in peaks], color="grey", linestyle=":", label="fp32 peak, measured")
    for axes in (left, right):
        axes.set_xscale("log", base=10 if factor in "nk" else 2)
        axes.set_yscale("log")
        axes.set_xlabel(factor)
        axes.grid(True, which="both", alpha=0.3)
        axes.legend(fontsize="small")
    left.set_ylabel("seconds (median)")
    right.set_ylabel("equivalent GFLOP/s")
    fixed = ", ".join(f"{f}={results[0][f]}" for f in FACTORS if f != factor)
    figure.suptitle(f"{runs[0]['hardware']['cpu']}, libknng {runs[0]['version']}, {results[0]['metric']}, {fixed}",
                    fontsize="small")
    figure.savefig(args.output, metadata={"Date": None})


if __name__ == "__main__":
    main()
