"""What held-out pairs told about several methods, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from linkselect.evaluation._curves import Curve
from linkselect.evaluation._measure import Difference, Measure
from linkselect.evaluation._pair_auc import CHANCE


@dataclass(frozen=True)
class HeldOutPairs:
    """How well distances in the first features of each method tell held-out pairs apart.

    Parameters
    ----------
    methods : tuple of str
        The methods that were measured, in the order given: those that saw pairs or nothing.
    n_must, n_cannot : int
        How many pairs there were.
    n_folds, n_repeats : int
        Into how many folds the pairs were dealt out, and how often.
    auc : dict of str to Curve
        How often a held-out cannot-link was farther apart than a held-out must-link, over the
        number of features, one row for each fold; of every method, and of features in random order
        under the name "random choice".
    standard_error : dict of str to float
        Of the mean over folds and numbers of features; the same for every method.
    all_features : tuple of float
        The same with all features, in each fold.
    differences : tuple of Difference
        Every two methods, and each method and a random choice: largest difference first.
    stability : dict of str to float
        How alike the best features of each method were over the training pairs (Nogueira's index).
    seconds : dict of str to float
        The time to fit on the training pairs, the median over folds.
    """

    methods: tuple[str, ...]
    n_must: int
    n_cannot: int
    n_folds: int
    n_repeats: int
    auc: Mapping[str, Curve]
    standard_error: Mapping[str, float]
    all_features: tuple[float, ...]
    differences: tuple[Difference, ...]
    stability: Mapping[str, float]
    seconds: Mapping[str, float]

    @property
    def measure(self) -> Measure:
        """The AUC of every method, with what follows from it."""
        return Measure("AUC", self.methods, self.auc, self.all_features, self.differences)

    @property
    def mean_auc(self) -> dict[str, float]:
        """The mean of each method over folds and numbers of features, best first."""
        return self.measure.means

    @property
    def leader(self) -> str:
        """The method with the largest mean, whether or not its lead can be shown."""
        return self.measure.leader

    def difference(self, one: str, other: str) -> Difference:
        """Return the difference of two methods."""
        return self.measure.difference(one, other)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data that JSON can hold."""
        plain = self.measure.to_dict()
        return {
            "n_must": self.n_must,
            "n_cannot": self.n_cannot,
            "n_folds": self.n_folds,
            "n_repeats": self.n_repeats,
            "chance": CHANCE,
            "mean_auc": plain["mean"],
            "standard_error": dict(self.standard_error),
            "all_features": plain["all_features"],
            "differences": plain["differences"],
            "auc": plain["curves"],
            "stability": dict(self.stability),
            "seconds": dict(self.seconds),
        }
