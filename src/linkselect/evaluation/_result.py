"""What a comparison of methods found, as a value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from linkselect.evaluation import _sentences as sentences
from linkselect.evaluation._curves import RANDOM, Curve
from linkselect.evaluation._pair_auc import CHANCE
from linkselect.evaluation._significance import Difference


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


@dataclass(frozen=True)
class HeldOutPairs(Measure):
    """How well distances in the first features of each method tell held-out pairs apart.

    Parameters
    ----------
    name : {"AUC"}
        How often a held-out cannot-link was farther apart than a held-out must-link.
    methods : tuple of str
        The methods that were measured, in the order given: those that saw pairs or nothing.
    curves : dict of str to Curve
        The AUC over the number of features, one row for each fold; of every method, and of features
        in random order under the name "random choice".
    all_features : tuple of float
        The same with all features, in each fold.
    differences : tuple of Difference
        Every two methods, and each method and a random choice: largest difference first.
    n_must, n_cannot : int
        How many pairs there were.
    n_folds, n_repeats : int
        Into how many folds the pairs were dealt out, and how often.
    standard_error : dict of str to float
        Of the mean over folds and numbers of features; the same for every method.
    stability : dict of str to float
        How alike the best features of each method were over the training pairs (Nogueira's index).
    seconds : dict of str to float
        The time to fit on the training pairs, the median over folds.
    """

    n_must: int
    n_cannot: int
    n_folds: int
    n_repeats: int
    standard_error: Mapping[str, float]
    stability: Mapping[str, float]
    seconds: Mapping[str, float]

    @property
    def auc(self) -> Mapping[str, Curve]:
        """The same as `curves`."""
        return self.curves

    @property
    def mean_auc(self) -> dict[str, float]:
        """The mean of each method over folds and numbers of features, best first."""
        return self.means

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data that JSON can hold."""
        plain = super().to_dict()
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


@dataclass(frozen=True)
class Comparison:
    """What was measured of several methods on one data set.

    What labels told is None if there were no labels: `n_splits`, `test_size`, `classifier`,
    `accuracy`, `all_features`, `differences` and `mean_accuracy`. What pairs told is in
    `held_out_pairs`.

    Parameters
    ----------
    methods : tuple of str
        The names, in the order given.
    n_samples, n_features : int
        The size of the data.
    top : int
        How many of the best features `overlap` and `stability` look at.
    spearman, overlap : tuple of tuples of float
        For each two methods, fitted on all rows: the rank correlation of their rankings, and the
        share of the `top` features that they have in common.
    stability : dict of str to float
        How alike the `top` features of each method were over the splits, or without labels over the
        training pairs (Nogueira's index): 1 for always the same, about 0 for chance. NaN if `top`
        is all features.
    seconds : dict of str to float
        The time to fit on the training rows of a split, or without labels on the training pairs;
        the median.
    rankings : dict of str to tuple of int
        The features, best first, of each method fitted on all rows.
    saw : dict of str to str
        What each method used when fitted on all rows: labels, pairs or neither, and how many.
    n_splits : int or None
        How many random splits into training and test rows.
    test_size : float or None
        The share of labelled rows that were test rows.
    classifier : str or None
        What measured accuracy.
    accuracy : dict of str to Curve or None
        Test accuracy over the number of features, one row for each split; of every method, and
        of features in random order under the name "random choice".
    all_features : tuple of float or None
        Test accuracy with all features, in each split.
    differences : tuple of Difference or None
        In accuracy, of every two methods, and of each method and a random choice: largest
        difference first.
    level : float
        Below which adjusted p-value a difference counts as shown.
    held_out_pairs : HeldOutPairs or None
        What pairs told that were held out; None if there were no pairs, or too few.
    """

    methods: tuple[str, ...]
    n_samples: int
    n_features: int
    top: int
    spearman: tuple[tuple[float, ...], ...]
    overlap: tuple[tuple[float, ...], ...]
    stability: Mapping[str, float]
    seconds: Mapping[str, float]
    rankings: Mapping[str, tuple[int, ...]]
    saw: Mapping[str, str]
    n_splits: int | None = None
    test_size: float | None = None
    classifier: str | None = None
    accuracy: Mapping[str, Curve] | None = None
    all_features: tuple[float, ...] | None = None
    differences: tuple[Difference, ...] | None = None
    level: float = 0.05
    held_out_pairs: HeldOutPairs | None = None

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What was measured: accuracy if there were labels, then the AUC of held-out pairs."""
        found: list[Measure] = []
        if self.accuracy is not None:
            all_features, differences = self.all_features or (), self.differences or ()
            found.append(
                Measure("accuracy", self.methods, self.accuracy, all_features, differences)
            )
        if self.held_out_pairs is not None:
            found.append(self.held_out_pairs)
        return tuple(found)

    @property
    def mean_accuracy(self) -> dict[str, float] | None:
        """The mean accuracy of each method over splits and numbers of features, best first."""
        return None if self.accuracy is None else self.measures[0].means

    @property
    def ranked(self) -> tuple[str, ...]:
        """The methods, best first: by accuracy, or without labels by held-out pairs."""
        return tuple(self.measures[0].means)

    @property
    def leader(self) -> str:
        """The first of `ranked`, whether or not its lead can be shown."""
        return self.ranked[0]

    def difference(self, one: str, other: str) -> Difference:
        """Return the difference of two methods in the first of `measures`."""
        return self.measures[0].difference(one, other)

    @property
    def summary(self) -> tuple[str, ...]:
        """Plain sentences: who led and by how much, against whom that can be shown."""
        return tuple(sentences.summarize(self))

    def __repr__(self) -> str:
        # All numbers would fill pages; `summary` says what they mean.
        return (
            f"Comparison(methods={list(self.methods)}, n_samples={self.n_samples}, "
            f"n_features={self.n_features}, leader={self.leader!r})"
        )

    def _repr_html_(self) -> str:
        return sentences.comparison_view(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data that JSON can hold."""
        by_labels = {} if self.accuracy is None else self.measures[0].to_dict()
        held_out = self.held_out_pairs
        return {
            "summary": list(self.summary),
            "methods": list(self.methods),
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "n_splits": self.n_splits,
            "test_size": self.test_size,
            "classifier": self.classifier,
            "mean_accuracy": self.mean_accuracy,
            "all_features": by_labels.get("all_features"),
            "differences": by_labels.get("differences"),
            "accuracy": by_labels.get("curves"),
            "held_out_pairs": None if held_out is None else held_out.to_dict(),
            "top": self.top,
            "spearman": [list(row) for row in self.spearman],
            "overlap": [list(row) for row in self.overlap],
            "stability": dict(self.stability),
            "seconds": dict(self.seconds),
            "saw": dict(self.saw),
            "rankings": {name: list(order) for name, order in self.rankings.items()},
        }
