"""Agreement and stability of rankings, and significance tests of differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t

from linkselect._arrays import FloatArray, IntArray
from linkselect._bibliography import cites
from linkselect.evaluation._curves import Curve
from linkselect.selectors._stability import nogueira_index


@dataclass(frozen=True)
class Difference:
    """The paired difference between the means of two methods, with a significance test.

    Parameters
    ----------
    better, worse : str
        The names of the two methods, of which `better` has the larger mean.
    mean : float
        The mean difference, in accuracy (as a fraction) or AUC.
    p : float
        The two-sided p-value of the corrected resampled t-test.
    p_adjusted : float
        The p-value adjusted by Holm's method over all pairs of methods, where features in random
        order count as a method.
    """

    better: str
    worse: str
    mean: float
    p: float
    p_adjusted: float


def rank_correlation(ranks: ArrayLike) -> FloatArray:
    """Return Spearman's correlation between rows of ranks; 1 if a row is constant.

    Parameters
    ----------
    ranks : array-like of shape (n_rankings, n_features)
        The rank of each feature in each ranking.

    Returns
    -------
    ndarray of shape (n_rankings, n_rankings)
        The correlation between every two rankings.

    Examples
    --------
    >>> rank_correlation([[1, 2, 3], [3, 2, 1]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    centred = np.asarray(ranks, dtype=float)
    centred = centred - centred.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(centred, axis=1)
    products = np.outer(norms, norms)
    return np.where(products > 0, centred @ centred.T / np.where(products > 0, products, 1), 1.0)


def top_overlap(ranks: ArrayLike, k: int) -> FloatArray:
    """Return the proportion of the `k` best features that two rankings share.

    Parameters
    ----------
    ranks : array-like of shape (n_rankings, n_features)
        The rank of each feature in each ranking, from 1.
    k : int
        The number of best features to compare.

    Returns
    -------
    ndarray of shape (n_rankings, n_rankings)
        The proportion for every two rankings.

    Examples
    --------
    >>> top_overlap([[1, 2, 3], [3, 2, 1]], k=2)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    among_best = (np.asarray(ranks) <= k).astype(float)
    return among_best @ among_best.T / k


@cites("nadeau2003")
def corrected_t_test(
    differences: ArrayLike, n_train: int, n_test: int, n_folds: int | None = None
) -> float:
    """Test whether the mean of paired differences over random splits is zero (two-sided).

    Splits share samples, so their differences are not independent, and the standard t-test rejects
    too often. The corrected resampled t-test replaces the factor `1 / n_splits` of the variance by
    `1 / n_splits + n_test / n_train` (Nadeau & Bengio 2003).

    Accuracy is always a multiple of `1 / n_test`. Even if all observed differences are equal, their
    true variance is therefore not zero, but too small to be observed. It is at least the variance
    of rounding to a multiple of `1 / n_test`, which is `1 / (12 n_test^2)`.

    Parameters
    ----------
    differences : array-like of shape (n_splits,)
        The difference between two methods in each split.
    n_train, n_test : int
        The numbers of training and test samples in each split.
    n_folds : int, optional
        For repeated cross-validation, the number of folds in each repeat. All repeats hold out the
        same pairs, so the degrees of freedom are limited to those of two repeats.

    Returns
    -------
    float
        The p-value.

    Examples
    --------
    >>> round(corrected_t_test([0.02, 0.03, 0.01, 0.02, 0.03], 400, 100), 3)
    0.017
    >>> round(corrected_t_test([0.1, 0.1], 80, 20), 3)
    0.079
    """
    values = np.asarray(differences, dtype=np.float64)
    n_splits = len(values)
    variance = max(values.var(ddof=1), 1 / (12 * n_test**2))
    statistic = values.mean() / np.sqrt((1 / n_splits + n_test / n_train) * variance)
    n_independent = n_splits if n_folds is None else min(n_splits, 2 * n_folds)
    return float(2 * t.sf(abs(statistic), n_independent - 1))


@cites("holm1979")
def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for multiple testing by Holm's method (family-wise error rate).

    Parameters
    ----------
    p_values : sequence of float
        The p-values of all tests.

    Returns
    -------
    list of float
        The adjusted p-values, in the same order.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)
    factors = len(p_values) - np.arange(len(p_values))
    adjusted = np.minimum(np.maximum.accumulate(np.asarray(p_values)[order] * factors), 1.0)
    result = np.empty(len(p_values))
    result[order] = adjusted
    return [float(p) for p in result]


def p_text(p: float) -> str:
    """Return a p-value as text with few digits, or as an upper bound if it is very small.

    Examples
    --------
    >>> p_text(0.0312), p_text(1e-9)
    ('= 0.031', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"


def paired_differences(
    curves: Mapping[str, Curve], n_train: int, n_test: int, n_folds: int | None = None
) -> tuple[Difference, ...]:
    """Test the difference between every two methods, paired by split or fold.

    Parameters
    ----------
    curves : dict of str to Curve
        The measure of each method, with one row for each split.
    n_train, n_test : int
        The numbers of training and test samples, or pairs, in each split.
    n_folds : int, optional
        For repeated cross-validation, the number of folds in each repeat.

    Returns
    -------
    tuple of Difference
        The tests, sorted by decreasing difference.
    """
    means = {name: curve.values.mean(axis=1) for name, curve in curves.items()}
    tested = []
    for one, other in combinations(means, 2):
        gap = means[one] - means[other]
        better, worse = (one, other) if gap.mean() >= 0 else (other, one)
        p = corrected_t_test(gap, n_train, n_test, n_folds)
        tested.append((better, worse, abs(float(gap.mean())), p))
    adjusted = holm([p for *_, p in tested])
    differences = [Difference(*test, p) for test, p in zip(tested, adjusted, strict=True)]
    return tuple(sorted(differences, key=lambda difference: -difference.mean))


def stability_of_best(orders: Sequence[IntArray], top: int) -> float:
    """Return Nogueira's stability index of the first `top` features of several rankings."""
    features = np.arange(len(orders[0]))
    return nogueira_index(np.array([np.isin(features, order[:top]) for order in orders]))
