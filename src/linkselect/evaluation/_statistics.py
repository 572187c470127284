"""Statistics of a comparison: which differences can be shown, and how stable a choice is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from linkselect._arrays import IntArray
from linkselect.evaluation._curves import Curve
from linkselect.evaluation._measure import Difference
from linkselect.evaluation._significance import corrected_t_test, holm
from linkselect.selectors._stability import nogueira_index


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
