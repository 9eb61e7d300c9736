"""The package as users meet it: types by mypy, docstrings that are true, nothing imported that was not asked for, every
public name documented; the guide's programs, run as they stand."""
import doctest
import importlib
import inspect
import os
import pathlib
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import knng
from support import CI, main, nearest, points

FOLDER = pathlib.Path(knng.__file__).resolve().parent
GUIDE = FOLDER.parents[2] / "docs/guide/python.md"
README = FOLDER.parents[2] / "README.md"
MODULES = [importlib.import_module(f"knng.{module.name}") for module in pkgutil.iter_modules(knng.__path__)]


class Package(unittest.TestCase):
    def test_types(self):
        mypy = shutil.which("mypy", path="/usr/bin")
        if not mypy:
            self.assertFalse(CI, "no mypy")
            self.skipTest("no mypy")
        with tempfile.TemporaryDirectory() as folder:
            for file, wrong in [("right.py", 0), ("wrong.py", 2)]:
                text = ("import knng\nimport numpy as np\n"
                        "g = knng.graph(np.zeros((3, 2)), 1, metric='cosine', progress=True)\n"
                        "rows: int = len(g)\nfirst = int(g.indices[0, 0])\n")
                if wrong:
                    text += "knng.graph(np.zeros((3, 2)), '1')\ng.index\n"
                path = pathlib.Path(folder, file)
                path.write_text(text)
                done = subprocess.run([mypy, "--config-file", str(FOLDER.parent / "pyproject.toml"),
                                       "--cache-dir", folder, str(FOLDER), str(path)],
                                      cwd=FOLDER.parent, capture_output=True, text=True)
                found = [line for line in done.stdout.splitlines() if ": error: " in line]
                self.assertEqual(len(found), wrong, done.stdout + done.stderr)

    def test_docstrings(self):
        ran = sum(doctest.testmod(module).attempted for module in [knng, *MODULES])
        self.assertGreater(ran, 5)
        for module in [knng, *MODULES]:
            self.assertEqual(doctest.testmod(module).failed, 0)

    def test_everything_public_is_documented(self):
        for name in knng.__all__:
            thing = getattr(knng, name)
            if isinstance(thing, str) or name == "Progress":
                continue
            self.assertTrue(thing.__doc__ and thing.__doc__.strip(), name)
            if inspect.isclass(thing):
                for member, value in vars(thing).items():
                    if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                        self.assertTrue(value.__doc__, f"{name}.{member}")

    def test_nothing_else_is_imported(self):
        program = ("import sys, knng\n"
                   "print(*{'scipy', 'sklearn', 'pandas', 'anndata', 'tqdm', 'igraph', 'networkx'} & set(sys.modules))")
        self.assertEqual(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                                        check=True).stdout, "\n")
        with self.assertRaisesRegex(AttributeError, "knng.*graphs"):
            knng.graphs

    def test_version(self):
        self.assertEqual(knng.__version__, knng.library_version)
        header = (FOLDER.parents[2] / "CMakeLists.txt").read_text()
        self.assertEqual(re.search(r"VERSION ([0-9.]+)", header[header.index("project("):]).group(1), knng.__version__)

    def test_matrix_tiles_are_asked_for_where_the_user_says_so(self):
        program = ("import knng, numpy as np\nfrom knng import _dataset\nasked = []\n"
                   "_dataset.use_matrix_tiles = lambda: asked.append(1)\nx = np.eye(5)\n"
                   "knng.graph(x, 2); knng.graph(x, 2)\nprint(len(asked))")
        for value, times in [(None, "0\n"), ("0", "0\n"), ("1", "1\n")]:
            environment = {name: text for name, text in os.environ.items() if name != "KNNG_MATRIX_TILES"}
            if value:
                environment["KNNG_MATRIX_TILES"] = value
            self.assertEqual(subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True,
                                            text=True, check=True).stdout, times)
        self.assertIsInstance(knng.use_matrix_tiles(), bool)


class Guide(unittest.TestCase):
    def test_its_programs_run(self):
        programs = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.M | re.S)
        self.assertGreater(len(programs), 8)
        with tempfile.TemporaryDirectory() as folder:
            before = os.getcwd()
            os.chdir(folder)
            try:
                np.save("points.npy", points(500, 10))
                names = {}
                for program in programs:  # one after the other, in one session
                    exec(compile(program, str(GUIDE), "exec"), names)
                self.assertTrue(os.path.exists("neighbours.png"))
            finally:
                os.chdir(before)

    def test_the_readmes_lines(self):
        """They have the neighbours of every row, and the nearest of them first."""
        program, = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.M | re.S)
        names = {"x": points(300, 8)}
        exec(compile(program, str(README), "exec"), names)
        ids, distances = nearest(names["x"], names["x"], 10, True)
        np.testing.assert_array_equal(names["ids"], ids)
        np.testing.assert_allclose(names["distances"], distances, rtol=1e-6)
        self.assertEqual(names["w"].shape, (300, 300))


if __name__ == "__main__":
    main()
