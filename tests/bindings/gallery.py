"""A program of the gallery, at a small size: it draws a picture, prints what the page says but for the numbers, and the
page's code is the program's.
    gallery.py DOCS_FOLDER PROGRAM SIZE"""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

RUNNERS = {".py": ["/usr/bin/python3"], ".R": ["Rscript", "--vanilla"]}
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(1 if os.environ.get("KNNG_CI") == "true" else 77)


def missing(program):
    """Packages that a program loads and that are not there. None is loaded, which takes many seconds of some."""
    text = program.read_text()
    if program.suffix == ".py":
        text += (program.parent / "common.py").read_text()
        names = set(re.findall(r"^ *(?:import|from(?= \S+ import)) (\w+)", text, re.M)) - {"common"}
        names |= {"igraph"} if "to_igraph" in text else set()
        return [name for name in sorted(names) if not importlib.util.find_spec(name)]
    names = ", ".join(f"'{name}'" for name in re.findall(r"library\((\w+)\)", text))
    lacks = f"for (name in c({names})) if (!nzchar(system.file(package = name))) cat(name, '')"
    return subprocess.run([*RUNNERS[".R"], "-e", lacks], capture_output=True, text=True, check=True).stdout.split()


def shape(line):
    """A line without its numbers."""
    return re.sub(r"-?\d[\d.,]*(e[-+]\d+)?", "N", line)


docs, name, size = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
program = docs / "examples/gallery" / name
runner = RUNNERS[program.suffix]
if not shutil.which(runner[0]):
    skip(f"{runner[0]} is needed")
if lacks := missing(program):
    skip(f"{', '.join(lacks)} is needed")
if program.suffix == ".py" and not DATA.exists():
    skip("the package dataset-fashion-mnist is needed")

with tempfile.TemporaryDirectory() as folder:
    picture = pathlib.Path(folder, "picture.png")
    done = subprocess.run([*runner, program, picture, size], capture_output=True, text=True)
    print(done.stdout, done.stderr)
    if done.returncode:
        sys.exit(f"{name} failed")
    import matplotlib.image

    shades = matplotlib.image.imread(picture)[..., :3]
    if min(shades.shape[:2]) < 300 or not 0.01 < (shades < 0.99).any(axis=2).mean() < 0.99:
        sys.exit(f"the picture, {shades.shape}, is empty or full")

section = [part for part in re.split(r"^## ", (docs / "guide/gallery.md").read_text(), flags=re.M) if f"/{name}`" in part]
if len(section) != 1:
    sys.exit(f"gallery.md has {len(section)} sections on {name}")
said, = re.findall(r"^```text\n(.*?)^```", section[0], re.M | re.S)
if [shape(line) for line in said.splitlines()] != [shape(line) for line in done.stdout.splitlines()]:
    sys.exit(f"the page has other lines:\n{said}")
code = re.findall(r"^```(?:python|r)\n(.*?)^```", section[0], re.M | re.S)
lines = [line.strip() for line in program.read_text().splitlines()]
for piece in code:
    wanted = [line.strip() for line in piece.splitlines()]
    if not any(lines[i:i + len(wanted)] == wanted for i in range(len(lines))):
        sys.exit(f"the program does not have these lines of the page:\n{piece}")
if not code:
    sys.exit(f"the page shows no code of {name}")
