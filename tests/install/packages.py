"""Makes the Debian packages of a build by cpack and opens them: names, fields, files, what they depend on beside what
their binaries say that they need, and what lintian says.
    packages.py BUILD_FOLDER FOLDER SOVERSION VERSION        FOLDER: where the packages stay
Exits with 77, after a line that says why, where they cannot be made; where KNNG_CI=true that is a failure."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

BUILD, FOLDER = (pathlib.Path(path) for path in sys.argv[1:3])
SOVERSION, VERSION = sys.argv[3:5]
LIBRARY, CUDA = f"libknng{SOVERSION}", f"libknng-cuda{SOVERSION}"
#: What a package needs besides the owners of the libraries that its binaries name.
STATED = {LIBRARY: set(), "libknng-formats": {LIBRARY}, "libknng-hdf5": {LIBRARY}, "libknng-dev": {LIBRARY},
          CUDA: {LIBRARY, "cuBLAS"}, "knng": {LIBRARY}, "libknng-fortran-dev": {"libknng-dev", "gfortran"}, "python3-knng": {LIBRARY, "python3", "python3-numpy"},
          "r-cran-knng": {LIBRARY, "r-base-core", "r-api-4.0", "r-cran-matrix"}}
#: Files that say what a package is for.
HOLDS = {LIBRARY: rf"/lib/[^/]+/libknng\.so\.{SOVERSION}", "libknng-formats": rf"/lib/[^/]+/knng{SOVERSION}/libknng_formats\.so",
         "libknng-hdf5": rf"/lib/[^/]+/knng{SOVERSION}/libknng_hdf5\.so",
         "libknng-dev": r"/lib/[^/]+/libknng\.so", CUDA: rf"/lib/[^/]+/knng{SOVERSION}/libknng_cuda\.so", "knng": r"/bin/knng",
         "libknng-fortran-dev": r"/lib/[^/]+/fortran/gfortran-mod-[0-9]+/knng\.mod",
         "python3-knng": r"/lib/python3/dist-packages/knng/__init__\.py",
         "r-cran-knng": r"/lib/R/site-library/knng/libs/knng\.so"}
#: What lintian may say, and why.
ALLOWED = {"initial-upload-closes-no-bugs": "no package of Debian's archive, so there is no bug to close",
           "maintscript-calls-ldconfig": "cpack writes that script, and there is a trigger as well",
           "bogus-mail-host": "the project has no address of its own"}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def unavailable(reason):
    print("skipped:", reason)
    sys.exit(1 if os.environ.get("KNNG_CI") == "true" else 77)


def owner(soname):
    """The package that a shared library of the system comes from."""
    path = re.search(rf"^\s*{re.escape(soname)} \(.*x86-64.*\) => (\S+)$|^\s*{re.escape(soname)} \(.*\) => (\S+)$",
                     run("/sbin/ldconfig", "-p"), re.M)
    place = os.path.realpath(path.group(1) or path.group(2))
    for name in (place, place.removeprefix("/usr")):  # the one that the package knows
        found = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    raise AssertionError(f"{soname} ({place}) belongs to no package")


class Package:
    def __init__(self, file):
        self.name = file.name.split("_")[0]
        text = run("dpkg-deb", "-f", str(file))
        self.fields = dict(re.findall(r"^(\S+): (.*)$", text, re.M))
        self.root = FOLDER / "opened" / self.name
        self.root.mkdir(parents=True)
        run("dpkg-deb", "-x", str(file), str(self.root))
        self.files = {"/" + str(path.relative_to(self.root)) for path in self.root.rglob("*")
                      if path.is_symlink() or not path.is_dir()}

    def depends(self):
        """The first name of each alternative; cuBLAS has several."""
        names = {part.split("|")[0].split("(")[0].strip() for part in self.fields["Depends"].split(",")}
        return {"cuBLAS" if name.startswith("libcublas") else name for name in names}

    def dynamic(self):
        """readelf -d of each binary."""
        for name in sorted(self.files):
            path = self.root / name[1:]
            if not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
                yield name, run("readelf", "-W", "-d", str(path))


class Packages(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        made = subprocess.run(["cpack", "--config", str(BUILD / "CPackConfig.cmake"), "-B", str(FOLDER)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if made.returncode:
            raise AssertionError(made.stdout)
        shutil.rmtree(FOLDER / "_CPack_Packages")
        cls.files = sorted(FOLDER.glob("*.deb"))
        cls.packages = {package.name: package for package in map(Package, cls.files)}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(FOLDER / "opened", ignore_errors=True)

    def test_names(self):
        wanted = {LIBRARY, "libknng-dev", "python3-knng"}
        wanted |= {"libknng-formats"} if (BUILD / f"lib/knng{SOVERSION}/libknng_formats.so").exists() else set()
        wanted |= {"libknng-hdf5"} if (BUILD / f"lib/knng{SOVERSION}/libknng_hdf5.so").exists() else set()
        wanted |= {"knng"} if (BUILD / "bin/knng").exists() else set()
        wanted |= {"libknng-fortran-dev"} if (BUILD / "lib/libknng_fortran.a").exists() else set()
        wanted |= {"r-cran-knng"} if shutil.which("R") else set()
        wanted |= {CUDA} if CUDA in self.packages or (BUILD / f"lib/knng{SOVERSION}/libknng_cuda.so").exists() else set()
        if os.environ.get("KNNG_CI") == "true":
            wanted |= set(STATED) - {CUDA}
        self.assertEqual(set(self.packages), wanted)

    def test_fields(self):
        machine = run("dpkg", "--print-architecture").strip()
        for name, package in self.packages.items():
            fields = package.fields
            self.assertEqual(fields["Version"], f"{VERSION}-1", name)
            self.assertEqual(fields["Source"], "libknng", name)
            self.assertEqual(fields["Architecture"], "all" if name == "python3-knng" else machine, name)
            self.assertRegex(fields["Description"], "^exact k-nearest-neighbour graphs - ", name)
            # Those of ours that it needs are of this version.
            ours = re.findall(r"\b(libknng[a-z0-9-]*) \(= ([^)]*)\)", fields["Depends"])
            self.assertEqual({own for own, _ in ours}, STATED[name] & set(STATED), name)
            self.assertLessEqual({version for _, version in ours}, {f"{VERSION}-1"}, name)
        if CUDA in self.packages:
            # dpkg-shlibdeps finds none where the toolkit is no package.
            fields = self.packages[CUDA].fields
            self.assertRegex(fields["Depends"], r"\blibcublas(\d+) \| libcublas-\1-\d+\b")
            self.assertTrue(fields["Section"].startswith("contrib/"))

    def test_depends_on_what_its_binaries_need(self):
        for name, package in self.packages.items():
            needed = set(STATED[name])
            for file, dynamic in package.dynamic():
                self.assertNotRegex(dynamic, "RPATH|RUNPATH|TEXTREL", file)
                for soname in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
                    if soname == f"libknng.so.{SOVERSION}":
                        self.assertIn(LIBRARY, needed, file)
                    elif soname.startswith("libcublas"):
                        self.assertIn(soname.rsplit(".", 1)[1], re.findall(r"libcublas(\d+)", package.fields["Depends"]))
                    else:
                        needed.add(owner(soname))
            self.assertEqual(package.depends(), needed, name)

    def test_files(self):
        placed = {}
        for name, package in self.packages.items():
            self.assertTrue(any(re.fullmatch("/usr" + HOLDS[name], file) for file in package.files), name)
            for file in package.files:
                self.assertNotIn(file, placed, f"{name} and {placed.get(file)}")
                placed[file] = name
            for file in ("copyright", "changelog.gz", "changelog.Debian.gz"):
                self.assertIn(f"/usr/share/doc/{name}/{file}", package.files)
        self.assertIn("/usr/share/man/man1/knng.1.gz", self.packages["knng"].files)
        # What an installation has is in one of them, but for its documentation: packages have their own texts.
        stage = FOLDER / "stage"
        subprocess.run(["cmake", "--install", str(BUILD)], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "DESTDIR": str(stage)})
        installed = {"/" + str(path.relative_to(stage)) for path in stage.rglob("*") if path.is_symlink() or not path.is_dir()}
        shutil.rmtree(stage)
        installed = {file for file in installed if not file.startswith("/usr/share/doc/")}
        self.assertEqual({file for file in installed - set(placed) if file + ".gz" not in placed}, set())

    def test_no_path_of_the_build(self):
        for package in self.packages.values():
            for file in package.files:
                path = package.root / file[1:]
                if not path.is_symlink() and not file.endswith((".so", f".so.{VERSION}", ".a", ".gz", "/bin/knng")):
                    self.assertNotIn(str(BUILD).encode(), path.read_bytes(), file)

    def test_vignette(self):
        """R's page is there, and loads nothing from elsewhere."""
        if "r-cran-knng" not in self.packages:
            self.skipTest("no R")
        page = self.packages["r-cran-knng"].root / "usr/lib/R/site-library/knng/doc/knng.html"
        if not page.exists():
            self.assertNotEqual(os.environ.get("KNNG_CI"), "true", "no vignette was made")
            self.skipTest("R has no knitr or no markdown")
        text = page.read_text()
        self.assertIn('<img src="data:image/png;base64', text)
        self.assertNotRegex(text, r"""<script|<link|(src|href)=["'](https?:)?//""")

    def test_shlibs(self):
        """What packages of programs that link with the library will depend on."""
        control = FOLDER / "control"
        run("dpkg-deb", "-e", str(next(file for file in self.files if file.name.startswith(LIBRARY + "_"))), str(control))
        self.assertEqual((control / "shlibs").read_text(), f"libknng {SOVERSION} {LIBRARY} (>= {VERSION})\n")
        self.assertEqual((control / "triggers").read_text(), "activate-noawait ldconfig\n")

    def test_lintian(self):
        if not shutil.which("lintian"):
            self.assertNotEqual(os.environ.get("KNNG_CI"), "true", "lintian is not installed")
            self.skipTest("lintian is not installed")
        said = subprocess.run(["lintian", "--allow-root", "--tag-display-limit", "0", *map(str, self.files)],
                              capture_output=True, text=True).stdout
        tags = [line for line in said.splitlines() if re.match("[EW]: ", line)]
        self.assertEqual([line for line in tags if line.split()[2] not in ALLOWED], [])
        self.assertTrue(tags, "lintian says nothing at all, not even what is allowed")


if __name__ == "__main__":
    if not (BUILD / "CPackConfig.cmake").exists():
        unavailable("packages are made of builds for /usr (cmake -C src/cmake/release.cmake, or -DCMAKE_INSTALL_PREFIX=/usr)")
    for program in ("cpack", "dpkg-deb", "dpkg-shlibdeps", "readelf", "file"):
        if not shutil.which(program):
            unavailable(f"there is no {program}")
    unittest.main(argv=sys.argv[:1], verbosity=2)
