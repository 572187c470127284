"""Forward selection of the features that explain most of what is expected of a feature.

Scaled features are seen as draws f of a Gaussian process over the samples, whose covariance K is
that of the features at hand. Must-links and labels are noisy observations of linear functions of
f: a difference that is 0, or the value of a class. They leave a second moment `T = E[ff' | known]`.
A subset S is worth the part of T that a ridge regression on its columns explains,
`tr(T F_S (F_S'F_S + ridge I)^-1 F_S')`; features are added one by one.

The same numbers follow from products of samples, from products of features, and approximately
from random sums of samples; which of them is a matter of size.
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

# The ridge, in mean squared lengths of a feature. From 0.1 to 0.5 accuracy changes by less than a
# point.
RIDGE = 0.5
# Matrices of products are at most so wide; if there are more samples and features than this,
# samples are added up at random.
WIDEST = 10_000
# How many random sums of samples there are, and how many numbers they may have in all.
MOST_SUMS, LEAST_SUMS, SUMS_SIZE = 4096, 256, 1 << 27
# The least variance of an observation, in sums of the squared lengths of what is observed. With
# less, rounding would take the place of what is not observed.
LEAST_VARIANCE = 1e-10
# With more noise nothing is known, and products with it might overflow.
MOST_NOISE = 1e100
# How many numbers the differences over must-links may have that are computed in one pass.
LINKS_SIZE = 1 << 22


class Problem(NamedTuple):
    """The features, and what they are to explain."""

    columns: HeldColumns
    """Every feature; its entries are samples, or what stands for them."""
    kernel: Any
    """The products of the rows, K."""
    moment: Any
    """The second moment given what is known, T."""


class Explained(NamedTuple):
    """What a forward selection found."""

    order: IntArray
    """Features in the order of their choice, then the rest by what each would add to these."""
    scores: FloatArray
    """What each feature explains alone, as a share of what all of them explain."""
    path: FloatArray
    """The share that is explained after each chosen feature."""


def pose(X: Samples, scaling: Scaling, known: Observed, noise: float, n_jobs: int) -> Problem:
    """Pose the problem in the smallest space: that of samples, of features, or of random sums.

    Parameters
    ----------
    X : Samples
        The samples.
    scaling : Scaling
        How features are scaled.
    known : Observed
        What is known about them.
    noise : float
        The variance of observations, in mean squared lengths of a sample.
    n_jobs : int
        The number of threads.
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
    """Pose the problem in the space of samples."""
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
    # The same by (I + K QQ' / variance)^-1: as many observations as samples, or more.
    precision = weights @ weights.T
    precision = precision.toarray() if xp is np else precision
    variance = _at_least(noise * size, xp.sum(kernel * precision))
    system = _eye(kernel) + kernel @ precision / variance
    summed = weights @ targets / variance
    solved = xp.linalg.solve(system, kernel @ xp.concat([_eye(kernel), summed], axis=1))
    return Problem(columns, kernel, _moment(solved[:, :n_samples], solved[:, n_samples:]))


def condition(kernel: Any, cross: Any, own: Any, targets: Any, variance: float) -> Any:
    """Return the second moment of a Gaussian process given noisy observations.

    Parameters
    ----------
    kernel : array of shape (n_rows, n_rows)
        The covariance of the process.
    cross : array of shape (n_observations, n_rows)
        The covariance of observations and process.
    own : array of shape (n_observations, n_observations)
        The covariance of the observations, without noise.
    targets : array of shape (n_observations, n_classes)
        What was observed.
    variance : float
        That of the noise.
    """
    xp = namespace_of(kernel)
    variance = _at_least(variance, xp.linalg.trace(own))
    together = xp.concat([cross, targets], axis=1)
    solved = xp.linalg.solve(own + variance * _eye(own), together)
    n_rows = kernel.shape[0]
    return _moment(kernel - cross.T @ solved[:, :n_rows], cross.T @ solved[:, n_rows:])


def _at_least(variance: float, observed: Any) -> float:
    """Return a variance that rounding of all that is observed does not hide."""
    return max(variance, LEAST_VARIANCE * float(observed))


def _moment(covariance: Any, means: Any) -> Any:
    """Add what is expected to what is uncertain; rounding must not make it asymmetric."""
    moment = covariance + covariance.T
    moment /= 2.0
    moment += means @ means.T
    return moment


def by_features(
    X: Samples, scaling: Scaling, known: Observed, noise: float, n_jobs: int
) -> Problem:
    """Pose the problem in the space of features, from sums over the samples."""
    n_samples, n_features = X.shape
    n_labels, n_classes = int(known.labelled.sum()), known.targets.shape[1]
    of_classes = csr_array(known.weights[:, :n_labels] @ known.targets[:n_labels])
    links = known.weights[:, n_labels:]
    # As many links at a time as there are features take as much memory as their products.
    width = n_features if X.kind == "device" else max(n_features, LINKS_SIZE // n_features)
    first, *more = [links[:, some] for some in slices(links.shape[1], width)] or [links]
    weights = hstack([of_classes, first], format="csr")
    sums = row_sums(X, scaling, weights, known.labelled, n_jobs)
    # Each of these matrices may be most of what memory holds: they are changed in place, and what
    # is not needed any more is given up.
    products, observed, mixed = sums
    del sums
    xp = namespace_of(products)
    size = float(xp.linalg.trace(products)) / n_samples
    ends = mixed[n_classes:, :]
    observed = ends.T @ ends if observed is None else observed + ends.T @ ends
    for some in more:
        ends = mixed_rows(X, scaling, some, n_jobs)
        observed += ends.T @ ends
    # More than what rounding can take away; beside the ridge it is nothing.
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
    """Pose the problem approximately, for sums of samples with random signs in their place.

    Products of features become estimates with an error of about `|f| |g| / sqrt(n_sums)`.
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
    """Put every row with a random sign into one of the sums: a count sketch."""
    rng = np.random.default_rng(0)
    signs, sums = rng.choice([-1.0, 1.0], n_rows), rng.integers(n_sums, size=n_rows)
    return csr_array((signs, (np.arange(n_rows), sums)), shape=(n_rows, n_sums))


def _with_diagonal(matrix: Any, value: float) -> Any:
    """Add a number to the diagonal: of NumPy's arrays, which may be large, in place."""
    if isinstance(matrix, np.ndarray):
        np.einsum("ii->i", matrix)[:] += value
        return matrix
    return matrix + value * _eye(matrix)


def _eye(like: Any) -> Any:
    """Return the identity matrix of the shape of a square matrix, where that is."""
    return namespace_of(like).eye(like.shape[0], dtype=like.dtype, device=like.device)


def _put(values: FloatArray, like: Any) -> Any:
    """Copy values to where an array is."""
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
    """Choose features one by one, each time the one that explains most of what is left.

    With P the residual of the ridge regression on what was chosen, a feature f adds
    `f'PTPf / (ridge + f'Pf)`. A choice changes P by one rank, so two products of all features
    with a vector bring every gain up to date.

    Parameters
    ----------
    problem : Problem
        The features and what they are to explain.
    n_features : int
        How many features to choose at most; so many have to vary, or come first.
    constant : ndarray of bool of shape (n_features,)
        Which features have one value only: they come last.
    first : sequence of int, optional
        Features that are chosen before all others, in this order.
    share : float, default=inf
        Stop as soon as this share of what all features explain is reached.
    track : callable
        Wraps the steps to report progress; may end them early.
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
        # A gain of -1 is less than that of any free feature, which is not negative.
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
    """Return what is not negative but for rounding."""
    xp = namespace_of(worth)
    return xp.where(worth > 0, worth, xp.zeros_like(worth))


def largest_first(values: FloatArray, rounding: float) -> IntArray:
    """Order values, the largest first; those that differ by rounding only go by their place."""
    order = np.argsort(-values, kind="stable")
    ordered = values[order]
    run = np.cumsum(np.append(0, ordered[1:] < ordered[:-1] * (1.0 - rounding)))
    return order[np.lexsort((order, run[: len(order)]))]


def explained_by_all(problem: Problem, ridge: float) -> float:
    """Compute what a ridge regression on all features explains: `tr(T K (K + ridge I)^-1)`."""
    T = problem.moment
    xp = namespace_of(T)
    if xp is np:
        # Half of the time of a general inverse; one triangle of it, and the diagonal.
        factor = _with_diagonal(np.array(problem.kernel, order="F"), ridge)
        factor = dpotrf(factor, lower=True, overwrite_a=True)[0]
        inverse = dpotri(factor, lower=True, overwrite_c=True)[0]
        shared = 2.0 * np.einsum("ij,ij", T, inverse) - np.diag(T) @ np.diag(inverse)
    else:
        shared = xp.sum(T * xp.linalg.inv(problem.kernel + ridge * _eye(T)))
    return float(xp.linalg.trace(T)) - ridge * float(shared)
