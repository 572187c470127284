"""One measure of several methods: its curves, and which differences can be shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from linkselect.evaluation._curves import RANDOM, Curve


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


@dataclass(frozen=True)
class Measure:
    """What one measure says of several methods, and how its numbers are written.

    Parameters
    ----------
    name : {"accuracy", "AUC"}
        Accuracy on test rows, or the AUC of held-out pairs.
    methods : tuple of str
        The methods that were measured.
    curves : dict of str to Curve
        Of every method, and of features in random order.
    all_features : tuple of float
        The same with all features, in each split or fold.
    differences : tuple of Difference
        Of every two methods, and of each method and a random choice.
    """

    name: Literal["accuracy", "AUC"]
    methods: tuple[str, ...]
    curves: Mapping[str, Curve]
    all_features: tuple[float, ...]
    differences: tuple[Difference, ...]

    @property
    def means(self) -> dict[str, float]:
        """The mean of each method over runs and numbers of features, best first."""
        means = {name: float(self.curves[name].values.mean()) for name in self.methods}
        return dict(sorted(means.items(), key=lambda item: -item[1]))

    @property
    def leader(self) -> str:
        """The method with the largest mean, whether or not its lead can be shown."""
        return next(iter(self.means))

    @property
    def by_chance(self) -> float:
        """The mean of features in random order."""
        return float(self.curves[RANDOM].values.mean())

    @property
    def with_all(self) -> float:
        """The mean with all features."""
        return float(np.mean(self.all_features))

    def difference(self, one: str, other: str) -> Difference:
        """Return the difference of two methods."""
        return next(d for d in self.differences if {d.better, d.worse} == {one, other})

    def mean_text(self, method: str) -> str:
        """Write the mean of a method; a dash if it was not measured."""
        return self.value_text(self.means[method]) if method in self.means else "-"

    def value_text(self, value: float) -> str:
        """Write a value: a share in percent, an AUC as it is."""
        return f"{100 * value:.1f} %" if self.name == "accuracy" else f"{value:.2f}"

    def gap_text(self, gap: float) -> str:
        """Write a difference: of shares in points, of AUCs as it is."""
        return f"{100 * gap:.1f} points" if self.name == "accuracy" else f"{gap:.3f}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data that JSON can hold."""
        return {
            "mean": self.means,
            "all_features": self.with_all,
            "differences": [vars(difference) for difference in self.differences],
            "curves": {name: curve.to_dict() for name, curve in self.curves.items()},
        }
