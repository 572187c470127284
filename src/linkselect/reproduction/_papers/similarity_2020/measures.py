"""The measures of Salmi, Hammouche & Macaire (2020): kept features, ranks, new must-links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from linkselect._arrays import IntArray


def kept_fraction(n_features: int) -> float:
    """Return the share of features over which the paper averages (r % in its tables 3 and 6).

    5 % above 3,000 features, 10 % from 2,000 on, 20 % from 300 on, else all.

    Examples
    --------
    >>> from linkselect.reproduction._papers.similarity_2020.measures import kept_fraction
    >>> [kept_fraction(n) for n in (34, 649, 2420, 7129)]
    [1.0, 0.2, 0.1, 0.05]
    """
    if n_features > 3000:
        return 0.05
    if n_features >= 2000:
        return 0.1
    return 0.2 if n_features >= 300 else 1.0


def n_kept(n_features: int) -> int:
    """Return how many features the r % are, rounded up.

    Table 8 shows the rounding: its curve on CNAE-9 (171.2 features) goes on to 172.
    """
    # 0.1 * 2,420 is a little more than 242 in floating point.
    return int(np.ceil(round(kept_fraction(n_features) * n_features, 6)))


def spread_counts(n_features: int, n_points: int) -> IntArray:
    """Return at most `n_points` numbers of features from 1 to all, denser among small numbers.

    A curve rises over the first features and is flat later, so points are spread evenly in the
    square root.

    Examples
    --------
    >>> from linkselect.reproduction._papers.similarity_2020.measures import spread_counts
    >>> spread_counts(100, 6)
    array([  1,   8,  21,  41,  67, 100])
    """
    if n_features <= n_points:
        return np.arange(1, n_features + 1)
    roots = np.linspace(1.0, np.sqrt(n_features), n_points)
    return np.unique(np.round(roots**2).astype(np.intp))


def rank_sums(accuracies: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Sum the ranks of methods over runs (equation 40): 1 for the most accurate in a run.

    Equal accuracies share the better rank, as the paper's sums show: with three methods they
    add up to less than 6 in a run.

    Parameters
    ----------
    accuracies : mapping from method to one accuracy for each run
        Run i is the same split and the same labels for all methods.

    Returns
    -------
    dict from method to sum

    Examples
    --------
    >>> from linkselect.reproduction._papers.similarity_2020.measures import rank_sums
    >>> rank_sums({"a": [0.9, 0.8], "b": [0.9, 0.7], "c": [0.5, 0.6]})
    {'a': 2.0, 'b': 3.0, 'c': 6.0}
    """
    ranks = _ranks(list(accuracies.values()))
    return {name: float(row.sum()) for name, row in zip(accuracies, ranks, strict=True)}


def average_ranks(accuracies: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Average the ranks of methods over data sets: 1 for the most accurate on a data set.

    Examples
    --------
    >>> from linkselect.reproduction._papers.similarity_2020.measures import average_ranks
    >>> average_ranks({"a": [95.0, 80.0], "b": [90.0, 85.0]})
    {'a': 1.5, 'b': 1.5}
    """
    ranks = _ranks(list(accuracies.values()))
    return {name: float(row.mean()) for name, row in zip(accuracies, ranks, strict=True)}


def _ranks(rows: Sequence[Sequence[float]]) -> NDArray[Any]:
    # Equal shares of test rows may differ in the last digit when they were computed differently.
    values = np.round(np.asarray(rows, dtype=np.float64), 9)
    return rankdata(-values, method="min", axis=0)


def new_must_links(groups: NDArray[Any], n_must: int) -> float:
    """Compare the must-links between rows of one group with those given (NML, equation 41).

    Links are ordered pairs without self pairs, in the groups as in the `n_must` given.

    Parameters
    ----------
    groups : array of int
        The class of each row's nearest prototype.
    n_must : int
        The number of given must-links.

    Returns
    -------
    float
        How many times as many there are.
    """
    return _n_pairs(groups) / n_must


def correct_new_must_links(groups: NDArray[Any], y: NDArray[Any], n_must: int) -> float:
    """Return the share of the new must-links that join rows of one class (CNML, equation 42).

    Parameters
    ----------
    groups, y : arrays of int
        The class of each row's nearest prototype, and its true class.
    n_must : int
        The number of given must-links, which are among those of the groups and all correct.
    """
    both = groups.astype(np.intp) * (int(y.max()) + 1) + y
    return (_n_pairs(both) - n_must) / (_n_pairs(groups) - n_must)


def _n_pairs(groups: NDArray[Any]) -> float:
    sizes = np.unique(groups, return_counts=True)[1].astype(np.float64)
    return float((sizes * (sizes - 1)).sum())
