"""Lowers each constant of the error bound, one at a time, and runs the test that must fail.

    /usr/bin/python3 tests/mutation/run.py [--markdown] [--jobs N] FOLDER [WORD ...]    # minutes; FOLDER is kept
    /usr/bin/python3 tests/mutation/run.py --check       # the table fits the source, and bound-attacks.md the table

table.txt has a line for each constant: name, file, text, what takes its place, test program; or name, file, text and
`unattackable: reason`. The tree is copied to FOLDER and built there, with the tests that are needed and no others; each
line changes one file, builds and runs one program. WORDs choose lines by name, file or program. Lines whose program
starts with gpu_ need a GPU and are left out where there is none.

Exits with 1 if a constant survives, if a program fails without any change, or if a line does not fit the source.
"""
import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "internals" / "bound-attacks.md"
COPIED = ("CMakeLists.txt", "include", "src", "bindings", "tests", "pkgconfig", "docs", "LICENSE", "README.md")


class Line:
    def __init__(self, number, text):
        fields = [field.strip() for field in text.split(";;")]
        if len(fields) == 4 and fields[3].startswith("unattackable: "):
            fields[3:] = [None, None, fields[3].removeprefix("unattackable: ")]
        elif len(fields) == 5:
            fields.append(None)
        else:
            sys.exit(f"table.txt:{number}: {len(fields)} fields")
        self.number = number
        self.name, self.file, self.text, self.lowered, self.program, self.reason = fields

    def wrong(self):
        """Why the line does not fit the source, if it does not."""
        path = ROOT / self.file
        if not path.is_file():
            return f"no file {self.file}"
        found = path.read_text(encoding="utf-8").count(self.text)
        if found != 1:
            return f"{self.file} has `{self.text}` {found} times, not once"
        if self.program:
            folder, subject = self.program.split("_", 1)
            if not any((ROOT / "tests" / folder / f"test_{subject}.{end}").is_file() for end in ("cpp", "c", "cu")):
                return f"no program {self.program}"
        return None

    def is_on_page(self):
        row = as_markdown(self, "")
        return (row if self.reason else row.rsplit(":", 1)[0]) in PAGE.read_text(encoding="utf-8")


def counts_on_page(table):
    """The sentence of the page that counts what its rows have."""
    gpu = sum(1 for line in table if line.program and line.program.startswith("gpu_"))
    unattackable = sum(1 for line in table if line.reason)
    return (f"{len(table) - unattackable - gpu} of {len(table)} constants, each noticed; {unattackable} cannot be "
            f"attacked; {gpu} need a GPU")


def read_table():
    lines = (HERE / "table.txt").read_text(encoding="utf-8").splitlines()
    return [Line(i, line) for i, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]


def has_gpu():
    found = shutil.which("nvidia-smi")
    return bool(found and shutil.which("nvcc") and subprocess.run([found, "-L"], capture_output=True).returncode == 0)


class Copy:
    """The tree, built apart."""

    def __init__(self, folder, jobs, gpu):
        self.source, self.build, self.jobs = folder / "source", folder / "build", jobs
        self.take_over_tree()
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DKNNG_BUILD_TESTS=ON", "-DKNNG_BUILD_CLI=OFF", "-DKNNG_FORMATS=OFF",
                   "-DKNNG_HDF5=OFF",
                   f"-DKNNG_CUDA={'ON' if gpu else 'OFF'}"]
        if gpu:
            options.append("-DKNNG_CUDA_ARCHITECTURES=native")
        if shutil.which("ccache"):
            options += [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX", "CUDA")]
        self.must(["cmake", "-S", self.source, "-B", self.build, "-G", "Ninja", *options])

    def take_over_tree(self):
        """Writes what differs and no other file: an earlier run may have ended with a change in place, and what was
        built of it must be older than the file."""
        trees = [path for name in COPIED for path in (ROOT / name, *(ROOT / name).rglob("*"))]
        files = {path.relative_to(ROOT) for path in trees if path.is_file()}
        for old in [f for f in self.source.rglob("*") if f.is_file() and f.relative_to(self.source) not in files]:
            old.unlink()
        for file in files:
            to = self.source / file
            if not to.is_file() or to.read_bytes() != (ROOT / file).read_bytes():
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / file, to)  # with the time of now

    def must(self, command):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")

    def make(self, programs):
        return subprocess.run(["ninja", "-C", self.build, f"-j{self.jobs}", *sorted(programs)], capture_output=True,
                              text=True)

    def run(self, program):
        done = subprocess.run([self.build / "tests" / ("gpu" if program.startswith("gpu_") else "") / program],
                              capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "2"})
        return done.returncode, done.stdout + done.stderr

    def with_change(self, line):
        """caught, SURVIVED, skipped or DOES NOT BUILD"""
        path = self.source / line.file
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(line.text, line.lowered), encoding="utf-8")
        try:
            if self.make([line.program]).returncode != 0:
                return "DOES NOT BUILD"
            code, _ = self.run(line.program)
            return "skipped" if code == 77 else "SURVIVED" if code == 0 else "caught"
        finally:
            path.write_text(text, encoding="utf-8")


def as_markdown(line, result):
    def code(text):
        return "`" + " ".join(text.split()).replace("|", "\\|") + "`"

    if line.reason:
        return f"| {line.name} | {code(line.text)} | | {line.reason} |"
    return f"| {line.name} | {code(line.text)} | {code(line.lowered)} | {line.program}: {result} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("word", nargs="*")
    arguments = parser.parse_args()

    table = read_table()
    wrong = [f"table.txt:{line.number}: {line.name}: {line.wrong()}" for line in table if line.wrong()]
    if arguments.check:
        wrong += [f"{PAGE.name} has no such row as {line.name} (--markdown prints it)" for line in table
                  if not line.wrong() and not line.is_on_page()]
        if counts_on_page(table) not in " ".join(PAGE.read_text(encoding="utf-8").split()):
            wrong.append(f"{PAGE.name} does not count: {counts_on_page(table)}")
    if wrong:
        sys.exit("\n".join(wrong))
    if arguments.check:
        print(f"{len(table)} constants, {sum(1 for line in table if line.reason)} of them unattackable")
        return
    if not arguments.folder:
        parser.error("a folder to build in is needed")

    gpu = has_gpu()
    chosen = [line for line in table if not arguments.word or
              any(word in f"{line.name} {line.file} {line.program}" for word in arguments.word)]
    todo = [line for line in chosen if line.program and (gpu or not line.program.startswith("gpu_"))]
    programs = {line.program for line in todo}
    copy = Copy(arguments.folder.resolve(), arguments.jobs, gpu and any(p.startswith("gpu_") for p in programs))
    made = copy.make(programs)
    if made.returncode != 0:
        sys.exit(made.stdout + made.stderr)
    for program in sorted(programs):
        code, output = copy.run(program)
        if code not in (0, 77):
            sys.exit(f"{program} fails without any change:\n{output}")

    bad = 0
    for line in chosen:
        result = None if line.reason else copy.with_change(line) if line in todo else "needs a GPU"
        bad += bool(result and result.isupper())
        if arguments.markdown:
            print(as_markdown(line, result), flush=True)
        elif result:
            print(f"{result:14} {line.name} ({line.program})", flush=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
