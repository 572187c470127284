"""Edges among the neighbours that another library proposes, decided again in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from linkselect._arrays import Matrix
from linkselect._messages import GuidedTypeError, GuidedValueError, many, warn_user
from linkselect.graphs._distances import closest
from linkselect.graphs._graph_types import Edges
from linkselect.graphs._neighbors import check_n_neighbors, join_edges


def proposed_edges(X: Matrix, proposals: Any, n_neighbors: int, n_jobs: int | None = None) -> Edges:
    """Join two samples if either is among the nearest of the other, of those proposed for it.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        Dense or sparse.
    proposals : sparse matrix of shape (n_samples, n_samples)
        Its stored entries, also those of value 0, are the candidates of each row. Their values do
        not matter.
    n_neighbors : int
        How many nearest samples, itself left out; ties go to the lower row number.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    Edges
        Each edge once; its weight is the squared distance, by direct differences in float64.
    """
    n_samples = X.shape[0]
    check_n_neighbors(n_neighbors, n_samples)
    _check_proposals(proposals, n_samples)
    rows = proposals.tocsr()
    left = np.repeat(np.arange(n_samples), np.diff(rows.indptr))
    right = rows.indices.astype(np.intp)
    number = np.unique((left * n_samples + right)[left != right])
    left, right = number // n_samples, number % n_samples
    n_short = int(np.count_nonzero(np.bincount(left, minlength=n_samples) < n_neighbors))
    if n_short:
        warn_user(
            f"neighbors_transformer proposed fewer than n_neighbors={n_neighbors} other samples "
            f"for {n_short:,} of {many(n_samples, 'sample')}; these have fewer neighbours.",
            way_out="Let the transformer propose more, such as twice n_neighbors.",
        )
    return join_edges(n_samples, *closest(X, left, right, n_neighbors, n_jobs))


def _check_proposals(proposals: Any, n_samples: int) -> None:
    expected = f"a SciPy sparse matrix of shape ({n_samples}, {n_samples})"
    way_out = "Pass a transformer such as sklearn.neighbors.KNeighborsTransformer(n_neighbors=20)."
    if not issparse(proposals):
        raise GuidedTypeError(
            f"neighbors_transformer returned {type(proposals).__name__}, not {expected}.",
            way_out,
            "neighbors_transformer",
        )
    if proposals.shape != (n_samples, n_samples):
        raise GuidedValueError(
            f"neighbors_transformer returned a matrix of shape {proposals.shape}, not {expected}.",
            way_out,
            "neighbors_transformer",
        )
