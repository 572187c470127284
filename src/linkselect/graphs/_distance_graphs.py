"""Graphs from distances: neighbours, and Gaussian weights of their edges or of all pairs."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from linkselect._arrays import FloatArray, IntArray
from linkselect._messages import GuidedTypeError, GuidedValueError, many, warn_user
from linkselect._samples import Samples, as_samples
from linkselect._samples.distances import gaussian
from linkselect._samples.neighbors import Found, Products, Search, closest, edge_numbers
from linkselect.graphs._graph_types import Edges, Kernel
from linkselect.pairs._links import links_within

# The median distance is taken over all pairs of at most this many rows.
SIGMA_ROWS = 2000
# A graph with no larger weight is refused: its sums come near that limit.
FAINT = 1e-100


def nearest_edges(X: Any, n_neighbors: int, n_jobs: int | None = None) -> Edges:
    """Join two samples if either is among the nearest of the other.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        Samples of any kind.
    n_neighbors : int
        How many nearest samples, itself left out; ties go to the lower row number.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    Edges
        Each edge once; its weight is the squared distance.
    """
    X = as_samples(X)
    check_n_neighbors(n_neighbors, X.shape[0])
    return join_edges(X.shape[0], *X.nearest(n_neighbors, n_jobs))


def check_n_neighbors(n_neighbors: int, n_samples: int) -> None:
    """Refuse no neighbours, and more of them than there are other samples."""
    if not 1 <= n_neighbors < n_samples:
        raise GuidedValueError(
            f"n_neighbors={n_neighbors}, but X has {n_samples} samples, so a sample has only "
            f"{n_samples - 1} others.",
            f"Choose n_neighbors from 1 to {n_samples - 1}.",
            "n_neighbors",
        )


def join_edges(n_samples: int, left: IntArray, right: IntArray, distances: FloatArray) -> Edges:
    """List each edge once, whichever end found it."""
    numbers, first = np.unique(edge_numbers(left, right, n_samples), return_index=True)
    return Edges(n_samples, *np.divmod(numbers, n_samples), distances[first])


def nearest(
    X: Any,
    n_neighbors: int,
    *,
    queries: IntArray | None = None,
    pool: IntArray | None = None,
    rows: Products | None = None,
    n_jobs: int | None = None,
) -> Found:
    """Find the nearest rows of `pool` for each row in `queries`, itself left out.

    Where the pool has fewer rows than `n_neighbors`, all of them are found.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        Samples of any kind.
    n_neighbors : int
        How many to find for each query.
    queries, pool : ndarray of int, optional
        Row numbers. Default: all rows.
    rows : Products, optional
        `products` of the samples, where several searches share it.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    left, right : ndarray of int
        A query and one of its neighbours, queries in order and neighbours from near to far;
        equally near ones by row number.
    distances : ndarray of float
        Their squared distances, by direct differences in float64.
    """
    return as_samples(X).nearest(n_neighbors, n_jobs, Search(queries, pool, rows))


def ball_edges(X: Any, radius: float, n_jobs: int | None = None) -> Edges:
    """Join samples at most `radius` apart; the weight of an edge is the squared distance.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        Samples in memory or on a device.
    radius : float
        The largest distance.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    Edges
        Each edge once.
    """
    X = as_samples(X)
    return Edges(X.shape[0], *X.pairs_within(radius, n_jobs))


def proposed_edges(X: Any, proposals: Any, n_neighbors: int, n_jobs: int | None = None) -> Edges:
    """Join two samples if either is among the nearest of the other, of those proposed for it.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        Samples of any kind.
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
    X = as_samples(X)
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
            hint="Let the transformer propose more, such as twice n_neighbors.",
        )
    return join_edges(n_samples, *closest(X, left, right, n_neighbors, n_jobs))


def _check_proposals(proposals: Any, n_samples: int) -> None:
    is_sparse = hasattr(proposals, "tocsr")
    if is_sparse and proposals.shape == (n_samples, n_samples):
        return
    found = f"a matrix of shape {proposals.shape}" if is_sparse else type(proposals).__name__
    error = GuidedValueError if is_sparse else GuidedTypeError
    raise error(
        f"neighbors_transformer returned {found}, not a SciPy sparse matrix of shape "
        f"({n_samples}, {n_samples}).",
        "Pass a transformer such as sklearn.neighbors.KNeighborsTransformer(n_neighbors=20).",
        "neighbors_transformer",
    )


def resolve_sigma(sigma: float | Literal["auto"], X: Any, n_jobs: int | None = None) -> float:
    """Return the width as a number, found in the data for "auto".

    Parameters
    ----------
    sigma : float or "auto"
        The width.
    X : Samples or array-like of shape (n_samples, n_features)
        Samples of any kind.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    float
        The width as a number.
    """
    return auto_sigma(X, n_jobs) if sigma == "auto" else float(sigma)


def auto_sigma(X: Any, n_jobs: int | None = None) -> float:
    """Choose sigma so that `2 sigma^2` is the median squared distance between samples.

    Above 2,000 samples the median runs over 2,000 of them, drawn with a fixed seed. Where
    more than half of the distances are 0, it is the median of the others.
    """
    X = as_samples(X)
    chosen = np.arange(X.shape[0])
    if X.shape[0] > SIGMA_ROWS:
        chosen = np.sort(np.random.default_rng(0).choice(X.shape[0], SIGMA_ROWS, replace=False))
        if not X.by_columns:
            X, chosen = X.take(chosen), np.arange(SIGMA_ROWS)
    median = X.median_distance(chosen, n_jobs)
    if median == 0.0:
        left, right = (chosen[ends] for ends in np.triu_indices(len(chosen), k=1))
        distances = X.pair_distances(left, right, n_jobs)
        positive = distances[distances > 0]
        median = float(np.median(positive)) if positive.size else 1.0
    return float(np.sqrt(median / 2.0))


def gaussian_edges(near: Edges, sigma: float) -> Edges:
    """Turn edges weighted by squared distance into edges weighted by a Gaussian."""
    weighted = near.reweigh(gaussian(near.weights, sigma))
    if weighted.weights.max(initial=0.0) < FAINT:
        raise underflow_error(near.weights.min(initial=np.inf), sigma)
    return weighted


def underflow_error(smallest: float, sigma: float) -> GuidedValueError:
    """Say that a graph has lost all its weights."""
    return GuidedValueError(
        f"Every weight of the graph is 0 or nearly 0 with sigma={sigma:g}, since even the nearest "
        f"samples are {np.sqrt(smallest):g} apart.",
        'Increase sigma, pass sigma="auto", or scale the features (MinMaxScaler).',
        "sigma",
    )


def kernel_graph(
    X: Any,
    sigma: float,
    *,
    codes: IntArray | None = None,
    without: csr_array | None = None,
    n_jobs: int | None = None,
) -> Kernel:
    """Weigh all pairs of samples, or all pairs inside groups, by a Gaussian.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        Samples in memory or on a device.
    sigma : float
        The width of the Gaussian.
    codes : ndarray of shape (n_samples,), optional
        The group of each sample, -1 for none. Default: the complete graph, whose diagonal of
        ones counts in the degrees, as the papers have it.
    without : csr_array, optional
        Pairs to leave out, as the nonzero entries of a symmetric matrix.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    Kernel
        The weights, computed where they are needed.
    """
    X, complete = as_samples(X), codes is None
    groups = np.zeros(X.shape[0], dtype=np.intp) if codes is None else codes
    rows = X.products(np.float64, n_jobs)
    bare = Kernel(X, rows, sigma, groups, without, np.zeros(X.shape[0]))
    degrees = X.kernel_degrees(bare, n_jobs)
    if complete and not degrees.any():
        raise underflow_error(X.nearest(1, n_jobs)[2].min(), sigma)
    return replace(bare, degrees=degrees + complete)


def listed_kernel(
    X: Samples, sigma: float, codes: IntArray, without: csr_array, n_jobs: int | None
) -> Edges:
    """Weigh all pairs inside groups of few samples by a Gaussian, and list them."""
    left, right = links_within(codes).T
    kept = np.asarray(without[left, right]).ravel() == 0
    left, right = left[kept], right[kept]
    distances = X.kernel_distances(left, right, sigma, n_jobs)
    return Edges(X.shape[0], left, right, gaussian(distances, sigma))
