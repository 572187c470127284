"""Weights that reconstruct each sample from the others: the graph of the Sparsity Score.

Row i of the weight matrix S reconstructs sample `x_i`. The entries of a row sum to 1, and entry i
of row i is 0.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.sparse import coo_array, csr_array, vstack
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import map_threads, one_blas_thread, slices
from linkselect._messages import GuidedValueError, many, warn_user
from linkselect._samples import as_samples
from linkselect._solvers.closed_form import barycentric_weights, ridge_weights
from linkselect.graphs import _l1_reconstruction as l1
from linkselect.graphs._distance_graphs import check_n_neighbors, nearest

Kind = Literal["l1", "l2", "lle"]
MaxIter = int | Literal["auto"]

# A tile is a set of samples that are solved together. It is small enough for its arrays to fit into
# the cache, and even few samples make several tiles, so that threads have work. Its size must not
# depend on the number of threads, or results would.
TILE_BYTES = 1 << 25
MIN_TILES = 16
MAX_TILE = 128
# The first-order method is fastest if it solves many targets together.
MAX_NEAR_TILE = 192
# The step limit prevents endless cycling due to rounding. For n samples with d features, a basis of
# the simplex method has at most `k = min(n, d + 1)` of the `n + d` variables. On the hardest data
# found so far, features of low rank and large scale, the method took 0.5 to 0.9 times
# `k sqrt(n + d)` steps for sizes from 100 x 128 to 800 x 1,024 (11,700 for 400 x 1,024), and far
# fewer on other data. A factor of 5 leaves a margin; LEAST_STEP_LIMIT covers all small problems.
STEPS_PER_EXCHANGE = 5
LEAST_STEP_LIMIT = 10_000
# Threads share this many tiles between two progress reports.
TILES_PER_STEP = 8
LOCAL_TILE_BYTES = 1 << 22


@dataclass(frozen=True)
class Reconstruction:
    """Weights that reconstruct each sample, with bounds on their suboptimality.

    Attributes
    ----------
    weights : csr_array of shape (n_samples, n_samples)
        The weight matrix, whose rows sum to 1 and whose diagonal is 0.
    gaps : ndarray of shape (n_samples,)
        An upper bound on the relative gap between the objective of each sample and the optimum.
    n_iter : ndarray of shape (n_samples,)
        The number of solver steps for each sample.
    max_iter : int
        Maximum number of simplex steps per sample.
    largest_gap : float
        The largest gap at which a sample is considered solved.
    """

    weights: csr_array
    gaps: FloatArray
    n_iter: IntArray
    max_iter: int
    largest_gap: float = l1.CERTAIN_GAP

    @property
    def unsolved(self) -> IntArray:
        """Indices of the samples whose gap is not certified to be at most `largest_gap`."""
        return np.flatnonzero(~(self.gaps <= self.largest_gap))

    def warn_unsolved(self) -> None:
        """Warn if the optimality of the weights is not certified for some samples."""
        unsolved = self.unsolved
        if len(unsolved):
            exact = "" if self.largest_gap == l1.CERTAIN_GAP else "pass solver='exact', "
            warn_user(
                f"The solver stopped after at most max_iter={self.max_iter} steps. The weights of "
                f"{len(unsolved)} of {many(len(self.gaps), 'sample')} (first: sample "
                f"{unsolved[0]}) are not certified to be within {self.largest_gap:g} of the "
                f"optimum: {self._what_is_certain()}.",
                ConvergenceWarning,
                hint=f"Standardise the features, increase max_iter, {exact}or rerun the fit if it "
                "was stopped by a callback.",
                settings={"X": "standard", "max_iter": "VALUE"},
            )

    def _what_is_certain(self) -> str:
        gaps = self.gaps[self.unsolved]
        certain = gaps[np.isfinite(gaps)]
        parts = []
        if len(certain):
            parts.append(f"the largest certified relative gap is {certain.max():.2g}")
        if len(certain) < len(gaps):
            parts.append(f"no gap is certified for {len(gaps) - len(certain)} of them")
        return "; ".join(parts)


def reconstruction_weights(
    X: Any,
    kind: Kind = "l1",
    form: l1.Form = "compensated",
    tolerance: float = 1e-3,
    *,
    n_neighbors: int = 5,
    regularization: float = 1e-3,
    max_iter: MaxIter = "auto",
    solver: l1.Solver = "auto",
    n_jobs: int | None = None,
) -> csr_array:
    """Compute the weights that reconstruct each sample from the other samples.

    The weights s of sample `x_i` satisfy `sum_j s_j = 1` and `s_i = 0`, and minimise the following
    objective:

    - `kind="l1"`, `form="compensated"`: `|s|_1 + |x_i - s X|_1`, which is always feasible,
    - `kind="l1"`, `form="tolerance"`: `|s|_1` subject to `|x_i - s X|_2 <= tolerance`,
    - `kind="l1"`, `form="equality"`: `|s|_1` subject to `x_i = s X`,
    - `kind="l2"`: `|x_i - s X|_2^2 + r |s|_2^2`, where r is `regularization` times the mean
      squared distance of a sample from the mean,
    - `kind="lle"` (locally linear embedding): the same objective, but only the `n_neighbors`
      nearest samples have weights, and r is `regularization` times the sum of squared distances to
      them.

    Standardise features that have different units, because one unit of error has the same cost as
    one unit of weight.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples, of which there must be at least two. A sparse matrix is converted to a dense
        array.
    kind : {"l1", "l2", "lle"}, default="l1"
        The objective, as listed above.
    form : {"compensated", "tolerance", "equality"}, default="compensated"
        Treatment of reconstruction errors for `kind="l1"`.
    tolerance : float, default=1e-3
        Maximum Euclidean reconstruction error for `form="tolerance"`.
    n_neighbors : int, default=5
        Number of nearest neighbours for `kind="lle"`. Ties are broken by row number.
    regularization : float, default=1e-3
        Strength of the penalty on large weights for `kind="l2"` and `kind="lle"`.
    max_iter : int or "auto", default="auto"
        Maximum number of simplex steps per sample, or of steps of SciPy's `nnls` for
        `form="tolerance"`. For n samples with d features, "auto" is `5 min(n, d + 1) sqrt(n + d)`,
        but at least 10,000.
    solver : {"auto", "exact", "first_order"}, default="auto"
        Solver for `form="compensated"`; the other forms are always solved exactly. "exact" solves
        one sample after another by the simplex method. "first_order" solves many samples at once,
        until the relative duality gap of each is at most 1 %. "auto" uses "first_order" for more
        than 150 samples with more than 150 features, and applies "exact" to samples that do not
        converge.
    n_jobs : int, optional
        Number of threads, which does not affect the result. Default: the number of threads that
        BLAS may use.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        The weight matrix, whose rows sum to 1 and whose diagonal is 0. The optimum may not be
        unique, so compare objectives instead of weights.

    Warns
    -----
    ConvergenceWarning
        Issued if the relative gap to the optimum is not certified to be at most 1e-6 (1 % for the
        first-order method) for some samples. The warning reports the number of these samples and
        their largest gap.

    Examples
    --------
    >>> from linkselect.graphs import reconstruction_weights
    >>> X = [[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [0.0, 2.0]]
    >>> reconstruction_weights(X).toarray().round(2)[1]
    array([0.67, 0.  , 0.33, 0.  ])
    """
    X = check_array(X, accept_sparse=("csr", "csc"), dtype=np.float64, ensure_min_samples=2)
    check_reconstruction(X.shape[0], kind, form, tolerance, n_neighbors, regularization, solver)
    local = (n_neighbors, regularization)
    found = reconstruct(X, kind, form, tolerance, *local, solver, max_iter, n_jobs)
    found.warn_unsolved()
    return found.weights


def check_reconstruction(
    n_samples: int,
    kind: str,
    form: str,
    tolerance: float,
    n_neighbors: int,
    regularization: float,
    solver: str = "auto",
) -> None:
    """Raise an error if the problem is undefined for the given parameter values."""
    for name, value, known in (
        ("kind", kind, ("l1", "l2", "lle")),
        ("form", form, ("compensated", "tolerance", "equality")),
        ("solver", solver, ("auto", "exact", "first_order")),
    ):
        if value not in known:
            raise GuidedValueError(
                f"{name}={value!r} is unknown.", f"Pass one of {', '.join(known)}."
            )
    if kind == "l1" and form == "tolerance" and not 0.0 < tolerance < np.inf:
        raise GuidedValueError(
            f"tolerance={tolerance!r}, but the maximum error must be a positive number.",
            "Choose form='compensated', which does not require a tolerance. For exact "
            "reconstruction, call linkselect.graphs.reconstruction_weights(X, form='equality').",
            "tolerance",
        )
    if solver == "first_order" and (kind != "l1" or form != "compensated"):
        raise GuidedValueError(
            f"solver='first_order' does not support kind={kind!r} with form={form!r}.",
            "Pass solver='auto', or kind='l1' with form='compensated'.",
            "solver",
        )
    if kind != "l1" and not 0.0 < regularization < np.inf:
        raise GuidedValueError(
            f"regularization={regularization!r}, but it must be a positive number.",
            "For very weak regularisation, choose a small value, such as 1e-6.",
            "regularization",
        )
    if kind == "lle":
        check_n_neighbors(n_neighbors, n_samples)


def step_limit(max_iter: MaxIter, n_samples: int, n_features: int) -> int:
    """Return the maximum number of steps per sample; for "auto", it depends on the shape."""
    if max_iter == "auto":
        size = min(n_samples, n_features + 1) * math.sqrt(n_samples + n_features)
        return max(LEAST_STEP_LIMIT, math.ceil(STEPS_PER_EXCHANGE * size))
    return max_iter


def n_reconstruction_steps(
    n_samples: int, n_features: int, kind: Kind, form: l1.Form, solver: l1.Solver = "auto"
) -> int:
    """Return an upper bound on the number of steps that `reconstruct` passes to `track`."""
    if kind != "l1":
        return 0
    solver = l1.solver_for(solver, form, n_samples, n_features)
    n_tiles = -(-n_samples // _tile_size(n_samples, n_features, solver))
    return -(-n_tiles // TILES_PER_STEP)


def reconstruct(
    X: Any,
    kind: Kind = "l1",
    form: l1.Form = "compensated",
    tolerance: float = 1e-3,
    n_neighbors: int = 5,
    regularization: float = 1e-3,
    solver: l1.Solver = "auto",
    max_iter: MaxIter = "auto",
    n_jobs: int | None = None,
    track: Callable[[Iterable[Any]], Iterator[Any]] = iter,
) -> Reconstruction:
    """Compute the same weights as `reconstruction_weights`, and bound their suboptimality.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        The samples, dense or sparse. All values must be finite. X is not modified.
    kind, form, tolerance, n_neighbors, regularization, max_iter, solver, n_jobs
        See `reconstruction_weights`. These parameters are not validated here.
    track : callable, default=iter
        Function that wraps the iterable of steps to report progress. If it stops early, each
        remaining sample is reconstructed by its nearest neighbour and considered unsolved.
    """
    # A fixed memory layout, since rounding depends on it.
    X = np.ascontiguousarray(as_samples(X).dense(), dtype=np.float64)
    if kind == "l2":
        # Rounding in BLAS depends on its number of threads.
        with one_blas_thread():
            return _closed_form(csr_array(ridge_weights(X, regularization)))
    if kind == "lle":
        return _closed_form(_local_weights(X, n_neighbors, regularization, n_jobs))
    first, group = l1.distinct_rows(X)
    # The optimum of a duplicate sample is 1, with all weight on its duplicate: no program is solved
    # for it. For the other samples, one representative of each set of duplicates suffices.
    alone = np.flatnonzero(np.bincount(group) == 1)
    twins = l1.twin_weights(group, first)
    if not len(alone):
        return _closed_form(twins)
    points, limit = X[first], step_limit(max_iter, *X.shape)
    solver = l1.solver_for(solver, form, *X.shape)
    with one_blas_thread():
        solve = l1.l1_solver(points, first, alone, form, tolerance, limit, solver)

    def work(targets: IntArray) -> l1.Tile:
        tile = solve(targets)
        return tile._replace(weights=coo_array(tile.weights))

    tiles = [alone[part] for part in slices(len(alone), _tile_size(len(X), X.shape[1], solver))]
    solved: list[l1.Tile] = []
    for step in track(slices(len(tiles), TILES_PER_STEP)):
        solved += map_threads(work, tiles[step], n_jobs)
    if len(solved) < len(tiles):
        solved.append(_nearest_only(points, np.concatenate(tiles[len(solved) :]), n_jobs))
    found = _assembled(solved, first[alone], first, twins, limit)
    return found if solver == "exact" else replace(found, largest_gap=l1.NEAR_GAP)


def _tile_size(n_samples: int, n_features: int, solver: l1.Solver) -> int:
    """Return the number of targets per tile, chosen to bound the size of the working arrays."""
    if solver != "exact":
        return -(-n_samples // -(-n_samples // MAX_NEAR_TILE))
    smaller = min(n_samples, n_features + 1)
    # In float64: about 20 vectors over the variables and three square matrices of a basis.
    bytes_per_target = 8 * (20 * (n_samples + n_features) + 3 * smaller**2)
    return max(1, min(MAX_TILE, TILE_BYTES // bytes_per_target, -(-n_samples // MIN_TILES)))


def _local_weights(
    X: FloatArray, n_neighbors: int, regularization: float, n_jobs: int | None = None
) -> csr_array:
    """Reconstruct each sample from its nearest neighbours, as in locally linear embedding."""
    n_samples = len(X)
    _, right, _ = nearest(X, n_neighbors, n_jobs=n_jobs)
    near = right.reshape(n_samples, n_neighbors)

    def work(part: slice) -> FloatArray:
        return barycentric_weights(X[near[part]] - X[part, None, :], regularization)

    size = max(1, LOCAL_TILE_BYTES // (8 * n_neighbors * X.shape[1]))
    weights = np.concatenate(map_threads(work, slices(n_samples, size), n_jobs))
    starts = np.arange(0, n_samples * n_neighbors + 1, n_neighbors)
    local = csr_array((weights.ravel(), near.ravel(), starts), shape=(n_samples, n_samples))
    local.sort_indices()
    return local


# -- the result ------------------------------------------------------------------------------


def _nearest_only(X: FloatArray, targets: IntArray, n_jobs: int | None) -> l1.Tile:
    """Reconstruct unsolved samples from their nearest neighbour only."""
    _, near, _ = nearest(X, 1, queries=targets, n_jobs=n_jobs)
    places = np.arange(len(targets)), near
    weights = coo_array((np.ones(len(targets)), places), shape=(len(targets), len(X)))
    return l1.Tile(weights, np.full(len(targets), np.inf), np.zeros(len(targets), dtype=np.intp))


def _assembled(
    tiles: list[l1.Tile], rows: IntArray, columns: IntArray, twins: csr_array, max_iter: int
) -> Reconstruction:
    """Combine the solutions of distinct samples and the weights of duplicates into one matrix."""
    n_samples = twins.shape[0]
    small = vstack([tile.weights for tile in tiles]).tocoo()
    places = rows[small.row], columns[small.col]
    weights = csr_array((small.data, places), shape=twins.shape)
    gaps, n_iter = np.zeros(n_samples), np.zeros(n_samples, dtype=np.intp)
    gaps[rows] = np.concatenate([tile.gaps for tile in tiles])
    n_iter[rows] = np.concatenate([tile.steps for tile in tiles])
    return Reconstruction(weights + twins, gaps, n_iter, max_iter)


def _closed_form(weights: csr_array) -> Reconstruction:
    """Wrap weights computed in closed form in a result with zero gaps and one step per sample."""
    n_samples = weights.shape[0]
    return Reconstruction(weights, np.zeros(n_samples), np.ones(n_samples, dtype=np.intp), 1)
