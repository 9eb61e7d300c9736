"""The programs of docs/guide/interrupts.md stop on Ctrl-C, every time, at whatever moment it comes.
    interrupts.py LANGUAGE LIBRARY_FOLDER INCLUDE_FOLDER
Takes the language's programs from the page as they stand there. 77: the language is not installed."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/guide/interrupts.md"
# The files that a section's programs are, commands that build them, and the one that runs them. @ stands for the folders
# of the library and its headers.
LINKED = ["-I@include", "-L@library", "-lknng"]
LANGUAGES = {
    "C": (["main.c"], [["cc", "-std=c99", "main.c", "-o", "main", *LINKED]], ["./main"]),
    "Fortran": (["main.f90"], [["gfortran", "-I@modules", "main.f90", "-o", "main", "-L@library", "-lknng_fortran",
                               *LINKED]], ["./main"]),
    "Python": (["main.py"], [], ["/usr/bin/python3", "main.py"]),
    "R": (["glue.c", "main.R"], [["R", "CMD", "SHLIB", "-o", "neighbours.so", "glue.c"]],
          ["Rscript", "--vanilla", "main.R"]),
    "Julia": (["main.jl"], [], ["julia", "--startup-file=no", "main.jl"]),
    "Rust": (["main.rs"], [["rustc", "-O", "-L@library", "main.rs"]], ["./main"]),
    "Go": (["main.go"], [["go", "build", "main.go"]], ["./main"]),
}
# After the program has said that it builds. In a small run (harness/small_run.h) three of them.
MOMENTS = [0, 0.03, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2]
if os.environ.get("KNNG_TEST_SMALL", "")[:1] not in ("", "0"):
    MOMENTS = MOMENTS[:6:2]
# Seconds on a busy machine. The whole graph takes several times as long.
LIMIT = 10
# And at the best of the moments, when nothing else keeps the machine from it.
SOON = 1


def programs(language):
    section = re.search(rf"^## {language}\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S)
    return re.findall(r"^```\w+\n(.*?)^```", section.group(1), re.M | re.S)


def interrupted(command, environment, moment):
    """What the program says, and how many seconds after the signal it has ended."""
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as program:
        try:
            said = program.stdout.readline()
            time.sleep(moment)
            sent = time.monotonic()
            program.send_signal(signal.SIGINT)
            said += program.communicate(timeout=LIMIT)[0]
            return said, time.monotonic() - sent
        except subprocess.TimeoutExpired:
            sys.exit(f"{command[-1]}: interrupted after {moment} s, and still at work {LIMIT} s later")
        finally:
            program.kill()


def main(language, library, include):
    files, build, run = LANGUAGES[language]
    # The Fortran module as the build made it.
    modules = pathlib.Path(library).parent / "bindings/fortran/modules"
    if language == "Fortran" and not modules.exists():
        print("skipped: the Fortran module is not built")
        return 77
    folders = {"@library": library, "@include": include, "@modules": str(modules)}
    for tool in {command[0] for command in [*build, run]} - {"./main"}:
        if not shutil.which(tool):
            print(f"skipped: {tool} is needed")
            return 77
    # On two threads of the CPU the graph takes long on any machine.
    environment = dict(os.environ, LD_LIBRARY_PATH=library, KNNG_DEVICE="cpu", KNNG_THREADS="2",
                       PKG_CFLAGS=f"-I{include}", PKG_LIBS=f"-L{library} -lknng", PKG_CONFIG_PATH=".")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pathlib.Path("knng.pc").write_text(
            f"Name: knng\nDescription: as built\nVersion: 0\nCflags: -I{include}\nLibs: -L{library} -lknng\n")
        texts = programs(language)
        if len(texts) != len(files):
            sys.exit(f"{PAGE}: {len(texts)} programs in {language} instead of {len(files)}")
        for file, text in zip(files, texts):
            pathlib.Path(file).write_text(text)
        for command in build:
            for sign, path in folders.items():
                command = [word.replace(sign, path) for word in command]
            subprocess.run(command, env=environment, check=True)
        least = LIMIT
        for moment in MOMENTS:
            said, seconds = interrupted(run, environment, moment)
            least = min(least, seconds)
            lines = said.split()
            if lines != ["building", "stopped"]:
                sys.exit(f"{language}: interrupted after {moment} s the program says {lines}")
            print(f"{language}: interrupted after {moment} s, ended {seconds:.2f} s later")
        if least > SOON:
            sys.exit(f"{language}: ended {least:.2f} s after Ctrl-C at best, and not within {SOON} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
