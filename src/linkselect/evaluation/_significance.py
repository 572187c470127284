"""How far rankings agree, how stable they are, and which differences can be shown."""

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
    """The paired difference of two methods' means, and whether it can be shown.

    Parameters
    ----------
    better, worse : str
        The methods; `better` has the larger mean.
    mean : float
        By how much: of accuracy a share of the test rows, of held-out pairs an AUC.
    p : float
        The two-sided p-value of the corrected resampled t-test.
    p_adjusted : float
        The same after Holm's correction over all pairs of methods, a random choice counting as
        one of them.
    """

    better: str
    worse: str
    mean: float
    p: float
    p_adjusted: float


def rank_correlation(ranks: ArrayLike) -> FloatArray:
    """Return Spearman's correlation between rows of ranks; 1 if one of them does not vary.

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
    """Return the share of the `k` best features that two rows of ranks have in common.

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
    """Test whether paired differences of accuracy over random splits have mean zero; two-sided.

    Splits share rows, so their differences are not independent and the plain t-test finds
    differences where there are none. The variance is enlarged by `n_test / n_train` (Nadeau &
    Bengio 2003).

    Accuracy comes in steps of one test row. Differences that are all equal therefore do not show
    that there is no variance, only that it is within a step: the variance counts as at least
    that of a value rounded to `1 / n_test`, which is `1 / (12 n_test^2)`.

    Parameters
    ----------
    differences : array-like of shape (n_splits,)
        One for each split.
    n_train, n_test : int
        The numbers of training and of test rows in each split.
    n_folds : int, optional
        How many of the splits hold out everything once, if the others repeat that. All repeats
        hold out the same pairs, and on noise they have as many degrees of freedom as two have.

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
    """Adjust p-values of several tests so that the chance of any false finding stays bounded.

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
    """Write a p-value in few digits, and a tiny one as a bound: no test gives certainty.

    Examples
    --------
    >>> p_text(0.0312), p_text(1e-9)
    ('= 0.031', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"


def paired_differences(
    curves: Mapping[str, Curve], n_train: int, n_test: int, n_folds: int | None = None
) -> tuple[Difference, ...]:
    """Test every two methods, split by split; return the largest difference first.

    Parameters
    ----------
    curves : dict of str to Curve
        What was measured of each method, one row for each split.
    n_train, n_test : int
        The numbers of training and of test rows, or pairs, in each split.
    n_folds : int, optional
        How many splits hold out everything once, if the others repeat that.
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
    """Compute Nogueira's index of the `top` first features of several orders."""
    features = np.arange(len(orders[0]))
    return nogueira_index(np.array([np.isin(features, order[:top]) for order in orders]))
