"""clang-tidy of a build folder's C++ sources under src/, those of a room together: most of its time goes to the standard
library's headers, which it then reads once for several files. The exit status says whether anything was found.
  tidy.py BUILD_FOLDER JOBS CLANG_TIDY_ARGUMENT...

The folder has compile_commands.json. Where files cannot be compiled as one, as two have a name for different things,
the halves are looked at apart: this takes longer and finds the same."""

import concurrent.futures
import json
import pathlib
import shlex
import subprocess
import sys

LARGEST_GROUP = 8


def commands(build):
    """The compile command of each source of src/; of two for one file, the first."""
    source = pathlib.Path.cwd() / "src"
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if path.suffix == ".cpp" and source in path.parents:
            found.setdefault(path, entry["command"])
    return found


def flags(command, path):
    """A command without the file that is compiled and the one that is made."""
    words = shlex.split(command)
    made = words.index("-o")
    return tuple(w for w in words[1:made] + words[made + 2 :] if w not in ("-c", str(path)))


def groups(found):
    """Files of one folder with the same flags. What highway includes anew per target can only stand alone."""
    rooms = {}
    for path, command in sorted(found.items()):
        alone = path if "foreach_target.h" in path.read_text() else None
        rooms.setdefault((path.parent, flags(command, path), alone), []).append(path)
    for (_, same, _), files in rooms.items():
        for first in range(0, len(files), LARGEST_GROUP):
            yield files[first : first + LARGEST_GROUP], same


def look_at(files, same, folder, arguments):
    """Whether nothing was found in them."""
    name = files[0]
    if len(files) > 1:
        # By this name the analyzer knows that the functions to follow are in what is included.
        name = folder / f"UnifiedSource-{len(files)}-{files[0].parent.name}-{files[0].name}"
        name.write_text("".join(f'#include "{file}"  // NOLINT\n' for file in files))
        same = (*same, "-Wno-shadow")  # a name of another file
    done = subprocess.run(["clang-tidy", "--quiet", *arguments, str(name), "--", *same], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    if len(files) > 1 and "[clang-diagnostic-" in done.stdout:
        half = len(files) // 2
        return all([look_at(part, same, folder, arguments) for part in (files[:half], files[half:])])
    sys.stdout.write(done.stdout)
    return done.returncode == 0


def main():
    build, jobs = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
    folder = build / "together"
    folder.mkdir(exist_ok=True)
    # The most first, so that all jobs end together.
    work = sorted(groups(commands(build)), key=lambda group: sum(file.stat().st_size for file in group[0]), reverse=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        good = list(pool.map(lambda group: look_at(*group, folder, sys.argv[3:]), work))
    return 0 if all(good) else 1


sys.exit(main())
