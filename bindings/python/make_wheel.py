"""Makes what is given away: a wheel with libknng inside, and a source archive.

    /usr/bin/python3 make_wheel.py LIBRARY FOLDER     # LIBRARY: libknng.so.0 of a release build
    /usr/bin/python3 make_wheel.py FOLDER             # a wheel of Python alone, for the system's library

Needs setuptools, wheel and binutils, and no network. The wheel's tag is what the library's symbols ask for: the oldest
manylinux on which they are all there. The formats library is left out, since it needs libzip, which no manylinux has; the
HDF5 and CUDA libraries are found where they are installed. No libgomp is inside: the library's threads are its own, and it needs no OpenMP.
"""
from __future__ import annotations

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

from setuptools import build_meta
from wheel.wheelfile import WheelFile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
#: The newest versions of symbols that each manylinux has, of PEP 600's list of policies.
POLICIES = [
    ((2, 28), {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}),
    ((2, 31), {"GLIBC": (2, 31), "GLIBCXX": (3, 4, 28), "CXXABI": (1, 3, 12), "GCC": (7, 0, 0)}),
    ((2, 34), {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}),
    ((2, 35), {"GLIBC": (2, 35), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}),
    ((2, 39), {"GLIBC": (2, 39), "GLIBCXX": (3, 4, 33), "CXXABI": (1, 3, 15), "GCC": (14, 0, 0)}),
]
#: What every manylinux has. Anything else would have to be brought along.
PROVIDED = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1",
            "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def readelf(*arguments: str) -> str:
    return subprocess.run(["readelf", "--wide", *arguments], check=True, capture_output=True, text=True).stdout


def tag_of(library: pathlib.Path) -> str:
    """The platform tag of a library; SystemExit if no manylinux has all that it asks for."""
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", str(library))))
    if needed - PROVIDED:
        sys.exit(f"{library} needs {', '.join(sorted(needed - PROVIDED))}, which no manylinux has")
    asked: dict[str, tuple[int, ...]] = {}
    for name, version in re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI|GCC)_([0-9.]+)", readelf("--version-info", str(library))):
        numbers = tuple(int(part) for part in version.split("."))
        asked[name] = max(asked.get(name, ()), numbers)
    for (major, minor), has in POLICIES:
        if all(version <= has[name] for name, version in asked.items()):
            return f"manylinux_{major}_{minor}_{platform.machine()}"
    sys.exit(f"{library} asks for newer symbols than any known manylinux has: {asked}")


def copy_sources(to: pathlib.Path) -> None:
    """What belongs to the package, the licence, and those of what is compiled into the library."""
    shutil.copytree(HERE / "knng", to / "knng", ignore=shutil.ignore_patterns("__pycache__", "lib"))
    (to / "knng").chmod(0o755)  # also where the source takes no files
    for file in [HERE / "pyproject.toml", HERE / "README.md", ROOT / "LICENSE"]:
        shutil.copyfile(file, to / file.name)
    shutil.copyfile(ROOT / "docs/copyright", to / "NOTICE")


def build(library: pathlib.Path | None, out: pathlib.Path) -> list[pathlib.Path]:
    """The two archives, in `out`."""
    tag = tag_of(library) if library else ""
    before = pathlib.Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        copy_sources(here)
        try:
            os.chdir(here)  # where setuptools looks
            source = build_meta.build_sdist(str(out))
            if not library:
                return [out / source, out / build_meta.build_wheel(str(out))]
            (here / "knng/lib").mkdir()
            shutil.copy(library, here / "knng/lib/libknng.so.0")
            subprocess.run(["strip", "--strip-unneeded", "knng/lib/libknng.so.0"], check=True)
            plain = build_meta.build_wheel(folder)
        finally:
            os.chdir(before)
        return [out / source, retagged(here / plain, out, tag)]


def retagged(wheel: pathlib.Path, out: pathlib.Path, tag: str) -> pathlib.Path:
    """The wheel once more, for one platform: any Python 3, no ABI of Python's."""
    name, version, *_ = wheel.name.split("-")
    made = out / f"{name}-{version}-py3-none-{tag}.whl"
    with WheelFile(wheel) as old, WheelFile(made, "w") as new:
        for entry in old.infolist():
            if entry.filename.endswith(".dist-info/RECORD"):
                continue  # written anew
            data = old.read(entry)
            if entry.filename.endswith(".dist-info/WHEEL"):
                data = data.replace(b"Root-Is-Purelib: true", b"Root-Is-Purelib: false")
                data = data.replace(b"Tag: py3-none-any", f"Tag: py3-none-{tag}".encode())
            new.writestr(entry, data)
    return made


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    *libraries, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    for archive in build(libraries[0] if libraries else None, folder):
        print(archive)
