"""The estimator: scikit-learn's own checks, agreement with scikit-learn's transformer, and the protocol by which scanpy
takes a transformer (sc.pp.neighbors(transformer=)), written out, with AnnData."""
import os
import pickle
import unittest
import warnings

import numpy as np

import knng
from support import main, need, points

anndata, neighbors, pipeline, manifold, cluster, checks, base, sparse = need(
    "anndata", "sklearn.neighbors", "sklearn.pipeline", "sklearn.manifold", "sklearn.cluster",
    "sklearn.utils.estimator_checks", "sklearn.base", "scipy.sparse")
KNeighborsTransformer = knng.KNeighborsTransformer


class ScikitLearn(unittest.TestCase):
    def test_its_own_checks(self):
        for estimator in [KNeighborsTransformer(), KNeighborsTransformer(mode="connectivity", metric="manhattan")]:
            ran = 0
            every = (checks.estimator_checks_generator(estimator) if hasattr(checks, "estimator_checks_generator")
                     else checks.check_estimator(estimator, generate_only=True))  # before scikit-learn 1.6
            for checked, check in every:
                with self.subTest(check=str(check)), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        check(checked)
                        ran += 1
                    except unittest.SkipTest as reason:
                        print(f"scikit-learn skips {check}: {reason}")
            self.assertGreater(ran, 30)

    def test_it_is_scikit_learns(self):
        x, y = points(200, 6, np.float64), points(50, 6, np.float64, seed=2)
        for mode in ["distance", "connectivity"]:
            for metric in ["euclidean", "manhattan", "cosine"]:
                with self.subTest(mode=mode, metric=metric):
                    theirs = neighbors.KNeighborsTransformer(mode=mode, n_neighbors=7, metric=metric)
                    ours = KNeighborsTransformer(mode=mode, n_neighbors=7, metric=metric)
                    for a, b in [(theirs.fit_transform(x), ours.fit_transform(x)),
                                 (theirs.transform(y), ours.transform(y)),
                                 (theirs.kneighbors_graph(), ours.kneighbors_graph())]:
                        np.testing.assert_allclose(a.toarray(), b.toarray(), atol=1e-7)
                        self.assertEqual((a.format, a.shape, a.nnz), (b.format, b.shape, b.nnz))
                    for given in [None, y]:
                        for a, b in zip(theirs.kneighbors(given, 4), ours.kneighbors(given, 4)):
                            np.testing.assert_allclose(a, b, atol=1e-7)
                    np.testing.assert_array_equal(theirs.kneighbors(y, return_distance=False),
                                                  ours.kneighbors(y, return_distance=False))

    def test_the_row_itself_is_first_whatever_equals_it(self):
        x = np.repeat(points(40, 3), 4, axis=0)
        for made in [KNeighborsTransformer(n_neighbors=3).fit_transform(x),
                     KNeighborsTransformer(n_neighbors=3).fit(x).transform(x)]:
            np.testing.assert_array_equal(made.indices.reshape(160, 4)[:, 0], np.arange(160))
            self.assertTrue((made.data == 0).all())
            self.assertEqual(made.nnz, 160 * 4)

    def test_in_pipelines(self):
        x = np.concatenate([points(60, 4), points(60, 4, seed=2) + 20])
        labels = pipeline.make_pipeline(
            KNeighborsTransformer(n_neighbors=59), cluster.DBSCAN(metric="precomputed", eps=5)).fit_predict(x)
        self.assertEqual(len({*labels[:60]} & {*labels[60:]} - {-1}), 0)
        isomap = pipeline.make_pipeline(KNeighborsTransformer(n_neighbors=61),
                                        manifold.Isomap(n_neighbors=61, metric="precomputed"))
        self.assertEqual(isomap.fit_transform(x).shape, (120, 2))
        classify = pipeline.make_pipeline(KNeighborsTransformer(n_neighbors=5),
                                          neighbors.KNeighborsClassifier(n_neighbors=5, metric="precomputed"))
        classify.fit(x, np.repeat([0, 1], 60))
        self.assertEqual(classify.score(x, np.repeat([0, 1], 60)), 1)

    def test_parameters(self):
        made = KNeighborsTransformer(n_neighbors=4, metric="minkowski", p=3, n_jobs=1, settings={"value_type": "f64"})
        again = base.clone(made)
        self.assertEqual(again.get_params(), made.get_params())
        graph = again.fit_transform(points(30, 4))
        self.assertEqual(graph.dtype, np.float64)
        self.assertEqual(again.effective_metric_, "minkowski")
        copy = pickle.loads(pickle.dumps(again))
        np.testing.assert_array_equal(copy.transform(points(5, 4)).toarray(), again.transform(points(5, 4)).toarray())
        self.assertEqual(len(again.get_feature_names_out()), 30)
        with self.assertRaisesRegex(ValueError, "mode"):
            KNeighborsTransformer(mode="both").fit(points(30, 4))
        with self.assertRaisesRegex(ValueError, "metric"):
            KNeighborsTransformer(metric="none").fit(points(30, 4))
        for name, value in [("metric", "cosine"), ("p", 3), ("n_neighbors", 3), ("n_jobs", 2), ("mode", "distance")]:
            with self.assertRaisesRegex(ValueError, f"settings has '{name}', which is a parameter of its own"):
                KNeighborsTransformer(settings={name: value}).fit(points(30, 4))
        with self.assertRaisesRegex(ValueError, "settings has 'self', which mode and the method"):
            KNeighborsTransformer(settings={"self": "first"}).fit(points(30, 4))
        with self.assertRaisesRegex(ValueError, "n_neighbors=30 must be at most 29, as there are 30 rows"):
            KNeighborsTransformer(n_neighbors=30).fit_transform(points(30, 4))

    def test_errors_speak_of_n_neighbors(self):
        x = points(20, 4)

        def limit(call, *arguments, **named):
            with self.assertRaisesRegex(knng.RangeError, "^n_neighbors=%d must be at " % typed) as caught:
                call(*arguments, **named)
            self.assertEqual((caught.exception.argument, caught.exception.given), ("n_neighbors", typed))
            return caught.exception.limit

        for mode, counted in [("distance", 1), ("connectivity", 0)]:
            typed = 20 + 1
            ours = KNeighborsTransformer(n_neighbors=typed, mode=mode).fit(x)
            self.assertEqual(limit(ours.fit_transform, x), 20 - counted)
            self.assertEqual(limit(ours.transform, x + 1), 20 - counted)
            self.assertEqual(limit(ours.kneighbors), 19)
            self.assertEqual(limit(ours.kneighbors, x + 1), 20)
        for itself in [False, True]:
            self.assertEqual(limit(knng.kneighbors_graph, x, typed, include_self=itself), 19 + itself)
        for call in [lambda n: KNeighborsTransformer(n_neighbors=n).fit(x),
                     lambda n: KNeighborsTransformer().fit(x).kneighbors(None, n),
                     lambda n: KNeighborsTransformer().fit(x).kneighbors(x, n),
                     lambda n: KNeighborsTransformer().fit(x).kneighbors_graph(x, n),
                     lambda n: knng.kneighbors_graph(x, n, include_self=True)]:
            for wrong in ["5", 2.5]:
                with self.assertRaisesRegex(TypeError, "^n_neighbors must be an integer, not (str|float)"):
                    call(wrong)
        typed = 0
        self.assertEqual(limit(knng.kneighbors_graph, x, 0), 1)
        self.assertEqual(limit(knng.kneighbors_graph, x, 0, include_self=True), 1)

    def test_n_jobs_as_joblib_counts(self):
        x = points(30, 4)
        processors = len(os.sched_getaffinity(0))
        want = KNeighborsTransformer().fit_transform(x).toarray()
        for n_jobs, threads in [(None, "0"), (-1, "0"), (1, "1"), (np.int64(3), "3"), (-2, str(max(1, processors - 1))),
                                (-processors, "1"), (-processors - 1, "1"), (-1000, "1")]:
            with self.subTest(n_jobs=n_jobs):
                ours = KNeighborsTransformer(n_jobs=n_jobs)
                with ours._data_set(x) as rows:
                    self.assertEqual(rows.settings["threads"], threads)
                np.testing.assert_array_equal(ours.fit_transform(x).toarray(), want)
                np.testing.assert_array_equal(knng.kneighbors_graph(x, 5, n_jobs=n_jobs, mode="distance").toarray(),
                                              knng.kneighbors_graph(x, 5, mode="distance").toarray())
        with KNeighborsTransformer(settings={"threads": 2})._data_set(x) as rows:
            self.assertEqual(rows.settings["threads"], "2")

    def test_errors_speak_of_n_jobs(self):
        x = points(20, 4)
        for call in [lambda n_jobs, **more: KNeighborsTransformer(n_jobs=n_jobs, settings=more).fit(x),
                     lambda n_jobs, **more: knng.kneighbors_graph(x, 3, n_jobs=n_jobs, **more)]:
            for wrong, kind, text in [(0, ValueError, "^n_jobs=0 must be a number of threads"),
                                      (5000, ValueError, "^n_jobs=5000"), (2.5, TypeError, "^n_jobs must be an integer"),
                                      ("all", TypeError, "^n_jobs must be an integer")]:
                with self.subTest(n_jobs=wrong), self.assertRaisesRegex(kind, text) as caught:
                    call(wrong)
                self.assertNotIn("threads=", str(caught.exception))
                self.assertEqual(getattr(caught.exception, "argument", "n_jobs"), "n_jobs")
            with self.assertRaisesRegex(knng.ArgumentError, "n_jobs=2 and threads=3 are both given"):
                call(2, threads=3)
            with self.assertRaisesRegex(ValueError, "^threads=-1"):
                call(None, threads=-1)

    def test_sparse_rows(self):
        x = sparse.random(80, 30, 0.2, "csr", np.float32, random_state=1)
        a = KNeighborsTransformer().fit_transform(x)
        b = KNeighborsTransformer().fit_transform(x.toarray())
        np.testing.assert_array_equal(a.toarray(), b.toarray())
        np.testing.assert_array_equal(KNeighborsTransformer().fit(x).transform(x[:9]).toarray(), b.toarray()[:9])

    def test_kneighbors_graph(self):
        x = points(100, 5, np.float64)
        for mode in ["connectivity", "distance"]:
            for itself in [False, True, "auto"]:
                a = neighbors.kneighbors_graph(x, 6, mode=mode, include_self=itself)
                b = knng.kneighbors_graph(x, 6, mode=mode, include_self=itself)
                np.testing.assert_allclose(a.toarray(), b.toarray(), atol=1e-12)
                self.assertEqual((a.nnz, a.dtype), (b.nnz, b.dtype))
                np.testing.assert_array_equal(a.indices, b.indices)
        for mode in ["connectivity", "distance"]:
            a = neighbors.kneighbors_graph(x, 1, mode=mode, include_self=True)
            b = knng.kneighbors_graph(x, 1, mode=mode, include_self=True, n_jobs=1)
            np.testing.assert_array_equal(a.toarray(), b.toarray())
            self.assertEqual(a.nnz, b.nnz)
        for settings in [{"metric": "inner_product"}, {"metric": "cosine", "value": "similarity"}]:
            one, two = (knng.kneighbors_graph(x, k, mode="distance", include_self=True, **settings) for k in (1, 2))
            np.testing.assert_array_equal(one.diagonal(), two.diagonal())
            self.assertEqual(one.nnz, 100)
            alone = knng.kneighbors_graph(x[:1], 1, mode="distance", include_self=True, **settings)
            np.testing.assert_array_equal(alone.toarray(), [[two[0, 0]]])
        single = knng.kneighbors_graph(x.astype(np.float32), 1, mode="distance", include_self=True)
        self.assertEqual((single.dtype, single.nnz), (np.float32, 100))
        with self.assertRaisesRegex(ValueError, "value=similarity goes with"):
            knng.kneighbors_graph(x, 1, mode="distance", include_self=True, value="similarity")
        with self.assertRaisesRegex(ValueError, "mode must be"):
            KNeighborsTransformer(n_neighbors=3).fit(x).kneighbors_graph(mode="connectvity")
        self.assertEqual(KNeighborsTransformer(mode="connectivity", n_neighbors=1).fit_transform(x).nnz, 100)
        with self.assertRaisesRegex(ValueError, "mode"):
            knng.kneighbors_graph(x, 6, mode="both")
        with self.assertRaisesRegex(ValueError, "include_self must be True, False or 'auto', not 'yes'"):
            knng.kneighbors_graph(x, 6, include_self="yes")


def scanpy_neighbors(adata, transformer):
    """What sc.pp.neighbors(adata, transformer=) does with a transformer up to its lists, from what it asks of one: the
    parameter n_neighbors from get_params(), fit_transform() of adata's rows, and of the matrix that comes a constant
    number of entries a row, self in the first column, n_neighbors entries kept."""
    n_neighbors = transformer.get_params()["n_neighbors"]
    representation = adata.obsm["X_pca"] if "X_pca" in adata.obsm else adata.X
    distances = transformer.fit_transform(representation)
    entries = distances.getnnz(axis=1)
    assert (entries == entries[0]).all(), "a row has another number of neighbours"
    shape = distances.shape[0], int(entries[0])
    indices, values = distances.indices.reshape(shape), distances.data.reshape(shape)
    assert (indices[:, 0] == np.arange(shape[0])).all(), "the first column is not the row itself"
    adata.obsp["distances"] = distances
    return indices[:, :n_neighbors], values[:, :n_neighbors]


class Scanpy(unittest.TestCase):
    def test_protocol(self):
        counts = np.random.default_rng(1).poisson(1.0, (300, 50)).astype(np.float32)
        counts[100:110] = counts[0]  # equal cells
        for x in [counts, sparse.csr_matrix(counts)]:
            for method in ["fit", "transform", "fit_transform", "get_params", "set_params"]:
                self.assertTrue(callable(getattr(KNeighborsTransformer(), method)))
            adata = anndata.AnnData(x)
            indices, values = scanpy_neighbors(adata, KNeighborsTransformer(n_neighbors=15))
            self.assertEqual(indices.shape, (300, 15))
            want, distances = knng.graph(counts, 14).umap()
            np.testing.assert_array_equal(indices, want)
            np.testing.assert_array_equal(values, distances)
            made = adata.obsp["distances"]
            self.assertEqual((made.shape, made.nnz, made.format), ((300, 300), 300 * 16, "csr"))
            self.assertTrue((made.diagonal() == 0).all())
            self.assertTrue((np.diff(made.data.reshape(300, 16), axis=1) >= 0).all())
            adata.obsm["X_pca"] = points(300, 8)
            indices, _ = scanpy_neighbors(adata, KNeighborsTransformer(n_neighbors=10, metric="cosine"))
            np.testing.assert_array_equal(indices[:, 1:], knng.graph(points(300, 8), 9, metric="cosine").indices)


if __name__ == "__main__":
    main()
