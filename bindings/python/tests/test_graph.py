"""Graphs and queries: against the definition, scikit-learn and SciPy; arrays of every dtype and layout."""
import copy
import gc
import os
import pickle
import tempfile
import threading
import unittest
import weakref

import numpy as np

import knng
from support import main, nearest, need, points

neighbors, spatial = need("sklearn.neighbors", "scipy.spatial")

DTYPES = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32,
          np.float64]


class Lists(unittest.TestCase):
    def test_every_dtype_is_the_definition(self):
        for dtype in [*DTYPES, bool]:
            x = points(150, 12, dtype)
            g = knng.graph(x, 7)
            ids, distances = nearest(x, x, 7, True)
            with self.subTest(dtype=dtype):
                if np.dtype(dtype).kind == "f":  # sums of rounded squares in another order: ids agree without ties
                    np.testing.assert_allclose(g.distances, distances, rtol=1e-6)
                else:  # exact in any order
                    np.testing.assert_array_equal(g.distances, distances.astype(g.distances.dtype))
                np.testing.assert_array_equal(g.indices, ids)
                self.assertEqual(g.indices.dtype, np.int64)
                self.assertEqual(g.distances.dtype, np.float64 if dtype is np.float64 else np.float32)

    def test_scikit_learn(self):
        x, q = points(400, 10, np.float64), points(60, 10, np.float64, seed=2)
        for ours, theirs in {"euclidean": "euclidean", "manhattan": "manhattan", "cosine": "cosine",
                             "chebyshev": "chebyshev", "canberra": "canberra", "correlation": "correlation",
                             "braycurtis": "braycurtis", "sqeuclidean": "sqeuclidean"}.items():
            with self.subTest(metric=ours):
                if ours == "braycurtis":  # scikit-learn's differs where signs do
                    x, q = np.abs(x), np.abs(q)
                fitted = neighbors.NearestNeighbors(n_neighbors=6, metric=theirs, algorithm="brute").fit(x)
                distances, ids = fitted.kneighbors()
                g = knng.graph(x, 6, metric=ours)
                np.testing.assert_array_equal(g.indices, ids)
                np.testing.assert_allclose(g.distances, distances, rtol=1e-9, atol=1e-12)
                distances, ids = fitted.kneighbors(q)
                g = knng.graph(x, 6, metric=ours, query=q)
                np.testing.assert_array_equal(g.indices, ids)
                np.testing.assert_allclose(g.distances, distances, rtol=1e-9, atol=1e-12)

    def test_tree_of_scipy(self):
        x, q = points(2000, 3, np.float64), points(300, 3, np.float64, seed=3)
        distances, ids = spatial.cKDTree(x).query(q, 8)
        g = knng.graph(x, 8, query=q)
        np.testing.assert_array_equal(g.indices, ids)
        np.testing.assert_allclose(g.distances, distances, rtol=1e-12)
        distances, ids = spatial.cKDTree(x).query(x, 9)
        g = knng.graph(x, 8, self="first")
        np.testing.assert_array_equal(g.indices, ids)
        distances, ids = spatial.cKDTree(x).query(q, 5, p=1.5)
        g = knng.graph(x, 5, query=q, metric="minkowski", p=1.5)
        np.testing.assert_array_equal(g.indices, ids)
        np.testing.assert_allclose(g.distances, distances, rtol=1e-9)

    def test_any_layout_gives_the_same(self):
        big = points(120, 40, np.float32)
        x = np.ascontiguousarray(big[::2, 1:21:2])
        whole = knng.graph(x, 5)
        moved = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape)
        self.assertFalse(moved.flags.aligned)
        record = np.zeros(x.shape, np.dtype({"names": ["v"], "formats": ["f4"], "offsets": [1], "itemsize": 6}))
        record["v"] = x
        for name, y in {"fortran": np.asfortranarray(x), "strided": big[::2, 1:21:2], "negative": x[::-1][::-1],
                        "rows backwards": x[::-1].copy()[::-1], "columns backwards": x[:, ::-1].copy()[:, ::-1],
                        "big-endian": x.astype(">f4"), "unaligned": moved, "record": record["v"], "list": x.tolist(),
                        "matrix": np.asmatrix(x), "memoryview": memoryview(x)}.items():
            with self.subTest(layout=name):
                g = knng.graph(y, 5)
                np.testing.assert_array_equal(g.indices, whole.indices)
                np.testing.assert_array_equal(g.distances.astype(np.float32), whole.distances)

    def test_rows_are_not_copied(self):
        x = points(50, 4, np.float32)
        with knng.DataSet(x) as rows:
            x[0] = 1000  # forbidden to others; this is how the test sees whose memory it is
            np.testing.assert_array_equal(rows.read(0, 1)[0], x[0])
        with knng.DataSet(x.T.copy().T) as rows:
            self.assertFalse(any(owner.flags.c_contiguous for owner in rows._handle.owners))
            np.testing.assert_array_equal(rows.read(), x)

    def test_repeated_rows_of_stride_0(self):
        x = np.broadcast_to(np.float32([1, 2, 3]), (9, 3))
        g = knng.graph(x, 2)
        self.assertTrue((g.distances == 0).all())
        self.assertFalse((g.indices == np.arange(9)[:, None]).any())

    def test_self_is_left_out_by_id(self):
        x = np.repeat(points(20, 4), 3, axis=0)
        g = knng.graph(x, 2)
        self.assertFalse((g.indices == np.arange(60)[:, None]).any())
        self.assertTrue((g.distances == 0).all())
        q = knng.graph(x, 2, query=x, leave_out=np.arange(60))
        np.testing.assert_array_equal(q.indices, g.indices)

    def test_leave_out_of_any_integers(self):
        x = points(30, 3)
        want = knng.graph(x, 3).indices
        for dtype in [np.int8, np.uint8, np.int32, np.int64, np.uint64]:
            np.testing.assert_array_equal(knng.graph(x, 3, query=x, leave_out=np.arange(30, dtype=dtype)).indices, want)

    def test_similarity(self):
        x = points(100, 8, np.float64)
        g = knng.graph(x, 5, metric="correlation", value="similarity")
        r = np.corrcoef(x)
        np.testing.assert_allclose(g.distances, np.take_along_axis(r, g.indices, axis=1), atol=1e-12)
        self.assertTrue((np.diff(g.distances, axis=1) <= 0).all())


class Objects(unittest.TestCase):
    def test_arrays_outlive_everything(self):
        x = points(500, 6)
        g = knng.graph(x, 4)
        gone = weakref.ref(g._handle)
        ids, distances = g.indices[10:20], g.distances
        want = ids.copy()
        del g, x
        gc.collect()
        self.assertIsNotNone(gone())
        np.testing.assert_array_equal(ids, want)
        self.assertFalse(ids.flags.writeable or distances.flags.writeable)
        with self.assertRaises(ValueError):
            distances[0, 0] = 1
        del ids, distances
        gc.collect()
        self.assertIsNone(gone())

    def test_rows_are_let_go(self):
        x = points(50, 3)
        count = weakref.ref(x)
        rows = knng.DataSet(x)
        del x
        self.assertEqual(rows.graph(2).shape, (50, 50))
        rows.close()
        gc.collect()
        self.assertIsNone(count())

    def test_closed(self):
        rows = knng.DataSet(points(50, 3))
        other = rows.with_settings(metric="manhattan")
        rows.close()
        rows.close()
        for use in [lambda: rows.graph(2), lambda: rows.query(points(2, 3), 1), lambda: rows.settings,
                    lambda: rows.estimate(2), lambda: rows.with_settings(), lambda: rows.read()]:
            with self.assertRaisesRegex(ValueError, "the data set is closed"):
                use()
        self.assertIn("closed", repr(rows))
        self.assertEqual(other.graph(2).info["metric"], "manhattan")

    def test_many_threads_on_one_data_set(self):
        rows = knng.DataSet(points(800, 16))
        want = rows.graph(5).indices
        wrong = []

        def work():
            for _ in range(5):
                if not np.array_equal(rows.graph(5).indices, want):
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_closed_while_another_thread_builds(self):
        rows = knng.DataSet(points(6000, 64), metric="manhattan", engine="direct", device="cpu")
        started, done = threading.Event(), []

        def look(*_):
            started.set()

        def work():
            done.append(rows.graph(5, progress=look))

        thread = threading.Thread(target=work)
        thread.start()
        started.wait(10)
        rows.close()
        thread.join()
        self.assertEqual(done[0].shape, (6000, 6000))

    def test_settings(self):
        rows = knng.DataSet(points(40, 5), metric="minkowski", p=3, threads=1, max_host_bytes="1GiB")
        self.assertEqual((rows.settings["metric"], float(rows.settings["p"]), rows.settings["threads"]),
                         ("minkowski", 3, "1"))
        self.assertEqual({setting.name for setting in knng.settings()}, set(rows.settings))
        self.assertIn("pearson", knng.metrics()["correlation"])
        self.assertIn("seconds_total", knng.statistics())
        self.assertTrue(knng.devices()[0].usable)
        plan = rows.estimate(3)
        self.assertGreater(plan.host_bytes, 0)
        self.assertEqual(rows.shape, (40, 5))
        self.assertEqual(rows.dtype, np.float32)
        self.assertEqual(len(rows), 40)

    def test_check(self):
        rows = knng.DataSet(points(60, 5))
        g = rows.graph(4)
        self.assertIsNone(rows.check(g))
        ids, distances = g.copy()
        ids[33, [0, 1]] = ids[33, [1, 0]]
        self.assertEqual(rows.check(knng.Graph.from_arrays(ids, distances)), 33)

    def test_check_by_the_graph_s_own_metric(self):
        rows = knng.DataSet(points(60, 5))
        self.assertIsNone(rows.with_settings(metric="minkowski", p=3).check(rows.graph(4)))
        for settings in [{"metric": "cosine"}, {"metric": "minkowski", "p": 1.5}, {"self": "first"},
                         {"metric": "cosine", "value": "similarity"}]:
            g = rows.with_settings(**settings).graph(4)
            self.assertIsNone(rows.check(g), settings)
            ids, values = g.copy()
            ids[7, -2:] = ids[7, -2:][::-1]
            told = {name: settings[name] for name in settings if name != "self"}
            self.assertEqual(rows.check(knng.Graph.from_arrays(ids, values, **{"metric": "euclidean", **told})), 7)

    def test_ids_of_any_integers(self):
        g = knng.graph(points(60, 5), 4)
        for dtype in [np.uint8, np.int16, np.uint32, np.uint64]:
            made = knng.Graph.from_arrays(g.indices.astype(dtype), g.distances)
            np.testing.assert_array_equal(made.indices, g.indices)
        with self.assertRaisesRegex(ValueError, "indices has ids beyond int64"):
            knng.Graph.from_arrays(np.full((3, 1), 1 << 63, np.uint64))

    def test_arrays_that_name_their_metric(self):
        rows = knng.DataSet(points(60, 5), metric="minkowski", p=3)
        ids, distances = rows.graph(4).copy()
        made = knng.Graph.from_arrays(ids, distances, metric="minkowski", p=3)
        self.assertEqual([made.info[name] for name in ("metric", "p", "value", "engine")],
                         ["minkowski", "3", "distance", "unknown"])
        self.assertIsNone(rows.check(made))
        with tempfile.TemporaryDirectory() as folder:
            made.save(f"{folder}/g.knng")
            self.assertEqual(knng.load(f"{folder}/g.knng").info, made.info)
        short = knng.Graph.from_arrays([[1, 2], [0, -1], [0, 1]], [[1, 2], [3, np.inf], [1, 2]], metric="l2")
        self.assertEqual(short.info["metric"], "euclidean")
        self.assertEqual((short.to_scipy().nnz, len(short.to_pandas())), (5, 5))
        self.assertEqual(knng.Graph.from_arrays(ids, value="similarity").info["value"], "similarity")
        for named, text in [({"metric": "round"}, "^metric=round"), ({"value": "size"}, "^value=size"),
                            ({"metric": "cosine", "p": 3}, "^p: p goes with metric minkowski alone"),
                            ({"metric": "l2", "value": "similarity"}, "value similarity goes with metric cosine"),
                            ({"metric": "a\ntext.value=b"}, "^metric=a"), ({"metric": "minkowski", "p": 0}, "^p=0")]:
            with self.subTest(named=named), self.assertRaisesRegex(ValueError, text):
                knng.Graph.from_arrays(ids, distances, **named)

    def test_copy(self):
        g = knng.graph(points(60, 5, np.float64), 4)
        ids, distances = g.copy(np.int32, np.float32, base=1, order="F")
        np.testing.assert_array_equal(ids - 1, g.indices)
        np.testing.assert_array_equal(distances, g.distances.astype(np.float32))
        self.assertTrue(ids.flags.f_contiguous and ids.flags.writeable and ids.dtype == np.int32)
        with self.assertRaises(knng.RangeError):
            knng.graph(points(70000, 1), 1).copy(np.uint16)

    def test_files(self):
        g = knng.graph(points(60, 5), 4, metric="cosine")
        with tempfile.TemporaryDirectory() as folder:
            for name in ["g.knng", "g.npz"]:
                g.save(f"{folder}/{name}")
                h = knng.load(f"{folder}/{name}")
                np.testing.assert_array_equal(h.indices, g.indices)
                np.testing.assert_array_equal(h.distances, g.distances)
            self.assertEqual(knng.load(f"{folder}/g.knng").info, g.info)
            np.save(f"{folder}/x.npy", points(60, 5))
            rows = knng.DataSet(f"{folder}/x.npy")
            self.assertEqual(rows.with_settings(metric="cosine").sources, [{"file": f"{folder}/x.npy"}])
            with open(f"{folder}/table.csv", "w", encoding="ascii") as table:
                table.write("gene;a;b\nx;1;2\ny;3;4\n")
            table = {"file": f"{folder}/table.csv", "header": "yes", "row_names": "yes", "separator": "semicolons"}
            self.assertEqual(knng.DataSet(f"{folder}/table.csv").sources, [table])
            two = knng.DataSet([f"{folder}/table.csv", f"{folder}/table.csv"])
            self.assertEqual((two.shape, two.sources), ((4, 2), [table, table]))
            self.assertEqual(knng.DataSet(points(60, 5)).sources, [])
            h = knng.graph(f"{folder}/x.npy", 4, metric="cosine")
            np.testing.assert_array_equal(h.indices, g.indices)
            h = knng.graph(points(60, 5), 4, metric="cosine", query=f"{folder}/x.npy")
            self.assertFalse(h.same_points)
            with self.assertRaises(knng.OptionError):
                g.save(f"{folder}/g.txt")
            with self.assertRaises(OSError):
                knng.load(f"{folder}/none.knng")

    def test_files_for_other_programs(self):
        g = knng.graph(points(60, 5), 4, metric="cosine")
        with tempfile.TemporaryDirectory() as folder:
            for name in ["g.tsv", "g.mtx", "g.ivecs", "g.ibin"]:
                g.save(f"{folder}/{name}")
                with self.assertRaises(knng.UnsupportedError):
                    knng.load(f"{folder}/{name}")
            self.assertEqual(sorted(os.listdir(folder)), ["g.fbin", "g.fvecs", "g.ibin", "g.ivecs", "g.mtx", "g.tsv"])
            edges = np.loadtxt(f"{folder}/g.tsv", skiprows=1)
            np.testing.assert_array_equal(edges[:, 1].reshape(60, 4), g.indices)
            np.testing.assert_array_equal(edges[:, 2].reshape(60, 4).astype(np.float32), g.distances)
            h = knng.graph(f"{folder}/g.ibin", 1)  # as rows
            self.assertEqual(h.shape, (60, 60))

    def test_pickle(self):
        x = points(60, 5)
        x[7] = x[3]
        for g in [knng.graph(x, 4, metric="minkowski", p=3, self="first"), knng.graph(x, 4, query=x[:9], value_type="f64"),
                  knng.Graph.from_arrays([[1, 2], [0, -1], [1, 0]])]:
            h = pickle.loads(pickle.dumps(g))
            np.testing.assert_array_equal(h.indices, g.indices)
            np.testing.assert_array_equal(h.distances, g.distances)
            self.assertEqual((h.shape, h.width, h.same_points, h.distances.dtype),
                             (g.shape, g.width, g.same_points, g.distances.dtype))
            self.assertEqual((h.info, h.stats), (g.info, g.stats))
            for what in ["ties", "proof"] if g.stats["proved"] else ["proof"]:
                np.testing.assert_array_equal(h.rows(what), g.rows(what))

    def test_copies_are_itself(self):
        g = knng.graph(points(60, 5), 4)
        self.assertIs(copy.copy(g), g)
        self.assertIs(copy.deepcopy([g])[0], g)

    def test_equals(self):
        x = points(60, 5)
        g = knng.graph(x, 4, metric="minkowski", p=3)
        ids, distances = g.copy()
        named = {"metric": "minkowski", "p": 3}
        with tempfile.TemporaryDirectory() as folder:
            same = [g, pickle.loads(pickle.dumps(g)), knng.graph(x, 4, **named, engine="direct", threads=1),
                    knng.Graph.from_arrays(ids.astype(np.int32), distances, **named)]
            for name in ["g.knng", "g.npz"]:
                g.save(f"{folder}/{name}")
                same.append(knng.load(f"{folder}/{name}"))
        for other in same:
            self.assertIs(g.equals(other), True)
            self.assertIs(other.equals(g), True)

        def with_entry(array, entry, value):
            array = array.copy()
            array[entry] = value
            return array

        swapped = with_entry(ids, (33, [0, 1]), ids[33, [1, 0]])
        manhattan = knng.Graph.from_arrays(ids, distances, metric="manhattan")
        nearer = with_entry(distances, (9, 3), np.nextafter(distances[9, 3], np.float32(0)))
        zeros = knng.Graph.from_arrays(ids, np.zeros((60, 4)))
        for name, one, other in [
                ("ids", g, knng.Graph.from_arrays(swapped, distances, **named)),
                ("bits", g, knng.Graph.from_arrays(ids, nearer, **named)),
                ("sign of zero", zeros, knng.Graph.from_arrays(ids, np.full((60, 4), -0.0))),
                ("dtype", knng.graph(x, 3), knng.graph(x, 3, value_type="f64")),
                ("width", g, knng.graph(x, 3, **named)),
                ("rows", g, knng.Graph.from_arrays(ids[:50], distances[:50], columns=60, **named)),
                ("columns", knng.Graph.from_arrays(ids, columns=60), knng.Graph.from_arrays(ids, columns=61)),
                ("same points", g, knng.Graph.from_arrays(ids, distances, columns=60, **named)),
                ("metric", manhattan, knng.Graph.from_arrays(ids, distances, metric="chebyshev")),
                ("no metric", manhattan, knng.Graph.from_arrays(ids, distances)),
                ("p", g, knng.Graph.from_arrays(ids, distances, metric="minkowski", p=4)),
                ("value", zeros, knng.Graph.from_arrays(ids, np.zeros((60, 4)), value="similarity"))]:
            with self.subTest(differs=name):
                self.assertIs(one.equals(other), False)
                self.assertIs(other.equals(one), False)
        self.assertFalse(g == same[1])  # another object
        self.assertEqual(len({g, *same}), len(same))
        for other in [ids, None, "g"]:
            with self.assertRaisesRegex(TypeError, "^other must be a knng.Graph, not "):
                g.equals(other)

    def test_what_is_known(self):
        x = points(60, 5)
        x[7] = x[3]
        g = knng.graph(x, 4)
        self.assertEqual(g.stats["duplicates"], 1)
        np.testing.assert_array_equal(g.rows("indegree"), np.bincount(g.indices.ravel(), minlength=60))
        self.assertEqual(g.rows("component").max(), 0)
        self.assertEqual((g.width, len(g), g.same_points), (4, 60, True))
        self.assertEqual(g.info["metric"], "euclidean")
        self.assertIn("duplicates: 1", g.summary())
        self.assertIn("60 rows", repr(g))
        self.assertRegex(g.info["fingerprint"], "^[0-9a-f]+$")

    def test_what_is_not_known(self):
        g = knng.Graph.from_arrays([[1, 2], [0, 2], [1, 0]])
        self.assertEqual({name: number for name, number in g.stats.items() if number is not None}, {"rows": 3, "columns": 3})
        self.assertIn("duplicates: not known, rows cut at a tie: not known", g.summary())
        self.assertIn("made by another program", g.summary())
        with self.assertRaisesRegex(knng.StateError, "ties"):
            g.rows("ties")
        queries = knng.graph(points(60, 5), 4, query=points(9, 5))
        self.assertEqual((queries.stats["proved"], queries.stats["duplicates"]), (9, None))
        self.assertIn("duplicates: not known, rows cut at a tie: 0", queries.summary())


if __name__ == "__main__":
    main()
