"""The result: lists of neighbours, what is known about them, and the forms that other packages take."""
from __future__ import annotations

import ctypes
import math
import os
import tempfile
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

import numpy as np

from . import _declarations as c
from . import _rows
from ._control import CONTROL, Progress, run
from ._dtypes import HOST, numpy_dtype
from ._errors import BudgetError, RangeError, StateError
from ._handle import Handle
from ._library import call, text
from ._settings import file_name, integer, setting_text, statistics, word
from ._shared import Shared, shown
from ._sparse import Sparse

if TYPE_CHECKING:
    import igraph
    import networkx
    import scipy.sparse

#: Texts that a graph has, as knng_graph_text() names them.
TEXTS = ("metric", "p", "precision", "engine", "selector", "device", "version", "fingerprint", "value", "self")


class Graph:
    """Exact nearest neighbours: from knng.graph(), knng.load() or Graph.from_arrays(). It never changes, and needs
    neither the data set nor the rows that it was made from. Any number of threads may read it at the same time.

    Attributes:
        shape: rows, and points that could be neighbours
        width: entries of a row: k, or k + 1 under self="first"
        same_points: whether rows and columns are the same points; False for a query
    """

    _handle: Handle
    shape: Tuple[int, int]
    width: int
    same_points: bool
    _lists: Optional[Tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]
    _value_dtype: np.dtype[Any]
    _arrays: Tuple[Shared, ...]

    def __init__(self) -> None:
        raise TypeError("graphs are made by knng.graph(), knng.DataSet, knng.load() and knng.Graph.from_arrays()")

    @classmethod
    def _of(cls, handle: Handle) -> Graph:
        graph = object.__new__(cls)
        graph._handle = handle
        rows, columns, width = ctypes.c_int64(), ctypes.c_int64(), ctypes.c_int64()
        same = ctypes.c_int32()
        ids, values = c.Matrix(), c.Matrix()
        with handle as g:
            call("knng_graph_shape", g, ctypes.byref(rows), ctypes.byref(columns), ctypes.byref(width),
                 ctypes.byref(same))
            call("knng_graph_view", g, ctypes.byref(ids), ctypes.byref(values))
        graph.shape = rows.value, columns.value
        graph.width = width.value
        graph.same_points = bool(same.value)
        graph._value_dtype = numpy_dtype(values.dtype)
        lists = (rows.value, width.value)
        graph._arrays = tuple(Shared(matrix, lists, handle) for matrix in (ids, values))
        graph._lists = None
        if ids.space == HOST:
            graph._lists = shown(ids, lists, handle), shown(values, lists, handle)
        return graph

    @classmethod
    def from_arrays(cls, indices: Any, distances: Any = None, *, columns: Optional[int] = None, base: int = 0,
                    metric: Optional[str] = None, p: Optional[float] = None, value: Optional[str] = None) -> Graph:
        """A graph from another package's result, which is copied. Lists stay in the order in which they are given.

        Args:
            indices: n x k ids of any integers; base - 1 where a row is shorter
            distances: n x k, float32 or float64, +inf where there is no neighbour; None: 0 everywhere
            columns: number of points that could be neighbours, if rows are queries; None: rows and columns are the same
            base: 0 or 1: what ids count from
            metric, p, value: what the distances are, as for knng.graph(); None: unknown. Files of the graph name them,
                and `knng check` goes by them
        """
        ids = _rows.view_of_ids(indices, "indices")
        values = None if distances is None else _rows.view(distances, "distances")
        handle = Handle("knng_graph_destroy", "graph")
        call("knng_graph_import", handle.out(), ctypes.byref(ids.matrix), values and ctypes.byref(values.matrix),
             integer(base, "base"), ids.matrix.rows if columns is None else integer(columns, "columns"),
             int(columns is None), names={"ids": "indices", "values": "distances"})
        facts = b"".join(b"text.%s=%s\n" % (name.encode(), setting_text(name, told).replace(b"\n", b"\\n"))
                         for name, told in (("metric", metric), ("p", p), ("value", value)) if told is not None)
        if facts:
            call("knng_graph_describe", handle.pointer, facts, None, None, names={"facts": "p"})
        return cls._of(handle)

    @property
    def indices(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """n x k ids, int64, nearest first. Read-only: the library's own memory, no copy (under graph="device" a copy)."""
        return self._on_host()[0]

    @property
    def distances(self) -> np.ndarray[Any, Any]:
        """n x k, float32, or float64 for float64 rows, as `indices`; similarities are largest first."""
        return self._on_host()[1]

    def _on_host(self) -> Tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        if self._lists is None:  # made with graph="device", and now somebody asks
            copies = self.copy()
            for array in copies:
                array.flags.writeable = False
            self._lists = copies
        return self._lists

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        kind = "graph" if self.same_points else "query"
        return (f"<knng.Graph: {kind} of {self.shape[0]} rows, {self.width} of {self.shape[1]} each, "
                f"metric={self.info['metric']}>")

    def __reduce__(self) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph.knng")
            self.save(path)
            with open(path, "rb") as file:
                return _from_bytes, (file.read(),)

    def __copy__(self) -> Graph:  # it never changes
        return self

    def __deepcopy__(self, memo: Any) -> Graph:
        return self

    def equals(self, other: Graph) -> bool:
        """Whether both graphs say the same: shape, width, same_points, ids, distances with their dtype and bit for bit
        (0.0 is another than -0.0), and what the distances are: metric, p, value. What made them does not count: engine,
        device, version, statistics, marks of rows, fingerprint. Reads all lists, under graph="device" in a copy.

        `==` and hash() are of the object: a graph is a key or a member of a set without a look at its lists.

        Args:
            other: a graph from anywhere
        Raises:
            TypeError: other is no graph
        """
        if not isinstance(other, Graph):
            raise TypeError(f"other must be a knng.Graph, not {type(other).__name__}")
        if other is self:
            return True
        if self._meaning() != other._meaning():
            return False
        bits = np.dtype(f"u{np.dtype(self._value_dtype).itemsize}")
        return bool(np.array_equal(self.indices, other.indices)
                    and np.array_equal(self.distances.view(bits), other.distances.view(bits)))

    def _meaning(self) -> Tuple[Any, ...]:
        info = self.info
        return (self.shape, self.width, self.same_points, self._value_dtype,
                *(info[name] for name in ("metric", "p", "value")))

    # ---- What is known about it

    @property
    def info(self) -> Dict[str, str]:
        """Texts: metric, p, precision, engine, selector, device, version, fingerprint of the data, value, self."""
        with self._handle as g:
            return {name: text("knng_graph_text", g, name) for name in TEXTS}

    @property
    def stats(self) -> Dict[str, Optional[float]]:
        """Statistics of the build; knng.statistics() says what each means. None is one that is not known: all but rows
        and columns of a graph from elsewhere, duplicates of a graph of queries."""
        number = ctypes.c_double()
        found = {}
        with self._handle as g:
            for name in statistics():
                call("knng_graph_stat", g, name.encode(), ctypes.byref(number))
                found[name] = None if math.isnan(number.value) else number.value
        return found

    def rows(self, what: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        """One number for each row, int64.

        Args:
            what: "ties": 1 if a row that was not returned is exactly as far as the last that was (knng.StateError where
                that is not known, as of a graph from elsewhere); "proof": how the row
                was proved; "indegree": in how many other lists the row appears (one number for each column);
                "component": number of its weakly connected component
        """
        numbers = np.empty(self.shape[1] if what == "indegree" else self.shape[0], np.int64)
        with self._handle as g:
            call("knng_graph_rows", g, word(what, "what"), ctypes.byref(_rows.writable(numbers)))
        return numbers

    def summary(self) -> str:
        """A few lines on the graph: components, duplicates, ties, hubs, distances, where it was made."""
        info, stats = self.info, self.stats
        indegree = self.rows("indegree")
        last = self.distances[:, -1]
        lines = [repr(self)[1:-1]]
        if self.same_points:
            lines.append(f"components: {int(self.rows('component').max()) + 1}")
        lines += [
            f"in how many lists a point is: at most {int(indegree.max())}, {int((indegree == 0).sum())} points in none",
            f"{info['value']} of the last neighbour: {last.min():.6g} to {last.max():.6g}, median "
            f"{np.median(last):.6g}",
            f"duplicates: {_known(stats['duplicates'])}, rows cut at a tie: {_known(stats['ties_at_k'])}",
        ]
        seconds = stats["seconds_total"]
        lines.append("made by another program" if seconds is None else
                     f"made by {info['device']}, engine {info['engine']}, in {seconds:.3g} s; "
                     f"{_known(stats['proved'])} rows proved")
        return "\n".join(lines)

    # ---- Arrays

    def copy(self, ids: Any = np.int64, distances: Any = None, *, base: int = 0,
             order: str = "C") -> Tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """New arrays (indices, distances), writable, in one copy.

        Args:
            ids: int64, int32, int16 or uint16
            distances: float64, float32 or float16; None: as they are
            base: 0 or 1: the first row's id
            order: "C", or "F" for column-major
        Raises:
            knng.RangeError: an id or a distance that the dtype cannot hold
        """
        if order not in ("C", "F"):
            raise ValueError(f"order must be 'C' or 'F', not {order!r}")
        lists = (self.shape[0], self.width)
        dtypes = ids, self._value_dtype if distances is None else distances
        to_ids, to_values = (np.empty(lists, dtype, order=order) for dtype in dtypes)  # type: ignore[call-overload]
        with self._handle as g:
            call("knng_graph_copy", g, integer(base, "base"), ctypes.byref(_rows.writable(to_ids)),
                 ctypes.byref(_rows.writable(to_values)), names={"values": "distances"})
        return to_ids, to_values

    def arrays(self) -> Tuple[Shared, ...]:
        """(indices, distances) where they are, on the host or under graph="device" on a GPU, for packages that take
        DLPack or __cuda_array_interface__: torch.from_dlpack(a), cupy.asarray(a). Not copied; do not write to them."""
        return self._arrays

    def umap(self) -> Tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """(indices, distances), the row itself first at distance 0, writable: umap's `precomputed_knn`.

        umap counts the row itself: n_neighbors=15 is k=14 here."""
        self._needs_square("umap()")
        info = self.info
        if info["value"] == "similarity":
            raise StateError("umap() needs distances, and the graph has similarities: build with value='distance'")
        if info["self"] == "first":
            return self.copy()
        if info["metric"] == "inner_product":
            raise StateError("under inner_product a row is not nearest to itself: build with self='first'")
        n, k = self.shape[0], self.width
        ids, distances = np.empty((n, k + 1), np.int64), np.empty((n, k + 1), self._value_dtype)
        ids[:, 0] = np.arange(n)
        distances[:, 0] = 0
        with self._handle as g:
            call("knng_graph_copy", g, 0, ctypes.byref(_rows.writable(ids[:, 1:])),
                 ctypes.byref(_rows.writable(distances[:, 1:])))
        return ids, distances

    # ---- Sparse matrices and graphs of other packages

    def sparse(self, rule: str = "directed", *, max_bytes: int = 0, progress: Progress = None) -> Sparse:
        """The graph as a sparse matrix, entries by row, then column.

        Args:
            rule: "directed"; "union", "mutual", each also with ":mean", ":max", ":min", ":product" (of the two
                distances where both rows list each other); "union:probabilistic"; "snn:rank", "snn:number",
                "snn:jaccard"
            max_bytes: most memory that it may take; 0: no limit. "snn" grows with the square of a hub's lists.
        """
        handle = Handle("knng_sparse_destroy", "sparse matrix")
        with self._handle as g:
            run("knng_graph_sparse", g, word(rule, "rule"), CONTROL, handle.out(), progress=progress,
                max_bytes=integer(max_bytes, "max_bytes"),
                names={"control": "max_bytes"})
        return Sparse._of(handle)

    def to_scipy(self, rule: str = "directed", *, max_bytes: int = 0,
                 progress: Progress = None) -> scipy.sparse.csr_matrix:
        """A scipy.sparse.csr_matrix of the distances (or what the rule makes of them), n x n, or m x n for queries.

        Args:
            rule, max_bytes, progress: as of sparse(). Under "directed" max_bytes is of the arrays that are returned.

        "directed" has k entries a row, the nearest first, as scikit-learn's graphs have them; under any other rule
        entries are by column. Ids are int32 where they fit. Distances of 0 are entries like others: eliminate_zeros()
        would drop neighbours."""
        if rule != "directed":
            return self.sparse(rule, max_bytes=max_bytes, progress=progress).to_scipy()
        from scipy.sparse import csr_matrix

        entries = self.shape[0] * self.width
        index = np.dtype(_index_dtype(max(self.shape[1], entries)))
        max_bytes = integer(max_bytes, "max_bytes")
        needed = (entries + self.shape[0] + 1) * index.itemsize + entries * np.dtype(self._value_dtype).itemsize
        if max_bytes < 0:
            raise RangeError(f"max_bytes={max_bytes} must be at least 0", argument="max_bytes", given=max_bytes,
                             limit=0)
        if 0 < max_bytes < needed:
            raise BudgetError(f"max_bytes={max_bytes} is less than the {needed} bytes that the matrix takes",
                              argument="max_bytes", given=max_bytes, limit=needed)
        ids, values = self.copy(index)
        indptr = np.arange(0, self.shape[0] * self.width + 1, self.width, dtype=ids.dtype)
        if self._has_gaps():
            kept = ids >= 0
            indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(ids.dtype)
            ids, values = ids[kept], values[kept]
        return csr_matrix((values.reshape(-1), ids.reshape(-1), indptr), shape=self.shape)

    def to_igraph(self, rule: str = "union", **options: Any) -> igraph.Graph:
        """An igraph.Graph with the edge attribute "weight": undirected, or directed under the rule "directed".

        Weights are the graph's distances, or what the rule makes of them: communities are found with weights that are
        larger for nearer points, such as rule="snn:jaccard"."""
        import igraph

        self._needs_square("to_igraph()")
        source, target, weight = self._edges(rule, options)
        return igraph.Graph(n=self.shape[0], edges=np.column_stack([source, target]), directed=rule == "directed",
                            edge_attrs={"weight": weight.tolist()})

    def to_networkx(self, rule: str = "union", **options: Any) -> networkx.Graph:
        """A networkx.Graph with the edge attribute "weight", as to_igraph(); a DiGraph under the rule "directed"."""
        import networkx

        self._needs_square("to_networkx()")
        source, target, weight = self._edges(rule, options)
        made = networkx.DiGraph() if rule == "directed" else networkx.Graph()
        made.add_nodes_from(range(self.shape[0]))
        made.add_weighted_edges_from(zip(source.tolist(), target.tolist(), weight.tolist()))
        return made

    def to_pandas(self) -> Any:
        """A pandas.DataFrame of edges: source, target, weight (the distance), rank (1 is the nearest)."""
        import pandas

        first = 0 if self.info["self"] == "first" else 1
        n, k = self.shape[0], self.width
        frame = pandas.DataFrame({
            "source": np.repeat(np.arange(n), k), "target": self.indices.reshape(-1),
            "weight": self.distances.reshape(-1), "rank": np.tile(np.arange(first, first + k), n)})
        return frame[frame["target"] >= 0].reset_index(drop=True) if self._has_gaps() else frame

    def _edges(self, rule: str, options: Dict[str, Any]) -> Tuple[Any, Any, Any]:
        made = self.sparse(rule, **options)
        if rule == "directed":
            return made.row, made.col, made.value
        once = made.row < made.col
        return made.row[once], made.col[once], made.value[once]

    def _has_gaps(self) -> bool:
        """Only graphs from elsewhere have rows that are shorter."""
        return self.stats["proved"] != self.shape[0] and bool((self.indices < 0).any())

    def _needs_square(self, what: str) -> None:
        if not self.same_points:
            raise StateError(f"{what} needs a graph of the rows among themselves, and this is one of queries")

    # ---- Files

    def save(self, path: Any, format: Optional[str] = None, *, progress: Progress = None) -> None:
        """Writes the graph to a file, beside its target first, then renamed. A file that is there is replaced if it is a
        graph, or empty; any other may be data and stays (knng.FileError).

        Args:
            path: a name ending in .knng (with a checksum) or .npz (for NumPy, too), which keep everything; or, for other
                programs and not for load(), in .mtx, .tsv, .ivecs (values go to .fvecs) or .ibin (values go to .fbin)
            format: "knng", "npz", "mtx", "tsv", "ivecs" or "ibin"; None: by the suffix of the name
        Raises:
            knng.UnsupportedError: .npz without the library of formats, which a wheel does not bring
        """
        with self._handle as g:
            run("knng_graph_save", g, file_name(path), None if format is None else word(format, "format"), CONTROL,
                progress=progress)


def load(path: Any, *, progress: Progress = None) -> Graph:
    """Reads a graph that Graph.save() or the command wrote as .knng or .npz. Everything is checked before it is
    believed."""
    handle = Handle("knng_graph_destroy", "graph")
    run("knng_graph_load", handle.out(), file_name(path), CONTROL, progress=progress)
    return Graph._of(handle)


def _from_bytes(content: bytes) -> Graph:
    """A graph that was pickled: what its .knng file holds."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.knng")
        with open(path, "wb") as file:
            file.write(content)
        return load(path)


def _known(number: Optional[float]) -> str:
    return "not known" if number is None else f"{number:.0f}"


def _index_dtype(largest: int) -> Any:
    return np.int32 if largest <= np.iinfo(np.int32).max else np.int64
