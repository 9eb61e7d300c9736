"""What the result becomes: SciPy, igraph, NetworkX, pandas; and lists of other packages taken in."""
import unittest

import numpy as np

import knng
from support import main, need, points

scipy_sparse, csgraph, igraph, networkx, pandas = need("scipy.sparse", "scipy.sparse.csgraph", "igraph", "networkx",
                                                       "pandas")
X = points(120, 5, np.float64)


class Forms(unittest.TestCase):
    def setUp(self):
        self.g = knng.graph(X, 6)
        self.dense = np.zeros((120, 120))
        np.put_along_axis(self.dense, self.g.indices, self.g.distances, axis=1)

    def test_directed(self):
        made = self.g.to_scipy()
        np.testing.assert_array_equal(made.toarray(), self.dense)
        self.assertEqual((made.indices.dtype, made.indptr.dtype), (np.int32, np.int32))
        np.testing.assert_array_equal(made.indices.reshape(120, 6), self.g.indices)
        made.check_format()
        query = knng.graph(X, 3, query=X[:7]).to_scipy()
        self.assertEqual((query.shape, query.nnz), ((7, 120), 21))

    def test_union_and_mutual(self):
        either = np.maximum(self.dense, self.dense.T)
        both = np.minimum(self.dense, self.dense.T)
        np.testing.assert_array_equal(self.g.to_scipy("union").toarray(), either)
        np.testing.assert_array_equal(self.g.to_scipy("mutual:min").toarray(), both)
        made = self.g.sparse("union")
        np.testing.assert_array_equal(scipy_sparse.coo_matrix((made.value, (made.row, made.col))).toarray(), either)
        np.testing.assert_array_equal(scipy_sparse.csr_matrix((made.value, made.col, made.indptr)).toarray(), either)
        self.assertFalse(any(a.flags.writeable for a in [made.value, made.row, made.col, made.indptr]))
        self.assertEqual((made.shape, made.nnz), ((120, 120), np.count_nonzero(either)))
        self.assertIn("120 x 120", repr(made))
        self.assertTrue(made.to_scipy().has_canonical_format)

    def test_shared_neighbours(self):
        sets = [{i, *row} for i, row in enumerate(self.g.indices.tolist())]
        want = [[len(a & b) / len(a | b) if i != j else 0 for j, b in enumerate(sets)] for i, a in enumerate(sets)]
        np.testing.assert_allclose(self.g.to_scipy("snn:jaccard").toarray(), want)
        with self.assertRaises(MemoryError):
            self.g.to_scipy("snn", max_bytes=1)
        made = self.g.to_scipy()
        size = made.indptr.nbytes + made.indices.nbytes + made.data.nbytes
        self.assertEqual(self.g.to_scipy(max_bytes=size).nnz, made.nnz)
        with self.assertRaises(knng.BudgetError) as caught:
            self.g.to_scipy(max_bytes=size - 1)
        self.assertEqual((caught.exception.argument, caught.exception.limit), ("max_bytes", size))
        with self.assertRaises(knng.RangeError):
            self.g.to_scipy(max_bytes=-1)
        with self.assertRaises(TypeError):
            self.g.to_scipy(unknown=1)

    def test_zeros_are_entries(self):
        made = knng.graph(np.zeros((6, 2)), 2)
        self.assertEqual(made.to_scipy().nnz, 12)
        self.assertEqual(made.to_scipy("union").nnz, made.sparse("union").nnz)
        self.assertEqual(made.to_igraph().ecount() * 2, made.sparse("union").nnz)

    def test_nothing_mutual(self):
        made = knng.Graph.from_arrays([[1], [2], [0]]).sparse("mutual")
        self.assertEqual((made.nnz, made.to_scipy().nnz, made.row.shape), (0, 0, (0,)))

    def test_igraph_and_networkx(self):
        components = csgraph.connected_components(self.g.to_scipy(), directed=False)[0]
        self.assertEqual(self.g.rows("component").max() + 1, components)
        for rule, directed in [("union", False), ("mutual", False), ("directed", True), ("snn", False)]:
            want = self.g.to_scipy(rule)
            a, b = self.g.to_igraph(rule), self.g.to_networkx(rule)
            self.assertEqual((a.is_directed(), b.is_directed()), (directed, directed))
            self.assertEqual((a.vcount(), b.number_of_nodes()), (120, 120))
            back = np.zeros((120, 120))
            for edge in a.es:
                back[edge.tuple] = edge["weight"]
            np.testing.assert_array_equal(back if directed else back + back.T, want.toarray())
            np.testing.assert_array_equal(networkx.to_numpy_array(b, nodelist=range(120)), want.toarray())
            self.assertEqual(a.ecount() * (1 if directed else 2), want.nnz)
        self.assertEqual(len(self.g.to_igraph().connected_components()), components)

    def test_edges(self):
        frame = self.g.to_pandas()
        self.assertEqual(list(frame), ["source", "target", "weight", "rank"])
        self.assertEqual(tuple(frame.iloc[7]), (1, self.g.indices[1, 1], self.g.distances[1, 1], 2))
        self.assertEqual(knng.graph(X, 6, self="first").to_pandas()["rank"].tolist()[:7], list(range(7)))

    def test_lists_from_elsewhere(self):
        g = knng.Graph.from_arrays(np.int32([[2, 3], [1, 0], [1, 2]]), np.float32([[1, 2], [2, np.inf], [1, 3]]),
                                   base=1)
        self.assertEqual(g.indices.tolist(), [[1, 2], [0, -1], [0, 1]])
        np.testing.assert_array_equal(g.to_scipy().toarray(), [[0, 1, 2], [2, 0, 0], [1, 3, 0]])
        self.assertEqual(len(g.to_pandas()), 5)
        q = knng.Graph.from_arrays([[9, 8]], columns=10)
        self.assertEqual((q.shape, q.same_points, q.distances.tolist()), ((1, 10), False, [[0, 0]]))


if __name__ == "__main__":
    main()
