#!/usr/bin/python3
"""Draws what knng_bench --sweep wrote as SVG: seconds and equivalent GFLOP/s over the factor that varies.

    knng_bench --engine auto,direct --sweep n 5000,10000,20000,40000 --json n.json
    /usr/bin/python3 plot.py n.json -o n.svg

With --bars it draws the first table of a page instead: a panel for each row, a bar for each column with a number.

    /usr/bin/python3 plot.py --bars docs/comparison.md -o docs/pictures/speed.svg

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


def first_table(path):
    """Names of the columns after the first, and the rows as (name, {column: number})."""
    with open(path, encoding="utf-8") as page:
        lines = [line.strip() for line in page]
    start = next(i for i, line in enumerate(lines) if line.startswith("|"))
    table = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split("|")])
    columns = table[0][1:]
    # A mark may follow a number; an empty cell was not measured.
    return columns, [(row[0], {c: float(cell.split()[0]) for c, cell in zip(columns, row[1:]) if cell})
                     for row in table[2:]]


def draw_bars(path, output):
    columns, rows = first_table(path)
    text = "#808080"  # read on white and on black
    plt.rcParams.update({"svg.hashsalt": "knng", "svg.fonttype": "none", "font.family": "sans-serif",
                         "text.color": text, "ytick.color": text})
    figure, panels = plt.subplots((len(rows) + 1) // 2, 2, figsize=(9, 1.6 * ((len(rows) + 1) // 2)),
                                  constrained_layout=True, squeeze=False)
    for axes in panels.flat:
        axes.set_axis_off()
    for axes, (name, seconds) in zip(panels.flat, rows):
        axes.set_axis_on()
        bars = axes.barh(list(seconds), list(seconds.values()),
                         color=["#1f8a70" if c == columns[0] else "#9aa5b1" for c in seconds])
        axes.bar_label(bars, [f"{value:g} s" for value in seconds.values()], padding=3, fontsize=9)
        axes.set_title(name, fontsize=10, loc="left")
        axes.invert_yaxis()
        axes.set_xlim(0, 1.2 * max(seconds.values()))
        axes.set_xticks([])
        axes.tick_params(axis="y", length=0, labelsize=9)
        for side in axes.spines.values():
            side.set_visible(False)
    figure.savefig(output, transparent=True, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("json", nargs="*", help="files of knng_bench --json, with one sweep of the same factor each")
    parser.add_argument("--bars", metavar="PAGE", help="draw the first table of this Markdown page instead")
    parser.add_argument("-o", "--output", required=True, help="the .svg file")
    args = parser.parse_args()
    if bool(args.json) == bool(args.bars):
        parser.error("give either files of knng_bench --json or --bars")
    if args.bars:
        draw_bars(args.bars, args.output)
        return
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
