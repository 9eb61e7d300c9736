"""The programs of the guide, run as they stand; and umap and pynndescent, which one of them loads: compiled once, in
one process, as that takes longer than all tests of the package."""
import os
import pathlib
import re
import tempfile
import unittest
import warnings

import numpy as np

import knng
from support import main, nearest, need, points

ROOT = pathlib.Path(__file__).resolve().parents[3]
GUIDE, README = ROOT / "docs/guide/python.md", ROOT / "README.md"
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    umap, pynndescent, *_ = need("umap", "pynndescent", "igraph", "matplotlib", "networkx", "pandas", "sklearn", "tqdm")
X = points(120, 5, np.float64)


class Umap(unittest.TestCase):
    def test_lists(self):
        for dtype in [np.float32, np.float64]:
            x = X.astype(dtype)
            ids, distances = knng.graph(x, 6).umap()
            first = knng.graph(x, 6, self="first")
            np.testing.assert_array_equal(ids, first.indices)
            np.testing.assert_array_equal(distances, first.distances)
            for array in [ids, distances, *first.umap()]:
                self.assertTrue(array.flags.writeable and array.flags.owndata and array.flags.c_contiguous)

    def test_an_approximate_search_finds_nothing_nearer(self):
        x = points(1500, 12)
        ids, distances = pynndescent.NNDescent(x, n_neighbors=11, random_state=1).neighbor_graph
        g = knng.graph(x, 10, self="first")
        np.testing.assert_array_less(g.distances, distances * (1 + 1e-5) + 1e-6)
        found = [len({*a} & {*b}) for a, b in zip(ids, g.indices)]
        self.assertGreater(sum(found), 0.97 * ids.size)

    def test_umap_learn_takes_them(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = np.concatenate([points(150, 5), points(150, 5, seed=2) + 30]).astype(np.float32)
            lists = knng.graph(x, 9).umap()
            # umap 0.5.3 wants an index beside the lists, though it has no use for it before transform().
            index = pynndescent.NNDescent(x[:20], n_neighbors=2)
            made = umap.UMAP(n_neighbors=10, precomputed_knn=(*lists, index), random_state=1, n_epochs=5,
                             force_approximation_algorithm=True).fit(x)
        self.assertEqual(made.embedding_.shape, (300, 2))
        rows, columns = made.graph_.nonzero()
        ours = knng.Graph.from_arrays(*lists).to_scipy("union")
        self.assertLessEqual({*zip(rows, columns)}, {*zip(*ours.nonzero())})
        self.assertGreater(len(rows), 0.9 * ours.nnz)


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

    def test_the_packages_readme(self):
        program, = re.findall(r"^```python\n(.*?)^```", (ROOT / "bindings/python/README.md").read_text(), re.M | re.S)
        names = {}
        exec(compile(program, "README.md", "exec"), names)
        self.assertEqual(names["w"].shape, (5000, 5000))

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
