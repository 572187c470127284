"""What a comparison of methods found, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkselect.evaluation import sentences
from linkselect.evaluation.curves import Curve

__all__ = ["Comparison", "Difference"]


@dataclass(frozen=True)
class Difference:
    """The paired difference of two methods' mean accuracy, and whether it can be shown.

    Parameters
    ----------
    better, worse : str
        The methods; `better` has the larger mean.
    mean : float
        By how much, as a share of the test rows.
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


@dataclass(frozen=True)
class Comparison:
    """What was measured of several methods on one data set.

    Parameters
    ----------
    methods : tuple of str
        The names, in the order given.
    n_samples, n_features : int
        The size of the data.
    n_splits : int
        How many random splits into training and test rows.
    test_size : float
        The share of labelled rows that were test rows.
    classifier : str
        What measured accuracy.
    accuracy : dict of str to Curve
        Test accuracy over the number of features, one row for each split; of every method, and
        of features in random order under the name "random choice".
    all_features : tuple of float
        Test accuracy with all features, in each split.
    top : int
        How many of the best features `overlap` and `stability` look at.
    spearman, overlap : tuple of tuples of float
        For each two methods, fitted on all rows: the rank correlation of their rankings, and the
        share of the `top` features that they have in common.
    stability : dict of str to float
        How alike the `top` features of each method were over the splits (Nogueira's index):
        1 for always the same, about 0 for chance. NaN if `top` is all features.
    seconds : dict of str to float
        The time to fit on the training rows of a split, the median over splits.
    rankings : dict of str to tuple of int
        The features, best first, of each method fitted on all rows.
    saw : dict of str to str
        What each method used when fitted on all rows: labels, pairs or neither, and how many.
    differences : tuple of Difference
        Every two methods, and each method and a random choice: largest difference first.
    level : float
        Below which adjusted p-value a difference counts as shown.
    """

    methods: tuple[str, ...]
    n_samples: int
    n_features: int
    n_splits: int
    test_size: float
    classifier: str
    accuracy: Mapping[str, Curve]
    all_features: tuple[float, ...]
    top: int
    spearman: tuple[tuple[float, ...], ...]
    overlap: tuple[tuple[float, ...], ...]
    stability: Mapping[str, float]
    seconds: Mapping[str, float]
    rankings: Mapping[str, tuple[int, ...]]
    saw: Mapping[str, str]
    differences: tuple[Difference, ...]
    level: float = 0.05

    @property
    def mean_accuracy(self) -> dict[str, float]:
        """The mean accuracy of each method over splits and numbers of features, best first."""
        means = {name: float(self.accuracy[name].values.mean()) for name in self.methods}
        return dict(sorted(means.items(), key=lambda item: -item[1]))

    @property
    def leader(self) -> str:
        """The method with the largest mean accuracy, whether or not its lead can be shown."""
        return next(iter(self.mean_accuracy))

    def difference(self, one: str, other: str) -> Difference:
        """Return the difference of two methods."""
        return next(d for d in self.differences if {d.better, d.worse} == {one, other})

    @property
    def summary(self) -> tuple[str, ...]:
        """Plain sentences: who led and by how much, against whom that can be shown."""
        return tuple(sentences.summarize(self))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data that JSON can hold."""
        curves = {
            name: {
                "n_features": curve.n_features.tolist(),
                "mean": curve.mean.tolist(),
                "spread": curve.spread.tolist(),
                "values": curve.values.tolist(),
            }
            for name, curve in self.accuracy.items()
        }
        return {
            "summary": list(self.summary),
            "methods": list(self.methods),
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "n_splits": self.n_splits,
            "test_size": self.test_size,
            "classifier": self.classifier,
            "mean_accuracy": self.mean_accuracy,
            "all_features": float(np.mean(self.all_features)),
            "differences": [vars(difference) for difference in self.differences],
            "accuracy": curves,
            "top": self.top,
            "spearman": [list(row) for row in self.spearman],
            "overlap": [list(row) for row in self.overlap],
            "stability": dict(self.stability),
            "seconds": dict(self.seconds),
            "saw": dict(self.saw),
            "rankings": {name: list(order) for name, order in self.rankings.items()},
        }
