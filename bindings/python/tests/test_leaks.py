"""Every call of the package under valgrind: nothing of the library's is lost, and no byte is read or written that must
not be. What Python and NumPy do by themselves is not looked at."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from support import CI, main, need

need("scipy.sparse")

PROGRAM = """
import os, signal, sys, numpy as np, knng
from scipy.sparse import csr_matrix
x = np.random.default_rng(1).random((70, 9), np.float32)
bad = x.copy(); bad[5, 5] = np.nan

def refused(function, *arguments, **named):
    try:
        function(*arguments, **named)
    except (ValueError, TypeError, MemoryError, RuntimeError, OSError, NotImplementedError):
        return
    raise AssertionError(function)

for dtype in [np.float32, np.float64, np.uint8, np.float16]:
    g = knng.graph(np.asfortranarray(x * 9).astype(dtype), 4, metric="manhattan", threads=2)
g = knng.graph(x, 4, threads=2)
q = knng.graph(x, 4, query=x[::2, :].astype(np.float64), leave_out=np.arange(0, 70, 2))
with knng.DataSet(x, metric="cosine") as rows:
    other = rows.with_settings(metric="chebyshev")
    rows.graph(3), other.graph(3), rows.query(x, 3), rows.estimate(3), rows.read(), rows.settings, repr(rows)
    assert other.check(other.graph(3)) is None
refused(rows.graph, 3)
for k in [70, 0, 1 << 70, 2.0]:
    refused(knng.graph, x, k)
refused(knng.graph, bad, 3), refused(knng.graph, x, 3, query=bad), refused(knng.graph, x, 3, metric="none")
refused(knng.graph, x, 3, max_host_bytes=1), refused(knng.graph, np.tile(x, (99, 9)), 3, progress=lambda *_: True)
refused(knng.graph, x, 3, device="cuda:99"), refused(knng.graph, x[:0], 3), refused(g.sparse, "none")
for rule in ["directed", "union", "mutual:max", "snn"]:
    s = g.sparse(rule)
g.copy(np.int32, base=1, order="F"), g.umap(), g.rows("indegree"), g.rows("component"), g.stats, g.info, g.summary()
refused(q.rows, "component"), refused(g.copy, base=9)
h = knng.Graph.from_arrays(g.indices, g.distances, metric="euclidean")
refused(knng.Graph.from_arrays, g.indices + 70), refused(knng.Graph.from_arrays, g.indices, metric="none")
knng.graph(csr_matrix(x), 4, query=csr_matrix(x)), refused(knng.graph, csr_matrix(bad), 4)
g.to_scipy(), g.to_scipy("union")
ids, distances = map(np.from_dlpack, g.arrays())
y = np.from_dlpack(g.arrays()[1])
knng.graph(g.arrays()[1], 2)

def out(number, frame):
    raise TimeoutError

signal.signal(signal.SIGALRM, out)
signal.setitimer(signal.ITIMER_REAL, 1)  # while points enough for seconds are compared
try:
    while True:
        knng.graph(np.tile(x, (40, 4)), 5, metric="canberra", threads=1)
except TimeoutError:
    pass
else:
    raise AssertionError("not stopped")
signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a handler keeps the program's names beyond its end
os.chdir(sys.argv[1])
np.save("x.npy", x), knng.graph("x.npy", 4, query="x.npy"), refused(knng.graph, x, 4, query="none.npy")
g.save("g.knng"), knng.load("g.knng"), refused(knng.load, "none.knng"), refused(g.save, "none/g.knng")
knng.use_matrix_tiles(), knng.devices(), knng.metrics(), knng.statistics(), knng.settings()
kept = ids, distances, y, s.value, other, h
print("done")
"""


# The loader of libraries compares whole words of a run path, also behind its end.
SUPPRESSIONS = """{
   run path of a library
   Memcheck:Addr8
   fun:strncmp
   fun:is_dst
   ...
   fun:_dl_open
}
"""


class Leaks(unittest.TestCase):
    def test_nothing_is_lost(self):
        try:
            subprocess.run(["valgrind", "--version"], check=True, capture_output=True)
        except OSError:
            self.assertFalse(CI, "no valgrind")
            self.skipTest("no valgrind")
        with tempfile.TemporaryDirectory() as folder:
            program, log, known = (pathlib.Path(folder, name) for name in ["program.py", "log", "known.supp"])
            program.write_text(PROGRAM)
            known.write_text(SUPPRESSIONS)
            done = subprocess.run(
                ["valgrind", f"--log-file={log}", "--leak-check=full", "--show-leak-kinds=definite,indirect,possible",
                 f"--suppressions={known}", "--num-callers=40", sys.executable, str(program), folder],
                env=dict(os.environ, PYTHONMALLOC="malloc", OPENBLAS_NUM_THREADS="1"), capture_output=True, text=True)
            self.assertEqual(done.stdout, "done\n", done.stderr)
            text = re.sub(r"^==\d+== ?", "", log.read_text(), flags=re.M)
        self.assertIn("LEAK SUMMARY", text)
        # A record has a line of what it is and its frames, as "at 0x...: function (in object)".
        records = [record for record in text.split("\n\n")
                   if re.search(r"^   (at|by) 0x.*(libknng|knng_)", record, re.M)]
        self.assertEqual(records, [])


if __name__ == "__main__":
    main()
