"""Selection frequencies on resamples, and highly correlated features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkselect._arrays import BoolArray, FloatArray, IntArray, Matrix
from linkselect._blocks import one_blas_thread, slices
from linkselect._samples import Samples, as_samples
from linkselect._search.correlations import correlated, standardized
from linkselect.evaluation._fold_rankings import FoldRanker
from linkselect.evaluation._inputs import Track
from linkselect.selectors._method import describe
from linkselect.selectors._resamples import draw_resamples, fit_resamples

LEAST_CORRELATION = 0.9
MOST_TWINS = 3
# Using more samples would hardly change which features are found to be highly correlated.
ROWS_FOR_TWINS = 2000
FEATURES_PER_BLOCK = 1000


class Twin(NamedTuple):
    """A feature that is highly correlated with another one, positively or negatively."""

    feature: int
    """The column of the feature."""
    correlation: float
    """The Pearson correlation between this feature and the other one."""


class Stability(NamedTuple):
    """Selection frequencies on resamples; `Validation` has attributes with the same names."""

    frequencies: tuple[float, ...] = ()
    together: tuple[float, ...] = ()
    n_resamples: int = 0
    n_unranked: int = 0
    pairs_left: tuple[float, float] | None = None


def measure_stability(
    ranker: FoldRanker, selector: Any, selected: IntArray, n_resamples: int, track: Track
) -> Stability:
    """Measure how often features are selected on complementary halves of the samples."""
    if not n_resamples or not _can_resample(ranker):
        return Stability()
    rng = np.random.RandomState(ranker.seed)
    given, n_samples = ranker.given, ranker.X.shape[0]
    draws = draw_resamples(selector, given, n_samples, n_resamples, rng, groups=ranker.groups)
    if all(len(draw.rows) == n_samples for draw in draws):  # a class of one group cannot be halved
        return Stability()
    found = fit_resamples(draws, as_samples(ranker.X), track)
    n_ranked = len(found.selected)
    by_pairs = describe(selector).sees == "pairs" and given.pairs is not None
    left = np.mean([draw.n_pairs for draw in draws], axis=0).tolist() if by_pairs else None
    pairs_left = None if left is None else (left[0], left[1])
    if not n_ranked:
        return Stability(n_unranked=n_resamples, pairs_left=pairs_left)
    frequencies = tuple(found.selected.mean(axis=0).tolist())
    together = selected_together(ranker.X, selected, found.selected)
    return Stability(frequencies, together, n_ranked, n_resamples - n_ranked, pairs_left)


def _can_resample(ranker: FoldRanker) -> bool:
    """Return whether there is enough supervision to be divided into two different halves."""
    if describe(ranker.selector).sees == "nothing":
        return True
    if ranker.kind == "pairs":
        pairs = ranker.given.pairs
        return pairs is not None and max(pairs.n_must, pairs.n_cannot) > 1
    codes = ranker.codes()
    # Every resample contains at least two labels of each class.
    return bool((np.bincount(codes[codes >= 0]) > 2).any())


def selected_together(X: Matrix, features: IntArray, chosen: BoolArray) -> tuple[float, ...]:
    """Return the selection frequency of each feature or a feature highly correlated with it.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The samples.
    features : array of int
        The features for which to compute the frequency.
    chosen : ndarray of bool of shape (n_resamples, n_features)
        The features selected in each resample.
    """
    candidates = np.flatnonzero(chosen.any(axis=0))
    counts = chosen[:, features]
    for part in slices(len(candidates), FEATURES_PER_BLOCK):
        some = candidates[part]
        alike = np.abs(_correlations(as_samples(X), features, some)) >= LEAST_CORRELATION
        counts |= (chosen[:, some].astype(np.float32) @ alike.T.astype(np.float32)) > 0
    return tuple(counts.mean(axis=0).tolist())


def _correlations(samples: Samples, features: IntArray, others: IntArray) -> FloatArray:
    """Return the correlations between two sets of features, computed on at most 2,000 samples."""
    some = _some_rows(samples)
    columns = (some.own_values(one).astype(np.float64) for one in (features, others))
    wanted, found = map(standardized, columns)
    with one_blas_thread():  # the order of summation depends on the number of threads
        correlations: FloatArray = wanted.T @ found
    return correlations


def _some_rows(samples: Samples) -> Samples:
    n_samples = samples.shape[0]
    if n_samples <= ROWS_FOR_TWINS:
        return samples
    return samples.take(np.linspace(0, n_samples - 1, ROWS_FOR_TWINS).astype(np.intp))


Twins = tuple[tuple[Twin, ...], ...]
LeftOut = tuple[tuple[int, Twin], ...]


def correlated_twins(
    X: Matrix, features: IntArray, selected: IntArray | None = None
) -> tuple[Twins, LeftOut]:
    """Find features whose correlation with given features is at least 0.9 or at most -0.9.

    If there are more than 2,000 samples, 2,000 evenly spaced samples are used.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The samples.
    features : array of int
        The features for which to find correlated features.
    selected : array of int, optional
        All selected features. Default: `features`.

    Returns
    -------
    twins : tuple of tuple of Twin
        Up to three correlated features for each of `features`, sorted by decreasing absolute
        correlation.
    left_out : tuple of (int, Twin)
        Each feature that is not selected but highly correlated with one of `features`, and the one
        of `features` with which it is most correlated.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(5.0)
    >>> X = np.column_stack([x, x**2, -2 * x, [3, 1, 4, 1, 5]])
    >>> twins, left_out = correlated_twins(X, np.array([0]))
    >>> [twin.feature for twin in twins[0]], [feature for feature, _ in left_out]
    ([2, 1], [1, 2])
    """
    samples = _some_rows(as_samples(X))
    kept = set((features if selected is None else selected).tolist())
    found: list[list[Twin]] = [[] for _ in features]
    closest: dict[int, Twin] = {}
    for near in correlated(samples, features, LEAST_CORRELATION):
        for place, other, exact in near:
            # Rounded, so that ties are ordered by column.
            correlation = round(exact, 9)
            found[place].append(Twin(other, correlation))
            best = closest.get(other)
            if other not in kept and (best is None or abs(correlation) > abs(best.correlation)):
                closest[other] = Twin(int(features[place]), correlation)
        found = [_best(twins) for twins in found]
    return tuple(map(tuple, found)), tuple(sorted(closest.items()))


def _best(twins: list[Twin]) -> list[Twin]:
    return sorted(twins, key=lambda twin: (-abs(twin.correlation), twin.feature))[:MOST_TWINS]
