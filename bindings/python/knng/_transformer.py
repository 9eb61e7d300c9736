"""An estimator that stands where scikit-learn's KNeighborsTransformer does; the one file that needs scikit-learn."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple, Union

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ._dataset import DataSet
from ._graph import Graph
from ._neighbors import data_set, diagonal, nearest, require_mode
from ._settings import integer

try:  # scikit-learn 1.6
    from sklearn.utils.validation import validate_data
except ImportError:
    def validate_data(estimator: Any, *arguments: Any, **options: Any) -> Any:
        return estimator._validate_data(*arguments, **options)

if TYPE_CHECKING:
    import scipy.sparse


class KNeighborsTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns rows into a sparse graph of their exact nearest neighbours, as sklearn.neighbors.KNeighborsTransformer.

    Every row of the graph has the same number of entries, nearest first. fit_transform(X), and transform(X) of the very
    array that was fitted, put each row itself first, at the diagonal, whatever equals it. This is what
    scikit-learn takes as `metric="precomputed"`, and scanpy as `sc.pp.neighbors(adata, transformer=...)`.

    Args:
        mode: "distance": n_neighbors + 1 entries a row, the row itself counted, of distances; "connectivity":
            n_neighbors entries of 1, the row itself counted
        n_neighbors: neighbours of each row
        metric: a word, see knng.metrics(); also scikit-learn's names l1, l2, cityblock
        p: exponent of metric="minkowski", taken by no other
        n_jobs: threads; None and -1: as many as there are processors, -2: one less, and so on
        settings: None, or a dict of other settings, such as {"device": "cuda"}: see knng.settings()

    Attributes:
        n_features_in_, feature_names_in_: of the rows that were fitted
        n_samples_fit_: their number
        effective_metric_: the library's name of the metric

    Fitting checks and keeps the rows (not a copy where they need no conversion, so they must not change); the work is
    done when a graph is asked for. Sparse rows are made dense, in blocks.
    """

    def __init__(self, *, mode: str = "distance", n_neighbors: int = 5, metric: str = "euclidean",
                 p: Optional[float] = None, n_jobs: Optional[int] = None,
                 settings: Optional[Dict[str, Any]] = None) -> None:
        self.mode = mode
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.p = p
        self.n_jobs = n_jobs
        self.settings = settings

    def fit(self, X: Any, y: None = None) -> KNeighborsTransformer:
        """Keeps the rows X, n x d. y is not looked at."""
        require_mode(self.mode)
        X = validate_data(self, X, accept_sparse="csr")
        if integer(self.n_neighbors, "n_neighbors") < 1:
            raise ValueError(f"n_neighbors={self.n_neighbors} must be at least 1")
        with self._data_set(X) as rows:
            self.effective_metric_ = rows.settings["metric"]
        self._fit_X = X
        self.n_samples_fit_ = X.shape[0]
        return self

    def transform(self, X: Any) -> scipy.sparse.csr_matrix:
        """The graph of X's rows to those that were fitted, m x n, in CSR."""
        check_is_fitted(self, "n_samples_fit_")
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        return self._graph(None if X is self._fit_X else X, self._width(), itself=True, mode=self.mode)

    def fit_transform(self, X: Any, y: None = None, **fit_params: Any) -> scipy.sparse.csr_matrix:
        """fit(X), then the graph of its rows among themselves, n x n, in CSR, each row itself first."""
        self.fit(X, y, **fit_params)
        return self._graph(None, self._width(), itself=True, mode=self.mode)

    def kneighbors(self, X: Any = None, n_neighbors: Optional[int] = None,
                   return_distance: bool = True) -> Union[np.ndarray[Any, Any], Tuple[Any, Any]]:
        """(distances, indices) of the n_neighbors nearest of the rows that were fitted, as scikit-learn orders the two;
        of the fitted rows themselves, each left out of its own, where X is None."""
        check_is_fitted(self, "n_samples_fit_")
        if X is not None:
            X = validate_data(self, X, accept_sparse="csr", reset=False)
        made = self._neighbors(X, self.n_neighbors if n_neighbors is None else n_neighbors, itself=False)
        indices, distances = made.copy()
        return (distances, indices) if return_distance else indices

    def kneighbors_graph(self, X: Any = None, n_neighbors: Optional[int] = None,
                         mode: str = "connectivity") -> scipy.sparse.csr_matrix:
        """The same as CSR, each row left out of its own list where X is None."""
        require_mode(mode)
        check_is_fitted(self, "n_samples_fit_")
        if X is not None:
            X = validate_data(self, X, accept_sparse="csr", reset=False)
        return self._graph(X, self.n_neighbors if n_neighbors is None else n_neighbors, itself=False, mode=mode)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, Any]:
        """Names of the columns of the graph: one for each row that was fitted."""
        check_is_fitted(self, "n_samples_fit_")
        return np.asarray([f"kneighborstransformer{i}" for i in range(self.n_samples_fit_)], dtype=object)

    def _width(self) -> int:
        return self.n_neighbors + (self.mode == "distance")

    def _data_set(self, X: Any, /, **settings: Any) -> DataSet:
        given = self.settings or {}
        for name in self.get_params():
            if name in given:
                raise ValueError(f"settings has {name!r}, which is a parameter of its own: {name}={given[name]!r}")
        if "self" in given:
            raise ValueError("settings has 'self', which mode and the method that is called decide")
        return data_set(X, self.n_jobs, metric=self.metric, p=self.p, **{**given, **settings})

    def _neighbors(self, X: Any, n_neighbors: int, itself: bool) -> Graph:
        n_neighbors = integer(n_neighbors, "n_neighbors")
        typed = n_neighbors - (itself and self.mode == "distance")
        if X is None:
            with self._data_set(self._fit_X, self="first" if itself else "exclude") as rows:
                return nearest(rows, n_neighbors, itself, typed)
        with self._data_set(self._fit_X) as rows:
            return nearest(rows, n_neighbors, False, typed, X)

    def _graph(self, X: Any, n_neighbors: int, itself: bool, mode: str) -> scipy.sparse.csr_matrix:
        if X is None and itself and n_neighbors == 1:  # of mode "connectivity": the other has one more
            return diagonal(np.ones(self.n_samples_fit_))
        made = self._neighbors(X, n_neighbors, itself).to_scipy()
        if mode == "connectivity":
            made.data = np.ones(made.nnz)
        return made

    def _more_tags(self) -> Dict[str, Any]:
        return {"preserves_dtype": [np.float64, np.float32] if self.mode == "distance" else []}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"] if self.mode == "distance" else []
        return tags
