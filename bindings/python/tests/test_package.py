"""The package as users meet it: types by mypy, docstrings that are true, nothing imported that was not asked for, every
public name documented."""
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

import knng
from support import CI, main

FOLDER = pathlib.Path(knng.__file__).resolve().parent
MODULES = [importlib.import_module(f"knng.{module.name}") for module in pkgutil.iter_modules(knng.__path__)]


class Package(unittest.TestCase):
    def test_types(self):
        mypy = shutil.which("mypy", path="/usr/bin")
        if not mypy:
            self.assertFalse(CI, "no mypy")
            self.skipTest("no mypy")
        right = ("import knng\nimport numpy as np\n"
                 "g = knng.graph(np.zeros((3, 2)), 1, metric='cosine', progress=True)\n"
                 "rows: int = len(g)\nfirst = int(g.indices[0, 0])\n")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "program.py")
            path.write_text(right + "knng.graph(np.zeros((3, 2)), '1')\ng.index\n")
            done = subprocess.run([mypy, "--config-file", str(FOLDER.parent / "pyproject.toml"), "--cache-dir", folder,
                                   str(FOLDER), str(path)], cwd=FOLDER.parent, capture_output=True, text=True)
            found = [line for line in done.stdout.splitlines() if ": error: " in line]
        wrong = [f"program.py:{right.count(chr(10)) + line}" for line in (1, 2)]
        self.assertEqual(len(found), 2, done.stdout + done.stderr)
        for place, line in zip(wrong, found):
            self.assertIn(place, line)

    def test_docstrings(self):
        results = [doctest.testmod(module) for module in [knng, *MODULES]]
        self.assertEqual([result.failed for result in results], [0] * len(results))
        self.assertGreater(sum(result.attempted for result in results), 5)

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


if __name__ == "__main__":
    main()
