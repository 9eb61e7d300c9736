"""Memory of real GPUs by the packages that own it, PyTorch and CuPy, in and out; where there is a GPU and one of the
two."""
import gc
import os
import signal
import sys
import threading
import time
import unittest

import numpy as np

import knng
from support import main, points

try:
    import torch
except ImportError:
    torch = None
try:
    import cupy
except ImportError:
    cupy = None
if not any(device.usable for device in knng.devices()[1:]):
    print(f"skipped: no GPU: {knng.devices()[-1].why_not}")
    sys.exit(77)
if not torch and not cupy:
    print("skipped: neither PyTorch nor CuPy")
    sys.exit(77)

X = points(3000, 32)
WANT = knng.graph(X, 8, device="cpu")


class Case(unittest.TestCase):
    def same(self, g, want=WANT):
        np.testing.assert_array_equal(g.indices, want.indices)
        np.testing.assert_array_equal(g.distances, want.distances)


@unittest.skipUnless(torch, "no PyTorch")
class Torch(Case):
    def test_in(self):
        x = torch.from_numpy(X)
        for place in [x, x.cuda(), x.pin_memory(), x.cuda().T.contiguous().T, x.cuda()[:, :]]:
            for device in ["cpu", "cuda"]:
                self.same(knng.graph(place, 8, device=device))
        self.same(knng.graph(x.cuda(), 8, query=x.cuda(), leave_out=torch.arange(3000).cuda()))
        for place in [x.cuda().double(), x.double()]:
            self.same(knng.graph(place, 8), knng.graph(X.astype(np.float64), 8))

    def test_types(self):
        for dtype in [torch.bfloat16, torch.float16, torch.int8, torch.uint8, torch.int64, torch.bool]:
            x = (torch.from_numpy(X) * 3).cuda().to(dtype)
            plain = x.cpu().to(torch.float32).numpy()
            self.same(knng.graph(x, 8), knng.graph(plain, 8))
            self.same(knng.graph(x.cpu(), 8), knng.graph(plain, 8))

    def test_what_a_stream_is_still_writing(self):
        with torch.cuda.stream(torch.cuda.Stream()):
            a = torch.randn(4000, 4000, device="cuda")
            for _ in range(100):
                a = (a @ a) / 4000
            x = torch.from_numpy(X).cuda() + 0 * a[:3000, :32].nan_to_num()
            self.same(knng.graph(x, 8))

    def test_out(self):
        for place in ["host", "device"]:
            g = knng.graph(torch.from_numpy(X).cuda(), 8, graph=place, device="cuda:0")
            self.same(g)
            ids, distances = map(torch.from_dlpack, g.arrays())
            self.assertEqual(ids.device.type, "cuda" if place == "device" else "cpu")
            del g
            gc.collect()
            np.testing.assert_array_equal(ids.cpu().numpy(), WANT.indices)
            np.testing.assert_array_equal(distances.cpu().numpy(), WANT.distances)

    def test_memory_comes_back(self):
        x = torch.from_numpy(points(20000, 32)).cuda()

        def free():
            gc.collect()
            return torch.cuda.mem_get_info()[0]

        for round_ in range(12):
            g = knng.graph(x, 50, graph="device", device="cuda:0")
            kept = torch.from_dlpack(g.arrays()[0])
            self.assertEqual(int(kept[5, 0]), int(g.indices[5, 0]))
            del g, kept
            if round_ == 3:
                before = free()
        self.assertLess(before - free(), 8 << 20)

    def test_gradients_are_refused_as_torch_does(self):
        with self.assertRaisesRegex((BufferError, RuntimeError), "gradient"):
            knng.graph(torch.zeros(9, 3, device="cuda", requires_grad=True), 2)


@unittest.skipUnless(cupy, "no CuPy")
class CuPy(Case):
    def test_in(self):
        x = cupy.asarray(X)
        for place in [x, cupy.asfortranarray(x), x[::-1][::-1], cupy.repeat(x, 2, axis=0)[::2]]:
            self.same(knng.graph(place, 8))

        class Interface:  # no DLPack
            def __init__(self, array):
                self.kept, self.__cuda_array_interface__ = array, array.__cuda_array_interface__

        for place in [x, cupy.asfortranarray(x), cupy.repeat(x, 2, axis=0)[::2]]:
            self.same(knng.graph(Interface(place), 8))

    def test_out(self):
        g = knng.graph(cupy.asarray(X), 8, graph="device", device="cuda:0")
        for array, want in zip(g.arrays(), [WANT.indices, WANT.distances]):
            for seen in [cupy.asarray(array), cupy.from_dlpack(array)]:
                np.testing.assert_array_equal(cupy.asnumpy(seen), want)
                self.assertEqual(seen.data.ptr, array.__cuda_array_interface__["data"][0])


class Interrupts(unittest.TestCase):
    def test_ctrl_c(self):
        x = points(400000, 100, np.float64)
        sent = []

        def send():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(1, send)
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            knng.graph(x, 10, metric="manhattan", device="cuda")
        self.assertLess(time.monotonic() - sent[0], 2)
        timer.join()


if __name__ == "__main__":
    main()
