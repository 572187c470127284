"""Weights that reconstruct every sample from the others: the graph of the Sparsity Score.

Row i of the weights S reconstructs sample `x_i`: its entries sum to 1, and the i-th is 0.
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
from linkselect._messages import GuidedValueError, warn_user
from linkselect._samples import as_samples
from linkselect._solvers.closed_form import barycentric_weights, ridge_weights
from linkselect.graphs import _l1_reconstruction as l1
from linkselect.graphs._distance_graphs import check_n_neighbors, nearest

Kind = Literal["l1", "l2", "lle"]
MaxIter = int | Literal["auto"]

# A tile is small enough for its arrays to stay near the processor, and there are some tiles even
# for few samples, so that threads have work. It must not depend on the number of threads.
TILE_BYTES = 1 << 25
MIN_TILES = 16
MAX_TILE = 128
# The first-order method is fastest with many targets side by side.
MAX_NEAR_TILE = 192
# The simplex method exchanges the members of a basis, of which there are `k = min(n, d + 1)` at
# most, among `n + d` variables for n samples of d features. On the hardest data that we found,
# large features of low rank, it took 0.5 to 0.9 times `k sqrt(n + d)` steps from 100 x 128 to
# 800 x 1,024 (11,700 for 400 x 1,024), and far fewer on others. 5 times leave room. A limit is
# needed at all because rounding can make the method cycle; LEAST_STEP_LIMIT serves all small
# problems.
STEPS_PER_EXCHANGE = 5
LEAST_STEP_LIMIT = 10_000
# Progress is reported after this many tiles, which are what threads share.
TILES_PER_STEP = 8
LOCAL_TILE_BYTES = 1 << 22


@dataclass(frozen=True)
class Reconstruction:
    """Hold the weights that reconstruct every sample, and how well they are known.

    Attributes
    ----------
    weights : csr_array of shape (n_samples, n_samples)
        Rows sum to 1; the diagonal is 0.
    gaps : ndarray of shape (n_samples,)
        How far the objective of each sample can be above its optimum at most, relative to it.
    n_iter : ndarray of shape (n_samples,)
        The steps taken for each sample.
    max_iter : int
        The largest number of simplex steps that a sample was allowed.
    largest_gap : float
        Up to which gap a sample counts as solved.
    """

    weights: csr_array
    gaps: FloatArray
    n_iter: IntArray
    max_iter: int
    largest_gap: float = l1.CERTAIN_GAP

    @property
    def unsolved(self) -> IntArray:
        """The samples that are not certain to be within `largest_gap` of their optimum."""
        return np.flatnonzero(~(self.gaps <= self.largest_gap))

    def warn_unsolved(self) -> None:
        """Say how many samples are not certain to be solved, if any, how badly, and what to do."""
        unsolved = self.unsolved
        if len(unsolved):
            exact = "" if self.largest_gap == l1.CERTAIN_GAP else "pass solver='exact', "
            warn_user(
                f"{len(unsolved)} of {len(self.gaps)} samples, the first of them sample "
                f"{unsolved[0]}, are not certain to be within {self.largest_gap:g} of their "
                f"optimum after at most max_iter={self.max_iter} steps: "
                f"{self._what_is_certain()}.",
                ConvergenceWarning,
                hint=f"Standardise the features, raise max_iter, {exact}or do not let a "
                "callback end the fit.",
                settings={"X": "standard", "max_iter": "VALUE"},
            )

    def _what_is_certain(self) -> str:
        gaps = self.gaps[self.unsolved]
        certain = gaps[np.isfinite(gaps)]
        parts = []
        if len(certain):
            parts.append(f"the largest certified gap is {certain.max():.2g} of the optimum")
        if len(certain) < len(gaps):
            parts.append(f"nothing is certain of {len(gaps) - len(certain)} of them")
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
    """Compute the weights that reconstruct every sample from the others.

    For each sample `x_i`, with `sum_j s_j = 1` and `s_i = 0`:

    - `kind="l1"`, `form="compensated"`: least `|s|_1 + |x_i - s X|_1`; always possible,
    - `kind="l1"`, `form="tolerance"`: least `|s|_1` with `|x_i - s X|_2 <= tolerance`,
    - `kind="l1"`, `form="equality"`: least `|s|_1` with `x_i = s X`,
    - `kind="l2"`: least `|x_i - s X|_2^2 + r |s|_2^2`, where r is `regularization` times the mean
      squared distance of a sample from the mean,
    - `kind="lle"`: the same over the `n_neighbors` nearest samples, where r is `regularization`
      times the sum of squared distances to them (locally linear embedding).

    Not for features of different units: standardise them first, since one unit of error costs
    as much as one unit of weight.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        At least two samples. A sparse matrix is made dense, since samples are reconstructed in all
        features.
    kind : {"l1", "l2", "lle"}, default="l1"
        What the weights make small.
    form : {"compensated", "tolerance", "equality"}, default="compensated"
        How exactly samples are reconstructed; `kind="l1"` only.
    tolerance : float, default=1e-3
        The largest Euclidean error of `form="tolerance"`.
    n_neighbors : int, default=5
        The number of neighbours of `kind="lle"`; equally near ones go by row number.
    regularization : float, default=1e-3
        How strongly "l2" and "lle" keep weights small.
    max_iter : int or "auto", default="auto"
        The largest number of simplex steps for one sample, or of steps of SciPy's `nnls` for
        `form="tolerance"`. For n samples of d features "auto" is `5 min(n, d + 1) sqrt(n + d)`, and
        at least 10,000.
    solver : {"auto", "exact", "first_order"}, default="auto"
        How `form="compensated"` is solved: exactly, sample by sample; or for many samples at once
        by a first-order method, which stops if a sample is certain to be within 1 % of its
        optimum. "auto" takes the latter for more than 150 samples of more than 150 features, and
        solves exactly what it leaves open. The other forms are always solved exactly.
    n_jobs : int, optional
        The number of threads; the result does not depend on it. Default: as many as BLAS may use.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        Rows sum to 1; the diagonal is 0. The optimum need not be unique: compare objectives, not
        weights.

    Warns
    -----
    ConvergenceWarning
        If some samples are not certain to be within 1e-6 of their optimum, or within 1 % of it by
        the first-order method: how many, and how far from it they can be.

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
    """Refuse values for which the problem has no meaning."""
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
            f"tolerance={tolerance!r}, but the largest Euclidean error of a reconstructed sample "
            "must be a positive number.",
            "Choose form='compensated', which needs none; only "
            "linkselect.graphs.reconstruction_weights(X, form='equality') allows no error.",
            "tolerance",
        )
    if solver == "first_order" and (kind != "l1" or form != "compensated"):
        raise GuidedValueError(
            f"solver='first_order' does not solve kind={kind!r} with form={form!r}.",
            "Pass solver='auto', or kind='l1' with form='compensated'.",
            "solver",
        )
    if kind != "l1" and not 0.0 < regularization < np.inf:
        raise GuidedValueError(
            f"regularization={regularization!r}, but it must be a positive number.",
            "Choose a small one, such as 1e-6, to keep the weights nearly free.",
            "regularization",
        )
    if kind == "lle":
        check_n_neighbors(n_neighbors, n_samples)


def step_limit(max_iter: MaxIter, n_samples: int, n_features: int) -> int:
    """Return how many simplex steps one sample may take: `max_iter`, or by the size if "auto"."""
    if max_iter == "auto":
        size = min(n_samples, n_features + 1) * math.sqrt(n_samples + n_features)
        return max(LEAST_STEP_LIMIT, math.ceil(STEPS_PER_EXCHANGE * size))
    return max_iter


def n_reconstruction_steps(
    n_samples: int, n_features: int, kind: Kind, form: l1.Form, solver: l1.Solver = "auto"
) -> int:
    """Return how many steps `reconstruct` tracks at most."""
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
    """Compute the weights of `reconstruction_weights` and how well they are known.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features)
        Finite numbers, dense or sparse; never written to.
    kind, form, tolerance, n_neighbors, regularization, max_iter, solver, n_jobs
        See `reconstruction_weights`; they are not checked.
    track : callable, default=iter
        Yields the steps that it gets, to report progress. If it ends early, the samples that are
        left take their nearest one and count as unsolved.
    """
    # One order of the values in memory, or rounding would depend on where X comes from.
    X = np.ascontiguousarray(as_samples(X).dense(), dtype=np.float64)
    if kind == "l2":
        # The rounding of BLAS depends on the number of its threads.
        with one_blas_thread():
            return _closed_form(csr_array(ridge_weights(X, regularization)))
    if kind == "lle":
        return _closed_form(_local_weights(X, n_neighbors, regularization, n_jobs))
    first, group = l1.distinct_rows(X)
    # A sample with a twin has the optimum, 1, by the twin alone. Equal samples need only one
    # representative for the others, and it is not solved for if it has a twin.
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
    """Return how many targets a tile has, so that its working arrays have a bounded size."""
    if solver != "exact":
        return -(-n_samples // -(-n_samples // MAX_NEAR_TILE))
    smaller = min(n_samples, n_features + 1)
    # In float64: some 20 vectors over the variables, and three square matrices of a basis.
    bytes_per_target = 8 * (20 * (n_samples + n_features) + 3 * smaller**2)
    return max(1, min(MAX_TILE, TILE_BYTES // bytes_per_target, -(-n_samples // MIN_TILES)))


def _local_weights(
    X: FloatArray, n_neighbors: int, regularization: float, n_jobs: int | None = None
) -> csr_array:
    """Reconstruct each sample from its nearest ones, as locally linear embedding does."""
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
    """Reconstruct samples by the nearest one alone, if nothing better is known."""
    _, near, _ = nearest(X, 1, queries=targets, n_jobs=n_jobs)
    places = np.arange(len(targets)), near
    weights = coo_array((np.ones(len(targets)), places), shape=(len(targets), len(X)))
    return l1.Tile(weights, np.full(len(targets), np.inf), np.zeros(len(targets), dtype=np.intp))


def _assembled(
    tiles: list[l1.Tile], rows: IntArray, columns: IntArray, twins: csr_array, max_iter: int
) -> Reconstruction:
    """Put the solutions of distinct samples, and the weights of twins, into one matrix."""
    n_samples = twins.shape[0]
    small = vstack([tile.weights for tile in tiles]).tocoo()
    places = rows[small.row], columns[small.col]
    weights = csr_array((small.data, places), shape=twins.shape)
    gaps, n_iter = np.zeros(n_samples), np.zeros(n_samples, dtype=np.intp)
    gaps[rows] = np.concatenate([tile.gaps for tile in tiles])
    n_iter[rows] = np.concatenate([tile.steps for tile in tiles])
    return Reconstruction(weights + twins, gaps, n_iter, max_iter)


def _closed_form(weights: csr_array) -> Reconstruction:
    """Describe weights that take one step each."""
    n_samples = weights.shape[0]
    return Reconstruction(weights, np.zeros(n_samples), np.ones(n_samples, dtype=np.intp), 1)
