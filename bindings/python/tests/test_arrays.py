"""Arrays of other packages in and out: DLPack, __cuda_array_interface__, pandas, scipy.sparse, AnnData. Memory of
devices is that of simulated ones (tests/backend), which end the program if the host reads it."""
import ctypes
import gc
import os
import sys
import tracemalloc
import unittest
import warnings

import numpy as np

import knng
from knng import _dlpack, _dtypes, _rows
from support import main, need, points

anndata, pandas, sparse = need("anndata", "pandas", "scipy.sparse")
X = points(60, 6)
WANT = knng.graph(X, 4)


class Tensor:
    """What another package exports: by DLPack alone, or with a version of it."""

    def __init__(self, array, dtype=None, device=(1, 0), address=None, version=None):
        self.array, self.device, self.version = array, device, version
        self.dtype = _dtypes.dtype_code(array.dtype, "x") if dtype is None else dtype
        self.address = address or array.ctypes.data
        self.streams = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None, max_version=None):
        self.streams.append(stream)
        if self.version and max_version is None:
            raise BufferError("read-only")
        return _dlpack.export(self, self.address, self.device, self.dtype, self.array.shape, max_version)


class DLPack(unittest.TestCase):
    def same(self, g, want=WANT):
        np.testing.assert_array_equal(g.indices, want.indices)
        np.testing.assert_array_equal(g.distances, want.distances)

    def test_in(self):
        for version in [None, (1, 0)]:
            x = Tensor(X, version=version)
            self.same(knng.graph(x, 4))
            self.same(knng.graph(X, 4, query=x, leave_out=Tensor(np.arange(60), version=version)))
            references = sys.getrefcount(x)
            rows = knng.DataSet(x)
            self.assertGreater(sys.getrefcount(x), references)
            rows.close()
            gc.collect()
            self.assertEqual(sys.getrefcount(x), references)
        self.assertEqual(_dlpack.pins, {})

    def test_in_is_no_copy(self):
        y = X.copy()
        with knng.DataSet(Tensor(y)) as rows:
            y[0] = 1000  # forbidden to others; this is how the test sees whose memory it is
            np.testing.assert_array_equal(rows.read(0, 1)[0], y[0])

    def test_in_by_an_array_that_is_no_ndarray(self):
        class Numpys:
            def __dlpack__(self, **options):
                return X.__dlpack__(**options)

            def __dlpack_device__(self):
                return X.__dlpack_device__()

        self.same(knng.graph(Numpys(), 4))

    def test_bfloat16(self):
        upper = (X.view(np.uint32) >> 16).astype(np.uint16)
        rounded = (upper.astype(np.uint32) << 16).view(np.float32)
        self.same(knng.graph(Tensor(upper, dtype=0x410), 4), knng.graph(rounded, 4))

    def test_refused(self):
        for wrong, words in [(Tensor(X, dtype=0x540), "type 5"), (Tensor(X, device=(10, 0)), "type 10"),
                             (Tensor(X, dtype=0x204), "4 bits")]:
            with self.assertRaisesRegex(TypeError, words):
                knng.graph(wrong, 4)
        with self.assertRaisesRegex(ValueError, "2 dimensions"):
            knng.graph(Tensor(X[0]), 4)
        self.assertEqual(_dlpack.pins, {})

    def test_out(self):
        g = knng.graph(X, 4)
        for array, want in zip(g.arrays(), [g.indices, g.distances]):
            self.assertEqual((array.shape, array.dtype, array.device, len(array)), ((60, 4), want.dtype, (1, 0), 60))
            for seen in [np.from_dlpack(array), np.asarray(array)]:
                np.testing.assert_array_equal(seen, want)
                self.assertEqual(seen.ctypes.data, want.ctypes.data)
            capsule = array.__dlpack__(max_version=(1, 1))
            self.assertEqual(_dlpack._capsule_name(capsule), b"dltensor_versioned")
            with self.assertRaises(BufferError):
                array.__dlpack__(copy=True)
            with self.assertRaises(BufferError):
                array.__dlpack__(dl_device=(2, 0))
        kept = np.from_dlpack(g.arrays()[0])
        want = WANT.indices.copy()
        del g, array, seen, capsule
        gc.collect()
        self.assertEqual(len(_dlpack.pins), 1)
        np.testing.assert_array_equal(kept, want)
        del kept
        gc.collect()
        self.assertEqual(_dlpack.pins, {})

    def test_what_goes_out_comes_in(self):
        x = knng.graph(points(200, 5, np.float64), 9).arrays()[1]
        self.same(knng.graph(x, 4), knng.graph(np.array(x), 4))


class CudaArray:
    def __init__(self, address, array, strides=None, stream=None, mask=None):
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "data": (address, False),
                                         "strides": strides, "version": 3, "stream": stream, "mask": mask}


@unittest.skipUnless("KNNG_TEST_FAKE_DEVICES" in os.environ, "no simulated devices")
class Devices(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        fake = ctypes.CDLL(os.environ["KNNG_BACKEND_DIR"] + "/libknng_cuda.so")
        fake.knng_fake_allocate.restype = ctypes.c_void_p
        fake.knng_fake_allocate.argtypes = [ctypes.c_int32, ctypes.c_int32, ctypes.c_int64]
        fake.knng_fake_copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint64]
        cls.fake = fake
        cls.count = sum(device.usable for device in knng.devices()) - 1
        if cls.count < 1:
            raise AssertionError(f"no device can be used: {knng.devices()}")

    def on_device(self, array, device=0, stream=1):
        """Memory whose values are there when somebody has waited for the stream."""
        address = self.fake.knng_fake_allocate(2, device, array.nbytes)
        self.fake.knng_fake_copy(address, np.ascontiguousarray(array).ctypes.data, array.nbytes, stream)
        return address

    def from_device(self, address, like):
        array = np.empty_like(like)
        self.fake.knng_fake_copy(array.ctypes.data, address, array.nbytes, 0)
        return array

    def same(self, g):
        np.testing.assert_array_equal(g.indices, WANT.indices)
        np.testing.assert_array_equal(g.distances, WANT.distances)

    def test_dlpack_in(self):
        for device in range(self.count):
            x = Tensor(X, device=(2, device), address=self.on_device(X, device))
            self.same(knng.graph(x, 4))
            self.same(knng.graph(x, 4, device=f"cuda:{device}"))
            self.assertEqual(set(x.streams), {1})
            ids = np.arange(60)
            self.same(knng.graph(X, 4, query=x, leave_out=Tensor(ids, device=(2, device),
                                                                 address=self.on_device(ids, device))))

    def test_cuda_array_interface_in(self):
        address = self.on_device(X)
        self.assertEqual(_rows.view(CudaArray(address, X)).matrix.data, address)
        for device in range(self.count):
            self.same(knng.graph(CudaArray(self.on_device(X, device, 0), X), 4))
            self.same(knng.graph(CudaArray(self.on_device(X, device), X, strides=(24, 4), stream=1), 4))
            turned = np.asfortranarray(X)
            self.same(knng.graph(CudaArray(self.on_device(turned.T, device), X, strides=(4, 240), stream=1), 4))
        with self.assertRaisesRegex(TypeError, "masked"):
            knng.graph(CudaArray(self.on_device(X), X, mask=X), 4)
        with self.assertRaisesRegex(ValueError, "multiples"):
            knng.graph(CudaArray(self.on_device(X), X, strides=(25, 4)), 4)

    def test_out(self):
        g = knng.graph(X, 4, graph="device", device="cuda:0")
        self.assertIsNone(g._lists)  # nothing is copied before it is asked for
        self.same(g)
        self.assertIs(g.indices, g.indices)
        self.assertFalse(g.indices.flags.writeable or g.distances.flags.writeable)
        for array, want in zip(g.arrays(), [WANT.indices, WANT.distances]):
            self.assertEqual(array.device, (2, 0))
            self.assertFalse(hasattr(array, "__array_interface__"))
            shows = array.__cuda_array_interface__
            self.assertEqual((shows["shape"], shows["typestr"], shows["strides"]), ((60, 4), want.dtype.str, None))
            np.testing.assert_array_equal(self.from_device(shows["data"][0], want), want)
            tensor = _dlpack.Imported(array, 1)
            self.assertEqual((tensor.device_type, tensor.device, tensor.shape), (2, 0, (60, 4)))
            np.testing.assert_array_equal(self.from_device(tensor.data, want), want)
        # From a device's memory to a device without the host.
        again = knng.graph(g.arrays()[1], 4, graph="device", device="cuda:0")
        np.testing.assert_array_equal(again.indices, knng.graph(np.array(WANT.distances), 4).indices)


class NoDevices(unittest.TestCase):
    @unittest.skipIf(any(device.usable for device in knng.devices()[1:]), "there are devices")
    def test_memory_of_a_device_without_one(self):
        for x in [CudaArray(4096, X), Tensor(X, device=(2, 0))]:
            with self.assertRaisesRegex(NotImplementedError, "there is no CUDA device"):
                knng.graph(x, 4)


class Frames(unittest.TestCase):
    def test_pandas(self):
        frame = pandas.DataFrame(X, columns=list("abcdef"))
        view = _rows.view(frame)
        self.assertEqual(view.matrix.data, frame.to_numpy().ctypes.data)
        np.testing.assert_array_equal(knng.graph(frame, 4).indices, WANT.indices)
        frame["a"] = frame["a"].astype(np.float64)
        np.testing.assert_array_equal(knng.graph(frame, 4).indices, WANT.indices)
        frame["b"] = pandas.array(frame["b"], dtype="Float64")
        np.testing.assert_array_equal(knng.graph(frame, 4).indices, WANT.indices)
        frame.loc[3, "b"] = pandas.NA
        with self.assertRaisesRegex(ValueError, "NaN.*row 3, column 1"):
            knng.graph(frame, 4)
        large = [2**53, 2**53 + 1, 0]
        with self.assertRaisesRegex(ValueError, "9007199254740993"):  # not rounded
            knng.graph(pandas.DataFrame({"a": pandas.array(large, dtype="Int64")}), 1)
        small = pandas.DataFrame({"a": pandas.array([1, 2, 4], dtype="UInt8"), "b": [1.5, 2, 0]})
        small["b"] = small["b"].astype("Float32")
        self.assertEqual(knng.graph(small, 1).distances.dtype, np.float32)
        with self.assertRaisesRegex(ValueError, "NaN.*row 1, column 0"):
            knng.graph(pandas.DataFrame({"a": pandas.array([1, None, 2], dtype="Int64")}), 1)
        frame["name"] = "x"
        with self.assertRaisesRegex(TypeError, "x has columns that are no numbers: name"):
            knng.graph(frame, 4)


class Sparse(unittest.TestCase):
    def test_formats(self):
        x = sparse.random(90, 40, 0.2, "csr", np.float32, random_state=1)
        want = knng.graph(x.toarray(), 5)
        for form in [x, x.tocsc(), x.tocoo(), x.tolil(), sparse.csr_array(x), x.tobsr()]:
            g = knng.graph(form, 5)
            np.testing.assert_array_equal(g.indices, want.indices)
            np.testing.assert_array_equal(g.distances, want.distances)
        np.testing.assert_array_equal(knng.graph(x, 5, query=x, leave_out=np.arange(90)).indices, want.indices)
        with self.assertRaisesRegex(ValueError, "one row and one column"):
            knng.graph(x[:0], 5)
        with self.assertRaises(TypeError):
            knng.graph(x.astype(complex), 5)

    def test_in_blocks(self):
        x = sparse.random(3000, 400, 0.01, "csr", np.float64, random_state=1)
        before, _rows.BLOCK_BYTES = _rows.BLOCK_BYTES, 100 * 400 * 8
        try:
            self.assertEqual([len(block) for block in _rows.dense_blocks(x)], [100] * 30)
            tracemalloc.start()
            rows = knng.DataSet(x)
            self.assertLess(tracemalloc.get_traced_memory()[1], 6 * _rows.BLOCK_BYTES)  # NumPy's part; all is 9.6 MB
            np.testing.assert_array_equal(rows.read(2990), x[2990:].toarray())
        finally:
            tracemalloc.stop()
            _rows.BLOCK_BYTES = before


class AnnData(unittest.TestCase):
    def test_cells(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            adata = anndata.AnnData(X)
            np.testing.assert_array_equal(knng.graph(adata, 4).indices, WANT.indices)
            np.testing.assert_array_equal(knng.graph(anndata.AnnData(sparse.csr_matrix(X)), 4).indices, WANT.indices)
            self.assertEqual(knng.DataSet(adata).with_settings(metric="cosine").sources, [{"matrix": "X"}])
            adata.obsm["X_pca"] = points(60, 3, seed=9)
            np.testing.assert_array_equal(knng.graph(adata, 4).indices, knng.graph(points(60, 3, seed=9), 4).indices)
            g = knng.graph(X, 4, query=adata[:5].obsm["X_pca"] @ np.ones((3, 6), np.float32))
            self.assertEqual(g.shape, (5, 60))


if __name__ == "__main__":
    main()
