"""Rows, settings, and the calls that find neighbours."""
from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from . import _declarations as c
from . import _rows
from ._control import CONTROL, Progress, run
from ._dtypes import numpy_dtype
from ._errors import RangeError
from ._graph import Graph
from ._handle import Handle
from ._library import call, lib, text
from ._settings import file_name, integer, setting_text, settings


#: What other packages call a setting, or have as an argument that nothing here answers to.
_ELSEWHERE = {"n_jobs": "the number of threads is threads=", "num_threads": "the number of threads is threads=",
              "n_neighbors": "the number of neighbours is k", "n": "the number of neighbours is k",
              "include_self": "each row itself comes first by self='first'",
              "algorithm": "how the lists are found changes nothing in them",
              "use_rep": "give the matrix itself, as adata.obsm['X_umap']",
              "radius": "lists have k entries, whatever their distance", "metric_params": "an exponent is p="}


#: As of knng_file_text().
_FILE_TEXTS = ("file", "matrix", "form", "header", "row_names", "separator")


def _is_file(x: Any) -> bool:
    return isinstance(x, (str, os.PathLike))


def _files(x: Any) -> List[Any]:
    """The names of files that x is, of one or of several; [] for anything else."""
    if _is_file(x):
        return [x]
    return list(x) if isinstance(x, (list, tuple)) and x and all(map(_is_file, x)) else []


@dataclass(frozen=True)
class Plan:
    """What a graph or query would take, from DataSet.estimate(). Bytes are peaks."""
    devices: int
    host_bytes: int
    device_bytes: int
    smallest_host: int
    smallest_device: int
    tile_rows: int
    tile_cols: int
    tiles: int


class DataSet:
    """Rows with settings, for more than one graph or query of the same rows. `knng.graph()` is shorter for one.

    Args:
        x: n x d, a row a point. Arrays of real numbers of any strides, of NumPy or anything with DLPack,
            __cuda_array_interface__, the array interface or buffers, on the host or on a GPU, and pandas frames of
            one dtype, are not copied, and **must not change** until the data set is closed. Sparse matrices of
            SciPy are made dense, in blocks, in memory of the library: n x d values. Of AnnData obsm["X_pca"] is taken,
            or X where there is none. A str or a path names a file of rows (.npy, .csv, .h5ad, IDX, ...), which is
            read; a list of such names is several files, one after the other. `sources` tells what was taken.
            file_points="columns" is for files alone: of an array whose points are columns give x.T. For queries from
            files beside an array take with_settings(file_points="columns").
        progress: None, True (a bar of tqdm, where there is one), a class like tqdm.tqdm, or a function of (stage, done,
            total) that stops the call by returning something true.
        **settings: metric="cosine", threads=2, device="cpu", ...: see knng.settings(). They hold for all calls;
            with_settings() gives the same rows with others.

    Raises:
        TypeError, ValueError (knng.DataError for NaN or infinity, with row and column), MemoryError, OSError.

    Any number of threads may use one data set at the same time. It never changes.
    """

    def __init__(self, x: Any, /, *, progress: Progress = None, **settings: Any) -> None:
        files = _files(x)
        if not files and settings.get("file_points") not in (None, "rows"):  # nothing would change
            raise ValueError(f"file_points={settings['file_points']!r} is for files, and x is none: of an array whose "
                             "points are columns give x.T; for queries from files take "
                             "with_settings(file_points='columns')")
        self._handle = Handle("knng_destroy", "data set")
        self._files = len(files)
        x, self._matrix = _rows.of_anndata(x)
        names = {"rows": f"{self._matrix} of x" if self._matrix else "x"}
        with self._handle as h:
            call("knng_create", self._handle.out(), 0, 0)
            self._set(settings)
            if files:
                for file in files:
                    run("knng_add_file", h, file_name(file, "x"), CONTROL, progress=progress, names={"path": "x"})
            elif _rows.is_sparse(x):
                if 0 in x.shape:
                    raise ValueError(f"x needs at least one row and one column, it has shape {x.shape}")
                first = 0
                for block in _rows.dense_blocks(x):
                    run("knng_add", h, ctypes.byref(_rows.view(block).matrix), CONTROL, progress=progress,
                        names=names, first_row=first)
                    first += len(block)
            else:
                view = _rows.view(x)
                run("knng_borrow", h, ctypes.byref(view.matrix), CONTROL, progress=progress, names=names)
                self._handle.owners.append(view.owner)
        self._shape = self._read_shape()

    def _set(self, settings: Dict[str, Any]) -> None:
        for key, value in settings.items():
            if key in _ELSEWHERE:
                raise TypeError(f"{key} is no setting: {_ELSEWHERE[key]}")
            if value is None:
                text("knng_get", self._handle.pointer, key)  # refuses what is none
            else:
                call("knng_set", self._handle.pointer, key.encode(), setting_text(key, value), names={"key": key})

    def _read_shape(self) -> Tuple[int, int, int]:
        rows, dim, dtype = ctypes.c_int64(), ctypes.c_int64(), ctypes.c_int32()
        with self._handle as h:
            call("knng_shape", h, ctypes.byref(rows), ctypes.byref(dim), ctypes.byref(dtype))
        return rows.value, dim.value, dtype.value

    @property
    def shape(self) -> Tuple[int, int]:
        """Points, values of each."""
        return self._shape[:2]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return numpy_dtype(self._shape[2])

    def __len__(self) -> int:
        return self._shape[0]

    def __repr__(self) -> str:
        if self._handle.closed:
            return "<knng.DataSet, closed>"
        metric = self.settings["metric"]
        return f"<knng.DataSet {self._shape[0]} x {self._shape[1]}, metric={metric}>"

    @property
    def settings(self) -> Dict[str, str]:
        """All settings as texts."""
        with self._handle as h:
            return {option.name: text("knng_get", h, option.name) for option in settings()}

    @property
    def sources(self) -> List[Dict[str, str]]:
        """What was taken of files whose names leave that open, and of AnnData: of each {"file": "cells.h5ad", "matrix":
        "obsm/X_pca", "form": "dense"}; of a text table "header", "row_names" and "separator". [] for other rows."""
        if self._matrix:
            return [{"matrix": self._matrix}]
        with self._handle as h:
            texts = [{name: text("knng_file_text", h, i, name) for name in _FILE_TEXTS} for i in range(self._files)]
        return [{name: value for name, value in source.items() if value} for source in texts]

    def with_settings(self, /, **settings: Any) -> DataSet:
        """The same rows, not copied, with some settings changed."""
        other = object.__new__(DataSet)
        other._handle = Handle("knng_destroy", "data set")
        other._shape, other._files, other._matrix = self._shape, self._files, self._matrix
        with self._handle as h:
            other._handle.owners = list(self._handle.owners)
            call("knng_share", other._handle.out(), h)
        other._set(settings)
        return other

    def graph(self, k: int, *, progress: Progress = None) -> Graph:
        """The k nearest other rows of every row. Raises knng.RangeError, a ValueError, unless 1 <= k < n."""
        _before_build()
        graph = Handle("knng_graph_destroy", "graph")
        with self._handle as h:
            run("knng_build", h, integer(k, "k"), CONTROL, graph.out(), progress=progress, names={"rows": "x"})
        return Graph._of(graph)

    def query(self, query: Any, k: int, *, leave_out: Any = None, progress: Progress = None) -> Graph:
        """The k nearest rows of every query row.

        Args:
            query: m x d, of any dtype, as x of the data set (sparse queries are made dense whole), or a file's name.
            k: neighbours, at most n
            leave_out: m ids: the row that a query must not return, such as the query itself; -1 for none

        The setting self has no meaning here. value_type="auto" goes by the dtype of the data set.
        """
        _before_build()
        graph = Handle("knng_graph_destroy", "graph")
        k = integer(k, "k")
        with self._handle as h:
            if _is_file(query):
                if leave_out is not None:
                    raise TypeError("leave_out goes with queries in memory, not with those of a file")
                run("knng_query_file", h, file_name(query, "query"), k, CONTROL, graph.out(), progress=progress,
                    names={"path": "query", "rows": "x"})
            else:
                query, _ = _rows.of_anndata(query)
                rows = _rows.view(query.toarray() if _rows.is_sparse(query) else query, "query")
                ids = None if leave_out is None else _rows.column(leave_out, "leave_out", rows.matrix.rows)
                run("knng_query", h, ctypes.byref(rows.matrix), ids and ctypes.byref(ids.matrix), 0, k, CONTROL,
                    graph.out(), progress=progress, names={"q": "query", "rows": "x"})
        return Graph._of(graph)

    def estimate(self, k: int, n_queries: int = 0) -> Plan:
        """What graph(k), or a query of so many rows, would take; at once, without doing it."""
        plan = c.Plan()
        with self._handle as h:
            call("knng_estimate", h, integer(n_queries, "n_queries"), integer(k, "k"), ctypes.byref(plan),
                 names={"nq": "n_queries"})
        return Plan(**{name: getattr(plan, name) for name in Plan.__dataclass_fields__})

    def check(self, graph: Graph, sample: int = 0, *, progress: Progress = None) -> Optional[int]:
        """Compares a graph of all rows, from anywhere, with the definition of its distances, ids and bits: under the
        graph's own metric, value and self, as its info has them, and this data set's where that says nothing.

        Args:
            sample: how many rows to compare, spread evenly; 0: all
        Returns:
            The first row that differs, which may be 0, or None: ask `check(graph) is None`.
        """
        wrong = ctypes.c_int64()
        if not isinstance(graph, Graph):
            raise TypeError(f"graph must be a knng.Graph, not {type(graph).__name__}")
        told = {name: said for name, said in graph.info.items()
                if name in ("metric", "p", "value", "self") and said not in ("", "unknown")}
        if "metric" in told:
            told.setdefault("p", "auto")  # not this data set's, which goes with its metric
        with self.with_settings(**told) as own, own._handle as h, graph._handle as g:
            run("knng_check", h, g, integer(sample, "sample"), CONTROL, ctypes.byref(wrong), progress=progress,
                names={"g": "graph", "rows": "x"})
        return None if wrong.value < 0 else wrong.value

    def read(self, first: int = 0, count: Optional[int] = None, dtype: Any = None) -> np.ndarray[Any, Any]:
        """A copy of some rows, in any dtype that holds their values."""
        first = integer(first, "first")
        if not 0 <= first < self._shape[0]:
            raise RangeError(f"first={first} must be in 0 to {self._shape[0] - 1}", argument="first", given=first,
                             limit=self._shape[0] - 1)
        count = self._shape[0] - first if count is None else integer(count, "count")
        rows = np.empty((max(count, 0), self._shape[1]), self.dtype if dtype is None else dtype)
        with self._handle as h:
            call("knng_read", h, first, ctypes.byref(_rows.writable(rows)),
                 names={"dst": "dtype" if count > 0 else "count"})
        return rows

    def close(self) -> None:
        """Lets go of the rows, after the calls that are running. Graphs live on. What is called afterwards raises
        ValueError."""
        self._handle.close()

    def __enter__(self) -> DataSet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_tiles_asked = False


def use_matrix_tiles() -> bool:
    """Asks the system, for this process and as long as it lives, for the processor's matrix tiles (Intel AMX), with
    which builds on such a CPU are several times as fast. Each thread's saved state grows by 8 KiB. The environment
    variable KNNG_MATRIX_TILES=1 makes the first graph ask.

    Returns:
        Whether builds use them from now on; False where processor or system has none.
    """
    error = c.Error()
    return bool(lib.knng_use_matrix_tiles(ctypes.byref(error)) == 0)


def _before_build() -> None:
    global _tiles_asked
    if not _tiles_asked:
        _tiles_asked = True
        if os.environ.get("KNNG_MATRIX_TILES") == "1":
            use_matrix_tiles()


def graph(x: Any, k: int, *, metric: str = "euclidean", query: Any = None, leave_out: Any = None,
          progress: Progress = None, **settings: Any) -> Graph:
    """The exact k nearest neighbours of every row of x, or of every row of `query` among those of x.

    Args:
        x: n x d, a row a point: see knng.DataSet. Not copied.
        k: neighbours of each row, itself not counted; less than n (at most n for queries)
        metric: a word, see knng.metrics()
        query: None, or m x d rows
        leave_out: with query: m ids, the row of x that each query must not return; -1 for none
        progress: None, True, a class like tqdm.tqdm, or a function of (stage, done, total)
        **settings: threads=2, device="cuda", value="similarity", self="first", ...: see knng.settings()

    Returns:
        knng.Graph, whose `indices` and `distances` are n x k (m x k) arrays, nearest first.

    Raises:
        TypeError, ValueError, MemoryError and OSError, each a knng.Error where the library says it: k that does not
        fit, NaN with row and column, an unknown metric. KeyboardInterrupt within a second of Ctrl-C.

    >>> import knng, numpy as np
    >>> g = knng.graph(np.array([[0.0], [1.0], [3.0]]), 1)
    >>> g.indices
    array([[1],
           [0],
           [1]])
    >>> g.distances
    array([[1.],
           [1.],
           [2.]])
    """
    if query is None and leave_out is not None:
        raise TypeError("leave_out goes with query")
    if query is not None and settings.get("self") == "first":
        raise TypeError("self='first' goes with a graph of the rows of x: a query is not one of them")
    of_queries = {}
    if _is_file(query) and not _files(x) and "file_points" in settings:
        of_queries["file_points"] = settings.pop("file_points")
    with DataSet(x, metric=metric, progress=progress, **settings) as rows:
        rows._set(of_queries)
        if query is None:
            return rows.graph(k, progress=progress)
        return rows.query(query, k, leave_out=leave_out, progress=progress)
