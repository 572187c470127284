"""How well a ranking does on supervision that it has not seen."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.stats import t
from sklearn.base import clone

from linkselect._arrays import FloatArray, IntArray
from linkselect._blocks import map_threads, slices
from linkselect.evaluation._curves import Curve
from linkselect.evaluation._inputs import order_of
from linkselect.evaluation._pair_auc import REFITTING
from linkselect.evaluation._permutation import Arrangements, p_value

# Progress is reported after this many folds; the number must not depend on the threads.
FOLDS_PER_STEP = 2
# The fewest random choices with which the p-value can reach the level, 1 / 40.
RANDOM_CHOICES = 39

Track = Callable[[Iterable[Any]], Iterable[Any]]


class Fold(NamedTuple):
    """What trains and what is held out: links, or rows.

    `independent` counts what is held out and shares no sample: rows, or links of each kind.
    """

    train: Any
    test: Any
    independent: tuple[int, ...]


@dataclass(frozen=True)
class Estimate:
    """How well the selected features do on held-out supervision.

    It estimates the measure of the selected features on new samples, which no pair or label names.
    The features measured here were selected from fewer pairs or labels, so it tends to be low.

    Attributes
    ----------
    measure : {"pair AUC", "1-NN accuracy"}
        How often a held-out cannot-link is farther apart than a held-out must-link, or how often
        the nearest labelled row has the class of a held-out row.
    value, standard_error : float
        The estimate; give or take two standard errors is the interval. It allows for pairs that
        share samples, and for features that change with the pairs they are selected from.
    chance : float
        The mean over permutations of the samples; without these, 0.5 for the AUC and the share of
        the largest class for the accuracy.
    all_features, random_features : float
        The same measure in all features, and in as many features chosen at random.
    n_folds, n_repeats, n_held_out : int
        How many folds, how often they were dealt, and how many pairs or rows were held out in all.
    contrast : {"cannot-links", "random pairs"} or None
        What must-links are compared with: random pairs of held-out samples if there are no
        cannot-links. None with labels.
    """

    measure: Literal["pair AUC", "1-NN accuracy"]
    value: float
    standard_error: float
    chance: float
    all_features: float
    random_features: float
    n_folds: int
    n_repeats: int
    n_held_out: int
    contrast: Literal["cannot-links", "random pairs"] | None = None


class HeldOut:
    """Folds of some supervision: what to fit on, and how good a choice of features is."""

    measure: ClassVar[Literal["pair AUC", "1-NN accuracy"]]
    folds: list[Fold]
    n_folds: int
    """How many folds hold out everything once; further ones repeat that."""
    groups: IntArray | None = None
    """The group of each row, if a group is held out as a whole."""
    is_adaptive: bool = False
    """Whether what trains was chosen by looking at the samples."""
    too_few: str
    """Why held-out samples cannot be tested without ranking again, if they are too few."""

    def fit(self, selector: Any, fold: Fold) -> Any:
        """Fit a selector to what a fold leaves."""
        raise NotImplementedError

    def value(self, features: IntArray, fold: Fold) -> float:
        """Measure a choice of features on what a fold holds out."""
        raise NotImplementedError

    def parts(self, features: IntArray, fold: Fold) -> tuple[FloatArray, ...]:
        """Measure each held-out row or link; the mean over each kind of them is `value`."""
        raise NotImplementedError

    def curve(self, order: IntArray, fold: Fold, counts: IntArray) -> FloatArray:
        """Measure the first features of an order on what a fold holds out, for each count."""
        raise NotImplementedError

    def moved(self, to: IntArray) -> Self:
        """Return the same folds with another row in the place of each row."""
        raise NotImplementedError

    def named(self, fold: Fold | None = None) -> IntArray:
        """Return the rows that a fold holds out, or all rows that something is known about."""
        raise NotImplementedError

    def shuffled(
        self, features: IntArray, fold: Fold, ways: Arrangements, n: int, seed: int
    ) -> tuple[float, FloatArray]:
        """Measure a choice of features on a fold as it is, and with its rows rearranged."""
        raise NotImplementedError

    def count_ways(self, ways: Arrangements) -> float:
        """Return how many different ways there are to place what is known."""
        return ways.count(self.named())

    def is_inside(self, ways: Arrangements) -> bool:
        """Tell whether everything held out lies inside groups that move as a whole."""
        return False

    def first(self, n_repeats: int) -> Self:
        """Keep the first repeats of the folds."""
        other = copy.copy(self)
        other.folds = self.folds[: n_repeats * self.n_folds]
        return other

    def log_outcomes(self, fold: Fold) -> float:
        """Return the logarithm of the number of ways in which a fold could have come out."""
        raise NotImplementedError

    def orders(
        self, selector: Any, track: Track, read: Callable[[Any], IntArray] = order_of
    ) -> list[IntArray]:
        """Rank the features by what each fold leaves."""

        def work(fold: Fold) -> IntArray:
            return read(self.fit(clone(selector), fold))

        found: list[IntArray] = []
        for part in track(slices(len(self.folds), FOLDS_PER_STEP)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit on everything has warned already
                found += map_threads(work, self.folds[part])
        return found

    def curves(self, orders: Sequence[IntArray], counts: IntArray) -> Curve:
        """Measure every fold at several numbers of features; `orders` has one for each fold.

        If an order has fewer features than a number, all of them are measured.
        """

        def work(fold: int) -> FloatArray:
            some, places = np.unique(np.minimum(counts, len(orders[fold])), return_inverse=True)
            return self.curve(orders[fold], self.folds[fold], some)[places]

        return Curve(counts, np.array(map_threads(work, range(len(orders)))))

    def mean(self, orders: Sequence[IntArray], numbers: Sequence[int]) -> float:
        """Return the mean over folds of the first features of each order."""
        values = [
            self.value(order[:number], fold)
            for order, number, fold in zip(orders, numbers, self.folds, strict=True)
        ]
        return float(np.mean(values))

    def beside_random(
        self,
        orders: Sequence[IntArray],
        numbers: Sequence[int],
        n_features: int,
        rng: np.random.RandomState,
    ) -> tuple[float, float]:
        """Measure as many random features; return their mean, and a p-value of being better.

        The larger of two p-values: of a one-sided t-test of the difference, over held-out rows or
        links that share no sample; and of being the best of random choices, which differ from each
        other where features do.
        """
        shuffles = [rng.permutation(n_features) for _ in range(RANDOM_CHOICES)]

        def work(place: int) -> tuple[float, ...]:
            fold, number = self.folds[place], numbers[place]
            ours = self.parts(orders[place][:number], fold)
            some = [self.parts(features[:number], fold) for features in shuffles]
            others = [np.mean(kind, axis=0) for kind in zip(*some, strict=True)]
            apart = [one - other for one, other in zip(ours, others, strict=True)]
            variance = sum(
                _variance(one) / count for one, count in zip(apart, fold.independent, strict=True)
            )
            values = [float(one[0].mean()) for one in (ours, *some)]
            return float(variance), *values

        found = np.mean(map_threads(work, range(len(orders))), axis=0)
        variance, value, random = found[0], found[1], found[2:]
        gap = value - random.mean()
        least = min(min(fold.independent) for fold in self.folds)
        error = np.sqrt(REFITTING * variance / self.n_folds)
        freedom = max(1, self.n_folds * (least - 1))
        p = float(t.sf(gap / error, freedom)) if error > 0 else 1.0
        return float(random.mean()), max(p, p_value(value, random))


def _variance(values: FloatArray) -> float:
    return float(values.var(ddof=1)) if len(values) > 1 else 0.25
