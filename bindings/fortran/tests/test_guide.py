"""The programs of docs/guide/fortran.md do what the page says, with the library as it is installed.
    test_guide.py BUILD_FOLDER FORTRAN_COMPILER CMAKE"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/guide/fortran.md"
LIMIT = 60  # seconds


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT, **options)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: ended with {done.returncode}\n{done.stdout}")
    return done.stdout


def interrupted(program, environment):
    """What it says when Ctrl-C comes after its first line."""
    with subprocess.Popen([program], env=environment, stdout=subprocess.PIPE, text=True) as running:
        try:
            said = running.stdout.readline()
            running.send_signal(signal.SIGINT)
            return said + running.communicate(timeout=LIMIT)[0]
        finally:
            running.kill()


def without_library(program, environment):
    """The loader's words on the page are those that it has for a program without the library."""
    if "libknng.so" in run("/sbin/ldconfig", "-p"):
        return  # it would find one
    done = subprocess.run([program], env={**environment, "LD_LIBRARY_PATH": "", "LC_ALL": "C"}, capture_output=True, text=True)
    words = "error while loading shared libraries: libknng.so.0: cannot open shared object file"
    if not done.returncode or words not in done.stderr or words not in " ".join(PAGE.read_text().split()):
        sys.exit(f"without the library {program} says {done.stderr}, or the page something else")


def drawn(file):
    """A picture of 2,000 distances, the smallest first: from left to right, and never downwards."""
    line = next(element for element in ElementTree.parse(file).iter() if element.tag.endswith("polyline"))
    x, y = zip(*(map(float, point.split(",")) for point in re.sub(r",\s+", ",", line.get("points")).split()))
    if len(x) != 2000 or list(x) != sorted(x) or list(y) != sorted(y, reverse=True) or not y[0] > y[-1] == 0:
        sys.exit(f"{file} does not show the distances in order")


def told():
    """The page says what no compiler does: that points are appended, how settings are written, what is no neighbour."""
    words = " ".join(PAGE.read_text().split())
    for wanted in ("`add`, `borrow` and `add_file` append", "`ieee_value(1.0, ieee_positive_inf)`",
                   "separated by blanks, with no blank around `=`"):
        if wanted not in words:
            sys.exit(f"{PAGE} does not say: {wanted}")


def refused(compiler, rows, k, flags, environment):
    """The compiler, not a run, refuses a call with these arguments."""
    pathlib.Path("wrong.f90").write_text("program wrong\n  use knng\n  implicit none\n  type(knng_graph) :: graph\n"
                                         f"  call graph%build({rows}, {k})\nend program\n")
    done = subprocess.run([compiler, "wrong.f90", *flags, "-o", "wrong"], env=environment, capture_output=True, text=True)
    wanted = "matching specific binding for the call to the GENERIC 'build'"
    if not done.returncode or wanted not in " ".join(done.stderr.replace("\u2018", "'").replace("\u2019", "'").split()):
        sys.exit(f"build({rows}, {k}) compiles, or is refused with other words than the page's:\n{done.stderr}")


def main(build, compiler, cmake):
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    programs = {re.search(r"^program (\w+)", text, re.M).group(1): (text, blocks[place + 1:place + 2])
                for place, (kind, text) in enumerate(blocks) if kind == "fortran"}
    if sorted(programs) != ["curve", "errors", "first", "interruptible", "queries"]:
        sys.exit(f"{PAGE} has the programs {sorted(programs)}: the test must follow")
    told()
    with tempfile.TemporaryDirectory() as name:
        stage = pathlib.Path(name) / "stage"
        run(cmake, "--install", build, "--prefix", "/opt/knng", env=dict(os.environ, DESTDIR=str(stage)))
        package = next(stage.rglob("knng-fortran.pc")).parent
        environment = dict(os.environ, PKG_CONFIG_LIBDIR=str(package), PKG_CONFIG_SYSROOT_DIR=str(stage),
                           LD_LIBRARY_PATH=str(package.parent), KNNG_DEVICE="cpu", PYTHONUNBUFFERED="1",
                           GFORTRAN_UNBUFFERED_ALL="1")
        environment.pop("KNNG_BACKEND_DIR", None)
        flags = run("pkg-config", "--cflags", "--libs", "knng-fortran", env=environment).split()
        module = next(stage.rglob("knng.mod"))
        number = subprocess.run(["gzip", "-dc", str(module)], stdout=subprocess.PIPE).stdout.split(b"'", 2)[1].decode()
        if module.parent.name != f"gfortran-mod-{number}":
            sys.exit(f"module files of version {number} are in {module.parent.name}")
        os.chdir(name)
        for program, (text, after) in programs.items():
            pathlib.Path(f"{program}.f90").write_text(text)
            run(compiler, "-std=f2018", "-Wall", f"{program}.f90", *flags, "-o", program, env=environment)
            if program == "first":  # which has no integer that the module takes in one size only
                run(compiler, "-std=f2018", "-fdefault-integer-8", f"{program}.f90", *flags, "-o", "wide", env=environment)
                if len(run("./wide", env=environment).split()) != 20:
                    sys.exit(f"{program} with integers of 64 bits does not print its lists")
            if program == "interruptible":
                said = interrupted(f"./{program}", environment)
                if not re.search(r"^\w+: +\d+ %\n(.*\n)*stopped\n$", said):
                    sys.exit(f"{program}, interrupted, says {said}")
                continue
            said = run(f"./{program}", env=environment)
            if after and after[0][0] == "text" and said.split() != after[0][1].split():
                sys.exit(f"{program} says\n{said}instead of\n{after[0][1]}")
        drawn(pathlib.Path("curve.svg"))
        without_library("./first", environment)
        if not pathlib.Path("edges.txt").read_text():
            sys.exit("curve does not write its edges")
        for rows, k in [("reshape([(1.0, 2.0), (3.0, 4.0)], [1, 2])", "1"), ("reshape(['a', 'b'], [1, 2])", "1"),
                        ("[1.0, 2.0]", "1"), ("reshape([1.0, 2.0], [1, 2])", "1.0")]:
            refused(compiler, rows, k, flags, environment)
        # The source for other compilers, and the page's line that builds the module alone by one.
        if not (stage / "opt/knng/share/knng/fortran/knng.f90").exists():
            sys.exit("the source of the module is not installed")
        line = re.search(r"`FC=flang cmake -S bindings/fortran -B build-flang`", PAGE.read_text())
        if not line:
            sys.exit(f"{PAGE} does not say how the module is built alone: the test must follow")
        source = PAGE.parents[2] / "bindings/fortran"
        run(cmake, "-S", str(source), "-B", "alone", f"-DCMAKE_PREFIX_PATH={stage}/opt/knng",
            env=dict(environment, FC=compiler))
        run(cmake, "--build", "alone")
        run(compiler, "first.f90", f"-I{next(pathlib.Path('alone').rglob('knng.mod')).parent}",
            str(next(pathlib.Path("alone").rglob("libknng_fortran.a"))), *(flag for flag in flags if flag != "-lknng_fortran"),
            "-o", "first_alone", env=environment)
        if len(run("./first_alone", env=environment).split()) != 20:
            sys.exit("first, with the module that was built alone, does not print its lists")
        # CMake finds the module as it does the library.
        consumer = pathlib.Path("consumer")
        consumer.mkdir()
        consumer.joinpath("CMakeLists.txt").write_text(next(text for kind, text in blocks if kind == "cmake"))
        consumer.joinpath("first.f90").write_text(programs["first"][0])
        run(cmake, "-S", "consumer", "-B", "made", f"-DCMAKE_PREFIX_PATH={stage}/opt/knng",
            f"-DCMAKE_Fortran_COMPILER={compiler}")
        run(cmake, "--build", "made")
        if len(run("made/first").split()) != 20:
            sys.exit("first, built by CMake, does not print its lists")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
