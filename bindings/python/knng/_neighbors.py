"""scikit-learn's function of the same name, without scikit-learn, and what the estimator shares with it."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from ._dataset import DataSet
from ._errors import ArgumentError, Error, RangeError
from ._graph import Graph
from ._settings import integer

if TYPE_CHECKING:
    import scipy.sparse


def require_mode(mode: Any) -> None:
    if mode not in ("connectivity", "distance"):
        raise ValueError(f"mode must be 'connectivity' or 'distance', not {mode!r}")


def diagonal(values: np.ndarray[Any, Any]) -> scipy.sparse.csr_matrix:
    """Lists that are nothing but the row itself, which take no graph."""
    from scipy.sparse import csr_matrix

    n = len(values)
    places = np.arange(n + 1, dtype=np.int32)
    return csr_matrix((values, places[:n], places), shape=(n, n))


def _of_itself(rows: DataSet) -> np.ndarray[Any, Any]:
    """Each row's distance, or similarity, to itself. rows: with self="first"."""
    made = rows.graph(1) if len(rows) > 1 else rows.query(rows.read(), 1)
    return made.copy()[1][:, 0]


def threads_of(n_jobs: Optional[int]) -> Optional[int]:
    """n_jobs as joblib counts it, as the setting `threads`: -1 is all processors, -2 all but one, and so on, one at
    least. None: not given."""
    if n_jobs is None:
        return None
    number = integer(n_jobs, "n_jobs")
    if number == 0:
        raise RangeError("n_jobs=0 must be a number of threads, or -1 for as many as there are processors, -2 for one less",
                         argument="n_jobs", given=0)
    if number >= 0:
        return number
    if number == -1:
        return 0  # the library's own count
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, processors + 1 + number)


def data_set(x: Any, n_jobs: Optional[int], /, **settings: Any) -> DataSet:
    """The rows with these settings; errors about the number of threads speak of n_jobs where the caller gave that."""
    threads = threads_of(n_jobs)
    if threads is None:
        return DataSet(x, **settings)
    if settings.get("threads") is not None:
        raise ArgumentError(f"n_jobs={n_jobs} and threads={settings['threads']} are both given: one is enough",
                            argument="n_jobs")
    settings["threads"] = threads
    try:
        return DataSet(x, **settings)
    except Error as error:
        if error.argument != "threads":
            raise
        raise type(error)(str(error).replace("threads=", "n_jobs=", 1), argument="n_jobs", given=error.given,
                          limit=error.limit) from None


def nearest(rows: DataSet, width: int, itself: bool, typed: int, query: Any = None) -> Graph:
    """The graph with lists of `width` entries, the row `itself` being one of them, or a query's. Where they are too many
    or too few, the error speaks of n_neighbors, as the caller `typed` it."""
    try:
        return rows.graph(width - itself) if query is None else rows.query(query, width)
    except RangeError as error:
        if error.argument != "k":
            raise
        if typed < 1:  # 1 with the row itself is no graph, but diagonal()
            raise RangeError(f"n_neighbors={typed} must be at least 1", argument="n_neighbors", given=typed,
                             limit=1) from None
        most = len(rows) - (query is None and not itself) - (width - typed)
        raise RangeError(f"n_neighbors={typed} must be at most {most}, as there are {len(rows)} rows",
                         argument="n_neighbors", given=typed, limit=most) from None


def kneighbors_graph(X: Any, n_neighbors: int, *, mode: str = "connectivity", metric: str = "euclidean",
                     include_self: Union[bool, str] = False, n_jobs: Optional[int] = None,
                     **settings: Any) -> scipy.sparse.csr_matrix:
    """The graph as a CSR matrix with n_neighbors entries a row, nearest first, as sklearn.neighbors.kneighbors_graph()
    gives it.

    Args:
        X: n x d: see knng.DataSet
        mode: "connectivity": entries are 1; "distance"
        include_self: whether the row itself is the first of its n_neighbors; "auto": in mode "connectivity"
        n_jobs: threads; None and -1: as many as there are processors, -2: one less, and so on
        **settings: as for knng.graph()
    """
    require_mode(mode)
    if include_self not in (True, False, "auto"):
        raise ValueError(f"include_self must be True, False or 'auto', not {include_self!r}")
    if "self" in settings:
        raise TypeError("self is no setting here: include_self says whether a row is in its own list")
    n_neighbors = integer(n_neighbors, "n_neighbors")
    itself = mode == "connectivity" if include_self == "auto" else bool(include_self)
    settings.update(metric=metric, self="first" if itself else "exclude")
    with data_set(X, n_jobs, **settings) as rows:
        if itself and n_neighbors == 1:
            return diagonal(np.ones(len(rows)) if mode == "connectivity" else _of_itself(rows))
        csr = nearest(rows, n_neighbors, itself, n_neighbors).to_scipy()
    if mode == "connectivity":
        csr.data = np.ones(csr.nnz)
    return csr
