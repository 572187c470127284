"""Forward selection of features that explain most of a conditional second moment.

Scaled features are modelled as draws f from a Gaussian process over the samples, whose covariance K
is that of the given features. Must-links and labels are noisy observations of linear functions of
f: a must-link is an observed difference of 0, and a label is an observed class value. Conditioning
on these observations yields the second moment `T = E[ff' | supervision]`. The criterion of a subset
S is the part of T that a ridge regression on its columns explains,
`tr(T F_S (F_S'F_S + ridge I)^-1 F_S')`. Features are added one by one.

The same values can be computed from inner products of samples or of features, and approximately
from random sums of samples. The choice depends on the size of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse import csr_array, hstack

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._blocks import slices
from linkselect._samples import Samples
from linkselect._samples.devices import device_of, namespace_of, to_numpy
from linkselect._samples.row_sums import mixed_rows, row_sums
from linkselect._samples.scaled_columns import HeldColumns, as_columns
from linkselect._samples.scaling import Scaling
from linkselect._search.observations import Observed

# The ridge, relative to the mean squared length of a feature. Between 0.1 and 0.5, accuracy changes
# by less than one percentage point.
RIDGE = 0.5
# Largest dimension of a matrix of products. If both samples and features are more than this, random
# sums of samples are used.
WIDEST = 10_000
# Largest and smallest number of random sums, and the largest number of values in all of them.
MOST_SUMS, LEAST_SUMS, SUMS_SIZE = 4096, 256, 1 << 27
# Smallest noise variance, relative to the total variance of the observed quantities. With less,
# rounding errors would dominate the posterior covariance.
LEAST_VARIANCE = 1e-10
# With more noise, observations carry no information, and products might overflow.
MOST_NOISE = 1e100
# Largest number of values in the differences over must-links that are computed in one pass.
LINKS_SIZE = 1 << 22


class Problem(NamedTuple):
    """The features, and the second moment to be explained by them."""

    columns: HeldColumns
    """All features, with one entry per sample or per dimension of an equivalent space."""
    kernel: Any
    """The prior covariance K."""
    moment: Any
    """The conditional second moment T."""


class Explained(NamedTuple):
    """The result of a forward selection."""

    order: IntArray
    """Features in the order of selection, followed by the remaining features, sorted by gain."""
    scores: FloatArray
    """The part explained by each feature alone, as a fraction of the part explained by all."""
    path: FloatArray
    """The explained fraction after each selected feature."""


def pose(X: Samples, scaling: Scaling, known: Observed, noise: float, n_jobs: int) -> Problem:
    """Formulate the problem in terms of samples, features or random sums, depending on data size.

    Parameters
    ----------
    X : Samples
        The samples.
    scaling : Scaling
        The scaling of the features.
    known : Observed
        The observations derived from labels and must-links.
    noise : float
        The noise variance, relative to the mean squared length of a sample.
    n_jobs : int
        Number of threads.
    """
    n_samples, n_features = X.shape
    noise = min(float(noise), MOST_NOISE)
    if X.by_columns or n_samples <= min(n_features, WIDEST):
        held = X if X.by_columns else X.held()
        if not held.must_stay_outside:
            return by_samples(held.scaled_columns(scaling, n_jobs), known, noise)
    elif n_features <= WIDEST:
        return by_features(X, scaling, known, noise, n_jobs)
    return by_random_sums(X, scaling, known, noise, n_jobs)


def by_samples(columns: HeldColumns, known: Observed, noise: float) -> Problem:
    """Formulate the problem in the space of samples."""
    kernel = columns.kernel()
    xp = namespace_of(kernel)
    n_samples, n_observations = known.weights.shape
    size = float(xp.linalg.trace(kernel)) / n_samples
    weights = known.weights if xp is np else _put(known.weights.toarray(), kernel)
    targets = _put(known.targets, kernel) * size**0.5
    if not n_observations or not size:
        return Problem(columns, kernel, kernel)
    if 2 * n_observations < n_samples:
        cross = weights.T @ kernel
        moment = condition(kernel, cross, cross @ weights, targets, noise * size)
        return Problem(columns, kernel, moment)
    # With many observations, invert (I + K QQ' / variance) instead, which has one row per sample.
    precision = weights @ weights.T
    precision = precision.toarray() if xp is np else precision
    variance = _at_least(noise * size, xp.sum(kernel * precision))
    system = _eye(kernel) + kernel @ precision / variance
    summed = weights @ targets / variance
    solved = xp.linalg.solve(system, kernel @ xp.concat([_eye(kernel), summed], axis=1))
    return Problem(columns, kernel, _moment(solved[:, :n_samples], solved[:, n_samples:]))


def condition(kernel: Any, cross: Any, own: Any, targets: Any, variance: float) -> Any:
    """Return the second moment of a Gaussian process conditional on noisy observations.

    Parameters
    ----------
    kernel : array of shape (n_rows, n_rows)
        The prior covariance of the process.
    cross : array of shape (n_observations, n_rows)
        The covariance between the observations and the process.
    own : array of shape (n_observations, n_observations)
        The covariance of the observations, without noise.
    targets : array of shape (n_observations, n_classes)
        The observed values.
    variance : float
        The variance of the observation noise.
    """
    xp = namespace_of(kernel)
    variance = _at_least(variance, xp.linalg.trace(own))
    together = xp.concat([cross, targets], axis=1)
    solved = xp.linalg.solve(own + variance * _eye(own), together)
    n_rows = kernel.shape[0]
    return _moment(kernel - cross.T @ solved[:, :n_rows], cross.T @ solved[:, n_rows:])


def _at_least(variance: float, observed: Any) -> float:
    """Return the noise variance, increased if it is below the rounding error of observations."""
    return max(variance, LEAST_VARIANCE * float(observed))


def _moment(covariance: Any, means: Any) -> Any:
    """Return the second moment `covariance + means means'` as an exactly symmetric matrix."""
    moment = covariance + covariance.T
    moment /= 2.0
    moment += means @ means.T
    return moment


def by_features(
    X: Samples, scaling: Scaling, known: Observed, noise: float, n_jobs: int
) -> Problem:
    """Formulate the problem in the space of features, based on sums over samples."""
    n_samples, n_features = X.shape
    n_labels, n_classes = int(known.labelled.sum()), known.targets.shape[1]
    of_classes = csr_array(known.weights[:, :n_labels] @ known.targets[:n_labels])
    links = known.weights[:, n_labels:]
    # This many links at a time take no more memory than the products of the features.
    width = n_features if X.kind == "device" else max(n_features, LINKS_SIZE // n_features)
    first, *more = [links[:, some] for some in slices(links.shape[1], width)] or [links]
    weights = hstack([of_classes, first], format="csr")
    sums = row_sums(X, scaling, weights, known.labelled, n_jobs)
    # Each of these matrices may fill most of the memory, so they are modified in place and deleted
    # as soon as possible.
    products, observed, mixed = sums
    del sums
    xp = namespace_of(products)
    size = float(xp.linalg.trace(products)) / n_samples
    ends = mixed[n_classes:, :]
    observed = ends.T @ ends if observed is None else observed + ends.T @ ends
    for some in more:
        ends = mixed_rows(X, scaling, some, n_jobs)
        observed += ends.T @ ends
    # Larger than the rounding error, so that the matrix is positive definite; negligible compared
    # with the ridge.
    rounding = 4 * n_features * float(np.finfo(np.float64).eps) * size * n_samples
    root = xp.linalg.cholesky(_with_diagonal(products, rounding))
    del products
    kernel, columns = root.T @ root, as_columns(root, n_jobs)
    if not known.weights.shape[1] or not size:
        return Problem(columns, kernel, kernel)
    variance = _at_least(noise * size, xp.linalg.trace(observed))
    summed = mixed[:n_classes, :].T * (size**0.5 / variance)
    system = _with_diagonal(observed, variance)
    solved = xp.linalg.solve(system, xp.concat([root, summed], axis=1))
    del observed, system
    solved = root.T @ solved
    solved *= variance
    return Problem(columns, kernel, _moment(solved[:, :n_features], solved[:, n_features:]))


def by_random_sums(
    X: Samples, scaling: Scaling, known: Observed, noise: float, n_jobs: int
) -> Problem:
    """Formulate an approximate problem for sums of samples with random signs.

    The inner product of two features f and g is estimated with an error of about
    `|f| |g| / sqrt(n_sums)`.
    """
    n_samples, n_features = X.shape
    n_sums = min(max(X.allowed(SUMS_SIZE) // n_features, LEAST_SUMS), MOST_SUMS, n_samples)
    observed, targets = known.weights, known.targets
    if observed.shape[1] > n_sums:
        sketch = _random_sums(observed.shape[1], n_sums)
        observed, targets = observed @ sketch, sketch.T @ targets
    weights = hstack([_random_sums(n_samples, n_sums), observed], format="csr")
    mixed = mixed_rows(X, scaling, weights, n_jobs)
    rows, ends = mixed[:n_sums, :], mixed[n_sums:, :]
    kernel = rows @ rows.T
    xp = namespace_of(kernel)
    size = float(xp.linalg.trace(kernel)) / n_samples
    columns = as_columns(xp.asarray(rows.T, copy=True), n_jobs)
    if not observed.shape[1] or not size:
        return Problem(columns, kernel, kernel)
    targets = _put(targets, kernel) * size**0.5
    moment = condition(kernel, ends @ rows.T, ends @ ends.T, targets, noise * size)
    return Problem(columns, kernel, moment)


def _random_sums(n_rows: int, n_sums: int) -> csr_array:
    """Return a count sketch matrix, which adds each row with a random sign to a random sum."""
    rng = np.random.default_rng(0)
    signs, sums = rng.choice([-1.0, 1.0], n_rows), rng.integers(n_sums, size=n_rows)
    return csr_array((signs, (np.arange(n_rows), sums)), shape=(n_rows, n_sums))


def _with_diagonal(matrix: Any, value: float) -> Any:
    """Add a number to the diagonal of a matrix.

    NumPy arrays, which may be large, are modified in place.
    """
    if isinstance(matrix, np.ndarray):
        np.einsum("ii->i", matrix)[:] += value
        return matrix
    return matrix + value * _eye(matrix)


def _eye(like: Any) -> Any:
    """Return an identity matrix with the shape, dtype and device of a square matrix."""
    return namespace_of(like).eye(like.shape[0], dtype=like.dtype, device=like.device)


def _put(values: FloatArray, like: Any) -> Any:
    """Copy values to the device of the array `like`."""
    here = device_of(like)
    return values if here is None else here.put(values)


def choose(
    problem: Problem,
    n_features: int,
    constant: BoolArray,
    *,
    first: Sequence[int] = (),
    share: float = np.inf,
    track: Callable[[Iterable[int]], Iterator[int]] = iter,
) -> Explained:
    """Select features greedily: each step adds the feature with the largest gain.

    Let P be the residual operator of the ridge regression on the selected features. The gain of a
    feature f is then `f'PTPf / (ridge + f'Pf)`. Each selection changes P by a matrix of rank 1, so
    all gains can be updated from the inner products of all features with two vectors.

    Parameters
    ----------
    problem : Problem
        The features, and the second moment to be explained by them.
    n_features : int
        Maximum number of features to select. At least this many features must be non-constant or in
        `first`.
    constant : ndarray of bool of shape (n_features,)
        A mask of the constant features, which are ranked last.
    first : sequence of int, optional
        Features that are selected before all others, in this order.
    share : float, default=inf
        The selection stops when it explains this fraction of the part explained by all features.
    track : callable
        Function that wraps the iterable of steps to report progress and may end it early.
    """
    columns, T = problem.columns, problem.moment
    xp = namespace_of(T)
    norms = columns.norms()
    ridge = RIDGE * float(xp.sum(norms)) / norms.shape[0]
    total = explained_by_all(problem, ridge)
    norms = norms + ridge
    worth = _positive(columns.quadratic(T))
    alone = worth / norms
    free = _put(np.where(constant, 0.0, 1.0), T)
    chosen: list[int] = []
    path: list[float] = []
    reached = 0.0
    past = _put(np.zeros((n_features, T.shape[0])), T)
    for step in track(range(n_features)):
        # Gains are non-negative, so -1 excludes features that are not available.
        gains = xp.where(free > 0, worth / norms, -free - 1.0)
        best = float(xp.max(gains))
        feature = int(xp.argmax(xp.astype(gains >= best * (1.0 - columns.rounding), xp.int8)))
        if step < len(first):
            feature = int(first[step])
        reached += float(worth[feature] / norms[feature])
        chosen.append(feature)
        path.append(reached / total)
        free[feature] = 0.0
        done, column = past[:step, :], columns.column(feature)
        left = column - done.T @ (done @ column)
        aim = T @ left
        aim = aim - done.T @ (done @ aim)
        both = columns.times(xp.stack([left, aim], axis=1))
        norm, own = float(norms[feature]), float(worth[feature])
        part = both[:, 0] / norm
        worth = _positive(worth - part * (2.0 * both[:, 1] - part * own))
        norms = norms - part * both[:, 0]
        norms = xp.where(norms > ridge, norms, ridge * xp.ones_like(norms))
        past[step, :] = left / norm**0.5
        if path[-1] >= share and len(chosen) >= len(first):
            break
    left = np.flatnonzero(to_numpy(free))
    rest = left[largest_first(to_numpy(worth / norms)[left], columns.rounding)]
    last = np.setdiff1d(np.flatnonzero(constant), chosen)
    order = np.concatenate([chosen, rest, last]).astype(np.intp)
    return Explained(order, to_numpy(alone) / total, np.array(path))


def _positive(worth: Any) -> Any:
    """Replace negative values, which are caused by rounding errors, by 0."""
    xp = namespace_of(worth)
    return xp.where(worth > 0, worth, xp.zeros_like(worth))


def largest_first(values: FloatArray, rounding: float) -> IntArray:
    """Return the indices that sort values in descending order.

    Values that agree up to rounding are sorted by position.
    """
    order = np.argsort(-values, kind="stable")
    ordered = values[order]
    run = np.cumsum(np.append(0, ordered[1:] < ordered[:-1] * (1.0 - rounding)))
    return order[np.lexsort((order, run[: len(order)]))]


def explained_by_all(problem: Problem, ridge: float) -> float:
    """Compute the part explained by all features, `tr(T K (K + ridge I)^-1)`."""
    T = problem.moment
    xp = namespace_of(T)
    if xp is np:
        # A Cholesky inverse takes half of the time of a general one and fills only one triangle.
        factor = _with_diagonal(np.array(problem.kernel, order="F"), ridge)
        factor = dpotrf(factor, lower=True, overwrite_a=True)[0]
        inverse = dpotri(factor, lower=True, overwrite_c=True)[0]
        shared = 2.0 * np.einsum("ij,ij", T, inverse) - np.diag(T) @ np.diag(inverse)
    else:
        shared = xp.sum(T * xp.linalg.inv(problem.kernel + ridge * _eye(T)))
    return float(xp.linalg.trace(T)) - ridge * float(shared)
