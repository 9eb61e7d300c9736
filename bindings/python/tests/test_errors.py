"""Bad input: the kind of exception that Python has for it, with argument, value and limit, and nothing leaked."""
import copy
import errno
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import knng
from knng import _rows
from support import main, need, points

need("igraph", "networkx", "scipy.sparse")

X = points(20, 4)


def with_nan():
    x = X.copy()
    x[13, 2] = np.nan
    return x


class BadInput(unittest.TestCase):
    def refused(self, kind, words, function, *arguments, **named):
        with self.assertRaisesRegex(kind, words) as caught:
            function(*arguments, **named)
        return caught.exception

    def test_k(self):
        error = self.refused(ValueError, "k=20 needs at least 21 rows, the data set has 20", knng.graph, X, 20)
        self.assertIsInstance(error, knng.RangeError)
        self.assertEqual((error.given, error.argument, error.row), (20, "k", None))
        self.refused(ValueError, "k=0", knng.graph, X, 0)
        self.refused(ValueError, "k=-3", knng.graph, X, -3)
        self.refused(ValueError, "64-bit", knng.graph, X, 1 << 63)
        self.refused(TypeError, "k must be an integer, not float", knng.graph, X, 2.0)
        self.refused(TypeError, "k must be an integer, not str", knng.graph, X, "2")
        self.refused(TypeError, "k must be an integer, not NoneType", knng.graph, X, None)
        self.refused(ValueError, "k=21", knng.graph, X, 21, query=X)

    def test_values(self):
        error = self.refused(ValueError, "NaN.*row 13, column 2", knng.graph, with_nan(), 3)
        self.assertIsInstance(error, knng.DataError)
        self.assertEqual((error.row, error.col), (13, 2))
        self.refused(ValueError, "NaN.*row 13", knng.graph, X, 3, query=with_nan())
        self.refused(ValueError, "infinite|infinity|finite", knng.graph, np.where(X > 1, np.inf, X), 3)
        self.refused(ValueError, "2\\^53", knng.graph, np.full((5, 2), 1 << 54), 2)
        self.refused(ValueError, "negative", knng.graph, X, 3, metric="hellinger")

    def test_names_are_those_that_were_typed(self):
        def named(name, words, function, *arguments, **given):
            error = self.refused(ValueError, words, function, *arguments, **given)
            self.assertEqual(error.argument, name)
            return error

        inf, rows, g = np.where(X > 1, np.inf, X), knng.DataSet(X), knng.graph(X, 3)
        named("x", "^x: a value is NaN", knng.graph, with_nan(), 3)
        named("x", "^x: .* is negative", knng.graph, X, 3, metric="hellinger")
        named("x", "^x: .* is negative", knng.graph, X, 3, query=abs(X), metric="hellinger")
        named("x", "^x: rows=0", knng.graph, X[:0], 3)
        named("query", "^query: a value is", knng.graph, X, 3, query=inf)
        named("query", "^query: rows have 3 columns", rows.query, X[:, :3], 3)
        named("n_queries", "^n_queries=-1 ", rows.estimate, 3, -1)
        named("graph", "^the graph has 20 rows", knng.DataSet(X[:10]).check, g)
        named("dtype", "^dtype: .* int8 cannot hold", rows.read, dtype=np.int8)
        named("first", "^first=20 must be in 0 to 19", rows.read, 20)
        named("distances", "^distances: dtype int32 is no type for distances:", g.copy, np.int64, np.int32)
        named("ids", "^ids: dtype float32 is no type for ids:", g.copy, np.float32)
        named("indices", "^indices: 9 is not in", knng.Graph.from_arrays, [[1, 9], [0, 1]])
        named("distances", "^distances: 1 x 2, but indices are", knng.Graph.from_arrays, [[1], [0]], [[1.0, 2.0]])
        named("max_bytes", "^max_bytes=-1 ", g.sparse, "snn", max_bytes=-1)
        with self.assertRaisesRegex(OSError, "nowhere.npy") as caught:
            knng.graph(X, 3, query="nowhere.npy")
        self.assertEqual(caught.exception.argument, "query")
        self.assertEqual(self.refused(ValueError, "unknown setting 'thread'", knng.graph, X, 3, thread=2).argument, "thread")
        with self.assertRaises(MemoryError) as caught:
            g.sparse("snn", max_bytes=1)
        self.assertEqual(caught.exception.argument, "max_bytes")

    def test_files_as_the_system_says(self):
        with tempfile.TemporaryDirectory() as folder:
            g = knng.graph(X, 3)
            missing = f"{folder}/none/g.knng"
            for use in [lambda: knng.graph(missing + ".npy", 3), lambda: knng.load(missing), lambda: g.save(missing)]:
                with self.assertRaises(FileNotFoundError) as caught:
                    use()
                self.assertIsInstance(caught.exception, knng.FileError)
                self.assertEqual(caught.exception.errno, errno.ENOENT)
                self.assertIn(missing, caught.exception.filename)
                again = pickle.loads(pickle.dumps(caught.exception))
                self.assertEqual((str(again), again.errno, again.filename),
                                 (str(caught.exception), errno.ENOENT, caught.exception.filename))

    def test_what_is_no_array(self):
        for x in [None, {}, (row for row in X)]:
            self.refused(TypeError, f"x must be an array of numbers, not {type(x).__name__}", knng.graph, x, 3)
        self.refused(TypeError, "max_bytes must be an integer, not str", knng.graph(X, 3).to_scipy, max_bytes="1GiB")
        self.refused(TypeError, "adata.obsm", knng.graph, X, 3, use_rep="X_umap")

    def test_numbers_of_dtypes_are_names(self):
        error = self.refused(ValueError, "dtype float64 is no type", knng.Graph.from_arrays, np.ones((3, 1)))
        self.assertEqual((error.given, error.limit), ("float64", None))

    def test_rows_of_sparse_blocks(self):
        from scipy.sparse import csr_matrix

        before = _rows.BLOCK_BYTES
        _rows.BLOCK_BYTES = 4 * X[0].nbytes
        try:
            error = self.refused(ValueError, r"^x: .*\(row 13, column 2\)", knng.graph, csr_matrix(with_nan()), 3)
        finally:
            _rows.BLOCK_BYTES = before
        self.assertEqual((error.row, error.col), (13, 2))

    def test_kinds(self):
        self.refused(TypeError, "complex64", knng.graph, X.astype(np.complex64), 3)
        self.refused(TypeError, "x has dtype <U1", knng.graph, [["a", "b"], ["c", "d"]], 1)
        self.refused(TypeError, "object", knng.graph, np.array([[1, None], [2, 3]]), 1)
        self.refused(TypeError, "longdouble|float128", knng.graph, X.astype(np.longdouble), 3)
        self.refused(TypeError, "datetime64", knng.graph, np.zeros((3, 2), "M8[s]"), 1)
        self.refused(TypeError, "masked", knng.graph, np.ma.masked_less(X, 0), 3)
        self.refused(TypeError, "x must be an array of numbers, not bytes", knng.graph, b"abc", 3)
        self.refused(TypeError, "object", knng.graph, object(), 3)
        self.refused(ValueError, "rectangular", knng.graph, [[1, 2], [3]], 1)
        self.refused(ValueError, "rectangular", knng.graph, np.array([[1, 2], [3]], object), 1)

    def test_shapes(self):
        self.refused(ValueError, r"x must have 2 dimensions, points x values, not 1: one point is x\[None, :\]", knng.graph,
                     X[0], 1)
        self.refused(ValueError, r"not 1: one point is query\[None, :\]", knng.graph, X, 1, query=X[0])
        self.refused(ValueError, "not 3$", knng.graph, X[None], 1)
        self.refused(ValueError, "indices must have 2 dimensions, points x values, not 1$", knng.Graph.from_arrays, [1, 0])
        for name, text in [("n_jobs", "threads="), ("n_neighbors", "is k"), ("include_self", "self='first'")]:
            self.refused(TypeError, f"{name} is no setting: .*{text}", knng.graph, X, 3, **{name: 2})
        self.refused(ValueError, "not 3", knng.graph, X[None], 1)
        self.refused(ValueError, "not 0", knng.graph, 3.0, 1)
        self.refused(ValueError, "at least 1", knng.graph, X[:0], 1)
        self.refused(ValueError, "at least 1", knng.graph, X[:, :0], 1)
        self.refused(ValueError, "dimension.*3|3.*dimension|cols=3", knng.graph, X, 1, query=X[:, :3])
        self.refused(ValueError, "20 columns.*dimension 4", knng.graph, X, 1, query=X.T)
        self.refused(ValueError, "leave_out must have 20 entries", knng.graph, X, 1, query=X, leave_out=[1])
        self.refused(TypeError, "leave_out must be integers", knng.graph, X, 1, query=X, leave_out=np.zeros(20))
        self.refused(ValueError, "leave_out", knng.graph, X, 1, query=X, leave_out=np.full(20, 20))
        self.refused(TypeError, "leave_out goes with query", knng.graph, X, 1, leave_out=np.zeros(20, int))
        self.refused(TypeError, "a query is not one of them", lambda: knng.graph(X, 1, query=X, self="first"))

    def test_file_points_of_arrays(self):
        """What would change nothing is refused; of a file of queries it does."""
        for call in [lambda: knng.graph(X.T, 3, file_points="columns"), lambda: knng.DataSet(X, file_points="columns"),
                     lambda: knng.kneighbors_graph(X, 3, file_points="columns")]:
            self.refused(ValueError, "file_points='columns' is for files, and x is none", call)
        self.refused(TypeError, "include_self", lambda: knng.kneighbors_graph(X, 3, self="first"))
        self.assertEqual(len(knng.graph(X, 3, file_points="rows")), 20)
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/x.npy", X.T)
            columns = knng.graph(f"{folder}/x.npy", 3, file_points="columns")
            self.assertTrue(columns.equals(knng.graph(X, 3)))
            queries = knng.graph(X, 3, query=f"{folder}/x.npy", file_points="columns")
            np.testing.assert_array_equal(queries.indices, knng.graph(X, 3, query=X).indices)

    def test_settings(self):
        error = self.refused(ValueError, "metric.*euclidian", knng.graph, X, 3, metric="euclidian")
        self.assertIsInstance(error, knng.OptionError)
        self.assertIn("did you mean 'euclidean'?", str(error))
        self.refused(ValueError, "did you mean 'threads'", knng.graph, X, 3, thread=2)
        self.refused(ValueError, "did you mean 'similarity'", knng.graph, X, 3, value="similarty")
        self.refused(ValueError, "colour", knng.graph, X, 3, colour="red")
        self.refused(TypeError, "knng.metrics", knng.graph, X, 3, metric=lambda a, b: 0)
        self.refused(ValueError, "threads", knng.graph, X, 3, threads=True)
        self.refused(ValueError, "^threads=2.5: it takes whole numbers, 0 to 4096", knng.graph, X, 3, threads=2.5)
        with knng.DataSet(X, threads=2.0, max_host_bytes=1e9) as rows:
            self.assertEqual(rows.settings["threads"], "2")
            self.assertEqual(rows.settings["max_host_bytes"], "1000000000")
        self.refused(ValueError, "p", knng.graph, X, 3, p=2)
        self.refused(ValueError, "text", knng.graph, X, 3, metric="\udc80")
        self.refused(ValueError, "engin", knng.graph, X, 3, engin=None)
        self.refused(ValueError, "rule", knng.graph(X, 3).sparse, "onion")
        self.refused(ValueError, "ties", knng.graph(X, 3).rows, "onion")
        self.refused(TypeError, "byte order", knng.graph(X, 3).copy, ">i4")
        self.refused(TypeError, "byte order", knng.graph(X, 3).copy, distances=">f4")
        self.refused(TypeError, "byte order", knng.DataSet(X).read, dtype=">f8")
        self.refused(ValueError, "order", knng.graph(X, 3).copy, order="K")
        self.refused(MemoryError, "max_host_bytes", knng.graph, X, 3, max_host_bytes=1)
        self.refused(TypeError, "progress", knng.graph, X, 3, progress=3)

    def test_words_and_names(self):
        g = knng.graph(X, 3)
        with tempfile.TemporaryDirectory() as folder:
            for use in [g.save, knng.load, knng.DataSet, lambda name: knng.DataSet(X).query(name, 1)]:
                self.refused(ValueError, "null character", use, f"{folder}/g.npz\0.txt")
            self.assertEqual(os.listdir(folder), [])
        self.refused(ValueError, "metric has a null character", knng.graph, X, 3, metric="cosine\0abc")
        for use, name in [(g.rows, "what"), (g.sparse, "rule"), (g.to_scipy, "rule"), (knng.DataSet(X).check, "graph")]:
            self.refused(TypeError, f"{name} must be a", use, None)
        self.refused(TypeError, "format must be a str, not int", g.save, "a.knng", 5)
        self.refused(TypeError, "base must be an integer, not float", g.copy, base=1.0)
        for named in [{"base": "1"}, {"columns": 30.0}]:
            self.refused(TypeError, "must be an integer", knng.Graph.from_arrays, [[1], [0]], **named)

    def test_no_such_form(self):
        q = knng.graph(X, 3, query=X[:5])
        for form in [q.umap, q.to_igraph, q.to_networkx]:
            self.refused(RuntimeError, "among themselves", form)
        self.refused(RuntimeError, "", q.to_scipy, "union")
        self.refused(RuntimeError, "value='distance'", knng.graph(X, 3, metric="cosine", value="similarity").umap)
        self.refused(RuntimeError, "self='first'", knng.graph(X, 3, metric="inner_product").umap)
        self.refused(TypeError, "knng.graph", knng.Graph)
        self.refused(TypeError, "sparse", knng.Sparse)

    def test_import_of_lists(self):
        self.refused(ValueError, "row 2, column 1", knng.Graph.from_arrays, [[1, 2], [0, 2], [1, 1]])
        self.refused(ValueError, "", knng.Graph.from_arrays, [[1, 9], [0, 1]])
        self.refused(ValueError, "", knng.Graph.from_arrays, [[1.5]])
        self.refused(ValueError, "", knng.Graph.from_arrays, [[1], [0]], [[1.0, 2.0]])
        self.refused(ValueError, "base", knng.Graph.from_arrays, [[1], [0]], base=7)

    def test_errors_can_be_pickled(self):
        error = pickle.loads(pickle.dumps(self.refused(ValueError, "", knng.graph, with_nan(), 3)))
        self.assertEqual((error.row, error.col), (13, 2))
        self.assertIn("NaN", str(error))

    def test_what_cannot_be_pickled(self):
        rows, sparse = knng.DataSet(X), knng.graph(X, 3).sparse()
        for function in [pickle.dumps, copy.deepcopy]:
            self.refused(TypeError, "a data set cannot be pickled", function, rows)
            self.refused(TypeError, "a sparse matrix cannot be pickled", function, sparse)
        self.assertEqual(copy.copy(rows).graph(3).width, 3)

    def test_nothing_is_kept_by_failures(self):
        def size():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        big = np.zeros((200000, 8))
        big[-1, 7] = np.nan
        for round_ in range(60):
            self.refused(ValueError, "NaN", knng.graph, big, 3)
            if round_ == 5:
                before = size()
        self.assertLess(size() - before, 8 << 20)


class Processes(unittest.TestCase):
    def python(self, program, **environment):
        return subprocess.run([sys.executable, "-c", program], env=dict(os.environ, **environment), text=True,
                              capture_output=True, timeout=120)

    def test_no_library(self):
        done = self.python("import knng", KNNG_LIBRARY="/nonexistent/libknng.so.0")
        self.assertIn("ImportError: libknng was not found. Install it", done.stderr)
        self.assertIn("/nonexistent/libknng.so.0", done.stderr)

    def test_another_library(self):
        done = self.python("import knng", KNNG_LIBRARY="libc.so.6")
        self.assertIn("ImportError: libc.so.6 is not the libknng that this package needs", done.stderr)

    def test_after_fork(self):
        done = self.python("""
import os, numpy as np, knng
x = np.random.default_rng(1).random((500, 8))
rows = knng.DataSet(x)
want = rows.graph(3).indices
child = os.fork()
if not child:
    os._exit(0 if np.array_equal(rows.graph(3).indices, want) else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_end_of_the_interpreter(self):
        done = self.python("""
import knng, numpy as np
rows = knng.DataSet(np.eye(5)); g = rows.graph(2); s = g.sparse(); ids = g.indices
import sys; sys.modules["keep"] = (rows, g, s, ids)
""")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    main()
