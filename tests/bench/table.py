#!/usr/bin/python3
"""Prints what compare.sh measured as one Markdown table, with hardware, versions and command lines above it.

Times are medians over the rounds. A ratio is the median of the rounds' ratios, time of the peer / time of libknng: above
1 libknng is faster. "of processor time" is the same with the seconds that all threads used instead of the clock's: it
hardly changes when other programs run on the machine. Knows the JSON of knng_bench and peers.py, measures nothing.
"""
import argparse
import json
import pathlib
import statistics


def load(directory):
    """{case: [(ours, peers) of each round]}"""
    cases = {}
    for path in sorted(directory.glob("*-ours.json")):
        case = path.name.split("-")[0]
        peers = path.with_name(path.name.replace("-ours", "-peers"))
        if peers.exists():
            cases.setdefault(case, []).append((json.loads(path.read_text()), json.loads(peers.read_text())))
    return cases


def seconds(value):
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def median(values):
    return statistics.median(values)


def row(rounds, engine, peers):
    ours = [next(r for r in o["results"] if r["asked"] == engine) for o, _ in rounds]
    first = ours[0]
    used = engine if first["engine"] == engine else f"{engine}: {first['engine']}"
    cells = [f"{first['data']} {first['dtype']}", str(first["n"]), str(first["d"]), str(first["k"]), used,
             seconds(median([o["wall"] for o in ours])), f"{median([o['gflops'] for o in ours]):.1f}",
             f"{100 * median([o['gflops'] / o['fp32_peak'] for o in ours]):.1f} %"]
    for peer in peers:
        theirs = [next((r for r in p["results"] if r["peer"] == peer), None) for _, p in rounds]
        if theirs[0] is None:
            cells += ["-"] * 4
            continue
        missed = theirs[0].get("difference", {}).get("missed")
        cells += [seconds(median([t["wall"] for t in theirs])),
                  f"**{median([t['wall'] / o['wall'] for t, o in zip(theirs, ours)]):.2f}**",
                  f"{median([t['cpu'] / o['cpu'] for t, o in zip(theirs, ours)]):.2f}",
                  "-" if missed is None else str(missed)]
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path, help="results that compare.sh kept")
    parser.add_argument("--command", default="", help="how compare.sh was called")
    args = parser.parse_args()
    cases = load(args.directory)
    if not cases:
        raise SystemExit(f"{args.directory}: no results")
    everything = [r for rounds in cases.values() for r in rounds]
    ours, theirs = everything[0]
    peers = list(dict.fromkeys(r["peer"] for _, p in everything for r in p["results"]))
    hardware = ours["hardware"]
    peak = max((p for o, _ in everything for p in o["peaks"]), key=lambda p: p["fp32"])
    loads = [float(o["load_before"].split()[0]) for o, _ in everything if o["load_before"]]
    print(f"- {hardware['cpu']}, {hardware['cores']} cores, {hardware['system']}; multiply-add peak of "
          f"{peak['threads']} threads: fp32 {peak['fp32']:.0f}, fp64 {peak['fp64']:.0f} GFLOP/s ({peak['target']})")
    print(f"- libknng {ours['version']}; " + ", ".join(f"{k} {v}" for k, v in theirs["versions"].items()))
    commands = f"`{ours['command']}`, `{theirs['command']}`".replace(f"{args.directory}/", "")
    print(f"- `{args.command}`; in the first round {commands}")
    busy = median([r["cpu"] / (r["wall"] * r["threads"]) for o, _ in everything for r in o["results"]])
    print(f"- {max(len(r) for r in cases.values())} rounds; one-minute load {min(loads):.1f} to {max(loads):.1f} before "
          f"libknng's turns; its threads had {100 * busy:.0f} % of their cores (median)")
    print()
    titles = ["data", "n", "d", "k", "engine", "libknng s", "equiv. GFLOP/s", "of fp32 peak"]
    for peer in peers:
        titles += [f"{peer} s", f"{peer} / libknng", "of processor time", "neighbours missed"]
    print("| " + " | ".join(titles) + " |")
    print("| :--- |" + " ---: |" * (len(titles) - 1))
    for rounds in cases.values():
        for engine in dict.fromkeys(r["asked"] for r in rounds[0][0]["results"]):
            print("| " + " | ".join(row(rounds, engine, peers)) + " |")


if __name__ == "__main__":
    main()
