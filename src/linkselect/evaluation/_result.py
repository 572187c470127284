"""The result of a comparison of methods."""

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
    """A performance measure of several methods, with tests of their differences.

    Parameters
    ----------
    name : {"accuracy", "AUC"}
        Accuracy on test samples, or AUC of held-out pairs.
    methods : tuple of str
        The methods that were evaluated.
    curves : dict of str to Curve
        The measure of each method and of features in random order.
    all_features : tuple of float
        The value of the measure with all features, for each split or fold.
    differences : tuple of Difference
        The tests between every two methods, and between each method and features in random order.
    """

    name: Literal["accuracy", "AUC"]
    methods: tuple[str, ...]
    curves: Mapping[str, Curve]
    all_features: tuple[float, ...]
    differences: tuple[Difference, ...]

    @property
    def means(self) -> dict[str, float]:
        """The mean of each method over splits or folds and numbers of features, best first."""
        means = {name: float(self.curves[name].values.mean()) for name in self.methods}
        return dict(sorted(means.items(), key=lambda item: -item[1]))

    @property
    def leader(self) -> str:
        """The method with the largest mean, whether or not its lead is significant."""
        return next(iter(self.means))

    @property
    def by_chance(self) -> float:
        """The mean value of features in random order."""
        return float(self.curves[RANDOM].values.mean())

    @property
    def with_all(self) -> float:
        """The mean value with all features."""
        return float(np.mean(self.all_features))

    def difference(self, one: str, other: str) -> Difference:
        """Return the tested difference between two methods."""
        return next(d for d in self.differences if {d.better, d.worse} == {one, other})

    def mean_text(self, method: str) -> str:
        """Return the mean of a method as text, or a dash if the method was not evaluated."""
        return self.value_text(self.means[method]) if method in self.means else "-"

    def value_text(self, value: float) -> str:
        """Return a value as text: accuracy in percent, AUC as a decimal number."""
        return f"{100 * value:.1f} %" if self.name == "accuracy" else f"{value:.2f}"

    def gap_text(self, gap: float) -> str:
        """Return a difference as text: accuracy in percentage points, AUC as a decimal number."""
        return f"{100 * gap:.1f} points" if self.name == "accuracy" else f"{gap:.3f}"

    def to_dict(self) -> dict[str, Any]:
        """Return the measure as a dict that can be written as JSON."""
        return {
            "mean": self.means,
            "all_features": self.with_all,
            "differences": [vars(difference) for difference in self.differences],
            "curves": {name: curve.to_dict() for name, curve in self.curves.items()},
        }


@dataclass(frozen=True)
class HeldOutPairs(Measure):
    """Evaluation of how well features separate held-out must-links from cannot-links.

    Parameters
    ----------
    name : {"AUC"}
        The measure: the probability that two cannot-linked samples are farther apart than two
        must-linked samples.
    methods : tuple of str
        The methods that were evaluated, in the order given. They use pairs or no supervision.
    curves : dict of str to Curve
        The AUC of each method for several numbers of features, with one row for each fold. The
        curve named "random choice" is that of features in random order.
    all_features : tuple of float
        The AUC with all features in each fold.
    differences : tuple of Difference
        The tests between every two methods, and between each method and features in random order,
        sorted by decreasing difference.
    n_must, n_cannot : int
        The numbers of must-links and cannot-links.
    n_folds, n_repeats : int
        The number of folds and the number of their repeats, each with a different random split.
    standard_error : dict of str to float
        The standard error of the mean over folds and numbers of features. It is the same for every
        method.
    stability : dict of str to float
        The similarity of the best features of each method between folds (Nogueira's index).
    seconds : dict of str to float
        The median time to fit each method in a fold.
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
        """Another name for `curves`."""
        return self.curves

    @property
    def mean_auc(self) -> dict[str, float]:
        """The mean of each method over folds and numbers of features, best first."""
        return self.means

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dict that can be written as JSON."""
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
    """The result of a comparison of several methods on one data set.

    `n_splits`, `test_size`, `classifier`, `accuracy`, `all_features`, `differences` and
    `mean_accuracy` describe the evaluation with labels, and are None without labels. The evaluation
    with pairs is stored in `held_out_pairs`.

    Parameters
    ----------
    methods : tuple of str
        The names of the methods, in the order given.
    n_samples, n_features : int
        The numbers of samples and features.
    top : int
        The number of best features for which `overlap` and `stability` are computed.
    spearman, overlap : tuple of tuples of float
        The agreement between every two methods fitted to all samples: Spearman's correlation of the
        rankings, and the proportion of the `top` features that they share.
    stability : dict of str to float
        The similarity of the `top` features of each method between splits or, without labels,
        between folds (Nogueira's index). It is 1 if the features are always the same, about 0 for
        random features, and NaN if `top` is the number of all features.
    seconds : dict of str to float
        The median time to fit each method in a split or, without labels, in a fold.
    rankings : dict of str to tuple of int
        The features ranked by each method fitted to all samples, best first.
    saw : dict of str to str
        The supervision of each method fitted to all samples: the numbers of labels or pairs.
    n_splits : int or None
        The number of random splits into training and test samples.
    test_size : float or None
        The proportion of labelled samples used as test samples.
    classifier : str or None
        The classifier whose accuracy was measured.
    accuracy : dict of str to Curve or None
        The test accuracy of each method for several numbers of features, with one row for each
        split. The curve named "random choice" is that of features in random order.
    all_features : tuple of float or None
        The test accuracy with all features, for each split.
    differences : tuple of Difference or None
        Tests of the differences in accuracy between every two methods, and between each method and
        features in random order, sorted by decreasing difference.
    level : float
        The significance level for adjusted p-values.
    held_out_pairs : HeldOutPairs or None
        The evaluation on held-out pairs; None without pairs or with too few pairs.
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
        """The available evaluations: first on labelled samples, then on held-out pairs."""
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
        """The methods, best first: by accuracy or, without labels, by AUC of held-out pairs."""
        return tuple(self.measures[0].means)

    @property
    def leader(self) -> str:
        """The first method of `ranked`, whether or not its lead is significant."""
        return self.ranked[0]

    def difference(self, one: str, other: str) -> Difference:
        """Return the tested difference between two methods in the first of `measures`."""
        return self.measures[0].difference(one, other)

    @property
    def summary(self) -> tuple[str, ...]:
        """The main results in sentences, such as the best method and significant differences."""
        return tuple(sentences.summarize(self))

    def __repr__(self) -> str:
        # Printing all numbers would fill pages; `summary` explains them.
        return (
            f"Comparison(methods={list(self.methods)}, n_samples={self.n_samples}, "
            f"n_features={self.n_features}, leader={self.leader!r})"
        )

    def _repr_html_(self) -> str:
        return sentences.comparison_view(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dict that can be written as JSON."""
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
