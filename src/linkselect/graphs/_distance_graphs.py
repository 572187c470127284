"""Graphs based on distances: nearest-neighbour graphs and graphs with Gaussian weights."""

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

# The median distance is computed over all pairs of at most this many rows.
SIGMA_ROWS = 2000
# A graph whose weights are all smaller is rejected, because its sums would almost underflow.
FAINT = 1e-100


def nearest_edges(X: Any, n_neighbors: int, n_jobs: int | None = None) -> Edges:
    """Build the graph that joins two samples if either is a nearest neighbour of the other.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    n_neighbors : int
        Number of nearest neighbours of each sample, excluding the sample itself. Ties are broken in
        favour of the lower row number.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    edges : Edges
        The edges, each listed once and weighted by the squared distance.
    """
    X = as_samples(X)
    check_n_neighbors(n_neighbors, X.shape[0])
    return join_edges(X.shape[0], *X.nearest(n_neighbors, n_jobs))


def check_n_neighbors(n_neighbors: int, n_samples: int) -> None:
    """Raise an error unless `n_neighbors` is between 1 and `n_samples - 1`."""
    if not 1 <= n_neighbors < n_samples:
        raise GuidedValueError(
            f"n_neighbors={n_neighbors}, but X has {many(n_samples, 'sample')}, so each sample has "
            f"{many(n_samples - 1, 'possible neighbour')}.",
            f"Choose n_neighbors from 1 to {n_samples - 1}.",
            "n_neighbors",
        )


def join_edges(n_samples: int, left: IntArray, right: IntArray, distances: FloatArray) -> Edges:
    """Convert directed neighbour lists to undirected edges, each listed once."""
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
    """Find the nearest neighbours of query samples among a pool of samples.

    A sample is not its own neighbour. If the pool has at most `n_neighbors` other samples, all of
    them are returned.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    n_neighbors : int
        Number of neighbours to find for each query.
    queries, pool : ndarray of int, optional
        The row numbers of the queries and of the pool. Default: all rows.
    rows : Products, optional
        The result of `Samples.products`, if it is to be reused in several searches.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    left, right : ndarray of int
        Pairs of a query (left) and one of its neighbours (right). The order of queries is kept, and
        neighbours are sorted by distance, then by row number.
    distances : ndarray of float
        Squared distances of these pairs, computed from differences in float64.
    """
    return as_samples(X).nearest(n_neighbors, n_jobs, Search(queries, pool, rows))


def ball_edges(X: Any, radius: float, n_jobs: int | None = None) -> Edges:
    """Build the graph that joins all samples with a distance of at most `radius`.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        The samples, in memory or on a GPU.
    radius : float
        Maximum distance between two neighbours.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    edges : Edges
        The edges, each listed once and weighted by the squared distance.
    """
    X = as_samples(X)
    return Edges(X.shape[0], *X.pairs_within(radius, n_jobs))


def proposed_edges(X: Any, proposals: Any, n_neighbors: int, n_jobs: int | None = None) -> Edges:
    """Build a nearest-neighbour graph from candidates, such as those of an approximate search.

    An edge joins two samples if either is among the nearest candidates of the other.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    proposals : sparse matrix of shape (n_samples, n_samples)
        The candidates of a sample are the columns of all stored entries of its row, including
        explicit zeros. The values of the entries are ignored.
    n_neighbors : int
        Number of nearest candidates of each sample, excluding the sample itself. Ties are broken in
        favour of the lower row number.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    edges : Edges
        The edges, each listed once and weighted by the squared distance, which is computed from
        differences in float64.
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
            f"neighbors_transformer returned fewer than n_neighbors={n_neighbors} other samples "
            f"for {n_short:,} of {many(n_samples, 'sample')}, which have fewer neighbours.",
            hint="Configure the transformer to return more candidates, such as twice n_neighbors.",
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
    """Return the width of the Gaussian: `sigma` itself, or `auto_sigma(X)` for "auto".

    Parameters
    ----------
    sigma : float or "auto"
        The width of the Gaussian.
    X : Samples or array-like of shape (n_samples, n_features)
        The samples: dense, sparse, on a GPU or on disk.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    float
        The width of the Gaussian as a number.
    """
    return auto_sigma(X, n_jobs) if sigma == "auto" else float(sigma)


def auto_sigma(X: Any, n_jobs: int | None = None) -> float:
    """Choose sigma so that `2 sigma^2` is the median squared distance between samples.

    If there are more than 2,000 samples, the median is computed over 2,000 samples, which are drawn
    with a fixed seed. If more than half of the distances are 0, the median of the positive
    distances is used.
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
    """Convert edge weights from squared distances to `exp(-distance^2 / (2 sigma^2))`."""
    weighted = near.reweigh(gaussian(near.weights, sigma))
    if weighted.weights.max(initial=0.0) < FAINT:
        raise underflow_error(near.weights.min(initial=np.inf), sigma)
    return weighted


def underflow_error(smallest: float, sigma: float) -> GuidedValueError:
    """Return the error for a graph whose weights have all underflowed."""
    return GuidedValueError(
        f"With sigma={sigma:g}, all weights of the graph are 0 or nearly 0, because even the "
        f"distance between the nearest samples is {np.sqrt(smallest):g}.",
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
    """Build the graph of all pairs of samples (or all pairs within groups) with Gaussian weights.

    Parameters
    ----------
    X : Samples or array-like of shape (n_samples, n_features)
        The samples, in memory or on a GPU.
    sigma : float
        The width of the Gaussian.
    codes : ndarray of shape (n_samples,), optional
        The group of each sample, or -1 for samples without a group. By default, the graph is
        complete, and its degrees include the diagonal entries of 1, as in the papers.
    without : csr_array, optional
        The excluded pairs, given by the nonzero entries of a symmetric matrix.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    kernel : Kernel
        A graph whose weights are computed when needed.
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
    """Build the same graph as `kernel_graph`, but list all edges, which suits small groups."""
    left, right = links_within(codes).T
    kept = np.asarray(without[left, right]).ravel() == 0
    left, right = left[kept], right[kept]
    distances = X.kernel_distances(left, right, sigma, n_jobs)
    return Edges(X.shape[0], left, right, gaussian(distances, sigma))
