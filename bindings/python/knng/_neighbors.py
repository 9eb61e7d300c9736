"""scikit-learn's function of the same name, without scikit-learn."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._dataset import graph

if TYPE_CHECKING:
    import scipy.sparse


def kneighbors_graph(x: Any, n_neighbors: int, *, mode: str = "connectivity", metric: str = "euclidean",
                     include_self: bool = False, **settings: Any) -> scipy.sparse.csr_matrix:
    """The graph as a CSR matrix with n_neighbors entries a row, nearest first, as sklearn.neighbors.kneighbors_graph()
    gives it.

    Args:
        x: n x d: see knng.DataSet
        mode: "connectivity": entries are 1; "distance"
        include_self: whether the row itself is the first of its n_neighbors
        **settings: as for knng.graph()
    """
    if mode not in ("connectivity", "distance"):
        raise ValueError(f"mode must be 'connectivity' or 'distance', not {mode!r}")
    if include_self:
        made = graph(x, n_neighbors - 1, metric=metric, self="first", **settings)
    else:
        made = graph(x, n_neighbors, metric=metric, **settings)
    csr = made.to_scipy()
    if mode == "connectivity":
        csr.data = np.ones(csr.nnz)
    return csr
