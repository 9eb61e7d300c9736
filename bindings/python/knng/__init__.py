"""Exact k-nearest-neighbour graphs of large high-dimensional data, by libknng.

>>> import knng, numpy as np
>>> x = np.random.default_rng(1).random((1000, 20), np.float32)
>>> g = knng.graph(x, k=10, metric="cosine")
>>> g.indices.shape, g.distances.dtype
((1000, 10), dtype('float32'))
>>> g.to_scipy("snn:jaccard").shape
(1000, 1000)

`knng.graph()` makes a graph or answers queries, `knng.DataSet` does so many times on the same rows,
`knng.kneighbors_graph()` and `knng.KNeighborsTransformer` stand where scikit-learn's are. `knng.metrics()` and
`knng.settings()` list what there is. Lines of the library's log go to logging.getLogger("knng").
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, List

from ._control import Progress
from ._dataset import DataSet, Plan, graph, use_matrix_tiles
from ._errors import (ArgumentError, BudgetError, CancelledError, CheckError, DataError, DeviceError, Error, FileError,
                      FormatError, InternalError, OptionError, OutOfMemoryError, RangeError, StateError,
                      UnsupportedError)
from ._graph import Graph, load
from ._library import lib as _lib
from ._library import text_of_version as _text_of_version
from ._neighbors import kneighbors_graph
from ._settings import Device, Setting, devices, metrics, settings, statistics
from ._shared import Shared
from ._sparse import Sparse
from ._version import __version__

if TYPE_CHECKING:
    from ._transformer import KNeighborsTransformer

#: Version of libknng that was loaded.
library_version = _text_of_version(_lib.knng_version())

__all__ = [
    "ArgumentError", "BudgetError", "CancelledError", "CheckError", "DataError", "DataSet", "Device", "DeviceError",
    "Error", "FileError", "FormatError", "Graph", "InternalError", "KNeighborsTransformer", "OptionError",
    "OutOfMemoryError", "Plan", "Progress", "RangeError", "Setting", "Shared", "Sparse", "StateError",
    "UnsupportedError", "devices", "graph", "kneighbors_graph", "library_version", "load", "metrics", "settings",
    "statistics", "use_matrix_tiles", "__version__"]


def __dir__() -> List[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """scikit-learn is imported when its estimator is asked for, not before."""
    if name == "KNeighborsTransformer":
        from ._transformer import KNeighborsTransformer

        return KNeighborsTransformer
    raise AttributeError(f"module 'knng' has no attribute {name!r}")
