"""The wheel and the source archive: what is in them, that the tag is true of the library inside, and that they work
when they are all that is installed."""
import base64
import csv
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

from support import main, need

need("setuptools", "wheel", "pip")
HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = os.environ["KNNG_LIBRARY"]
#: glibc, and the newest symbols of what came with a distribution of it; of PEP 600.
NEWEST = {28: {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)},
          31: {"GLIBCXX": (3, 4, 28), "CXXABI": (1, 3, 12), "GCC": (7, 0, 0)},
          34: {"GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)},
          35: {"GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)},
          39: {"GLIBCXX": (3, 4, 33), "CXXABI": (1, 3, 15), "GCC": (14, 0, 0)}}


def run(*command, **environment):
    """What a command prints, without the library of this build; its text also where it failed."""
    clean = {name: value for name, value in os.environ.items()
             if name not in ("KNNG_LIBRARY", "PYTHONPATH", "LD_LIBRARY_PATH", "KNNG_BACKEND_DIR")}
    done = subprocess.run(command, env={**clean, **environment}, cwd="/", capture_output=True, text=True, timeout=250)
    return done.stdout + ("" if done.returncode == 0 else f"\nexit code {done.returncode}\n{done.stderr}")


class Archives(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.kept.name)
        said = run(sys.executable, str(HERE.parent / "make_wheel.py"), LIBRARY, str(cls.folder))
        cls.source, cls.wheel = map(pathlib.Path, said.splitlines()[-2:])
        cls.site = cls.folder / "site"
        cls.install(cls.wheel, cls.site)

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    @classmethod
    def install(cls, archive, folder):
        said = run(sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation",
                   "--target", str(folder), str(archive), PIP_DISABLE_PIP_VERSION_CHECK="1")
        if "Successfully installed knng" not in said:
            raise AssertionError(said)

    def test_names(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            about = wheel.read(next(name for name in names if name.endswith("/WHEEL"))).decode()
            record = wheel.read(next(name for name in names if name.endswith("/RECORD"))).decode()
            self.assertEqual([name for name in names if ".so" in name], ["knng/lib/libknng.so.0"])
            for name, digest, size in csv.reader(record.splitlines()):
                if not name.endswith("/RECORD"):
                    data = wheel.read(name)
                    want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                    self.assertEqual((digest, size), ("sha256=" + want, str(len(data))), name)
        files = {path.name for path in (HERE.parent / "knng").iterdir() if path.suffix in (".py", ".typed")}
        self.assertEqual({name.split("/")[1] for name in names if name.startswith("knng/")}, files | {"lib"})
        self.assertEqual({row[0] for row in csv.reader(record.splitlines())}, set(names))
        self.assertTrue(any(name.endswith("/LICENSE") for name in names))
        self.assertIn("Root-Is-Purelib: false", about)
        tag, = re.findall("^Tag: (.*)$", about, re.M)
        self.assertEqual(self.wheel.name, f"knng-0.9.0-{tag}.whl")
        self.assertRegex(tag, "^py3-none-manylinux_2_[0-9]+_(x86_64|aarch64)$")

    def test_the_tag_is_true(self):
        library = self.site / "knng/lib/libknng.so.0"
        glibc = int(re.search("manylinux_2_([0-9]+)_", self.wheel.name).group(1))
        newest = {}
        for name, version in re.findall(r"\b(GLIBC|GLIBCXX|CXXABI|GCC)_([0-9.]+)", run("readelf", "-W", "-V", str(library))):
            newest[name] = max(newest.get(name, ()), tuple(map(int, version.split("."))))
        self.assertLessEqual({"GLIBC", "GLIBCXX", "CXXABI", "GCC"}, set(newest))  # it asks for some of each
        there = {number: {"GLIBC": (2, number), **symbols} for number, symbols in NEWEST.items()}
        for name, version in newest.items():
            self.assertLessEqual(version, there[glibc][name], name)
        older = [number for number in there if number < glibc]
        self.assertTrue(not older or any(version > there[max(older)][name] for name, version in newest.items()),
                        "an older tag would be true")
        dynamic = run("readelf", "-W", "-d", str(library))
        self.assertLessEqual(set(re.findall(r"NEEDED.*\[(.*)\]", dynamic)),
                             {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "ld-linux-x86-64.so.2"})
        self.assertNotRegex(dynamic, "RPATH|RUNPATH|TEXTREL")
        self.assertNotIn(".debug_info", run("readelf", "-W", "-S", str(library)))

    def test_a_library_that_needs_more_is_refused(self):
        fake = self.folder / "libmore.so"
        run("cc", "-shared", "-o", str(fake), "-Wl,--no-as-needed", "-lz", "-x", "c", "/dev/null")
        if not fake.exists():
            self.skipTest("no compiler or no zlib to link with")
        said = run(sys.executable, str(HERE.parent / "make_wheel.py"), str(fake), str(self.folder / "none"))
        self.assertIn("needs libz.so.1, which no manylinux has", said)

    def test_installed(self):
        said = run(sys.executable, str(self.program()), PYTHONPATH=str(self.site))
        self.assertEqual(said, "['g.knng', 'lists.npz'] False\n")

    def program(self):
        folder = self.folder / "program"
        folder.mkdir()
        program = self.folder / "program.py"
        program.write_text(f"""
import os, knng, numpy as np
from knng import _library
os.chdir({str(folder)!r})
assert _library.lib._name == os.path.dirname(knng.__file__) + "/lib/libknng.so.0", _library.lib._name
g = knng.graph(np.random.default_rng(1).random((500, 8)), 5)
g.save("g.knng")
assert knng.load("g.knng").equals(g)
np.savez("lists.npz", indices=g.indices, distances=g.distances)
for use in [lambda: g.save("g.npz"), lambda: knng.load("lists.npz")]:  # what NumPy's arrays do not have would be lost
    try:
        use()
        assert False, "there is no formats library"
    except knng.UnsupportedError as error:
        assert "libknng_formats.so" in str(error), error
print(sorted(os.listdir(".")), "formats" in open("/proc/self/maps").read())
""")
        return program

    def test_the_cuda_library_is_found_where_it_is_installed(self):
        fake = os.environ.get("KNNG_TEST_CUDA_LIBRARY")
        if not fake:
            self.skipTest("no simulated devices")
        (self.folder / "usr/lib/knng0").mkdir(parents=True)
        os.symlink(fake, self.folder / "usr/lib/knng0/libknng_cuda.so")
        program = "import knng; print([d.usable for d in knng.devices()])"
        self.assertEqual(run(sys.executable, "-c", program, PYTHONPATH=str(self.site), KNNG_FAKE_DEVICES="2",
                             LD_LIBRARY_PATH=str(self.folder / "usr/lib")), "[True, True, True]\n")

    def test_source_archive(self):
        with tarfile.open(self.source) as archive:
            names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
        self.assertLessEqual({"LICENSE", "README.md", "pyproject.toml", "PKG-INFO", "knng/__init__.py",
                              "knng/py.typed"}, names)
        self.assertFalse([name for name in names if ".so" in name])
        site = self.folder / "from source"
        self.install(self.source, site)
        program = "import knng; print(knng.__version__, knng.library_version)"
        self.assertEqual(run(sys.executable, "-c", program, PYTHONPATH=str(site), KNNG_LIBRARY=LIBRARY),
                         "0.9.0 0.9.0\n")


if __name__ == "__main__":
    main()
