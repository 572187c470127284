"""Rank on training pairs, and measure what the best features tell about held-out pairs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkselect._arrays import FloatArray, IntArray
from linkselect.evaluation._curves import RANDOM, Curve
from linkselect.evaluation._measuring import RANDOM_ORDERS, Track
from linkselect.evaluation._pair_auc import (
    auc_of_distances,
    auc_over_counts,
    count_independent,
    held_out_error,
    total_distances,
)
from linkselect.evaluation._pair_folds import PairKFold, check_enough, read_units
from linkselect.evaluation._pair_result import HeldOutPairs
from linkselect.evaluation._statistics import paired_differences, stability_of_best
from linkselect.pairs import Pairs
from linkselect.selectors._method import describe

# As many fits as there are splits by default.
FOLDS, REPEATS = 5, 4


@dataclass(frozen=True)
class PairTask:
    """The prepared samples, the folds of the pairs, and how a ranking is measured on them.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The samples.
    pairs : Pairs
        By row number.
    folds : sequence of (Pairs, Pairs)
        Training pairs and held-out pairs.
    n_repeats : int
        How often all pairs were dealt out.
    counts : array of int
        The numbers of features.
    standard_error : float
        Of the mean AUC over folds.
    """

    X: Any
    pairs: Pairs
    folds: Sequence[tuple[Pairs, Pairs]]
    n_repeats: int
    counts: IntArray
    standard_error: float

    @classmethod
    def deal(
        cls, X: Any, pairs: Pairs, counts: IntArray, cv: PairKFold | None, random_state: int
    ) -> PairTask:
        """Deal pairs by row number out into folds."""
        check_enough(*read_units(pairs).independent, must_only=False)
        with warnings.catch_warnings():
            if cv is None:  # the result says how many folds there were
                warnings.simplefilter("ignore")
                cv = PairKFold(FOLDS, n_repeats=REPEATS, random_state=random_state)
            folds = list(cv.split(pairs))
        error = held_out_error(*count_independent([test for _, test in folds], cv.n_repeats))
        return cls(X, pairs, folds, cv.n_repeats, counts, error)

    def rank(self, selector: Any, pairs: Pairs) -> tuple[IntArray, float]:
        """Fit a selector on all samples and some pairs; return the order and the time."""
        given = {"pairs": pairs} if _sees_pairs(selector) else {}
        start = time.perf_counter()
        selector.fit(self.X, **given)
        return selector.order_, time.perf_counter() - start

    def curve(self, fold: int, order: IntArray) -> FloatArray:
        """Measure the AUC for each number of features of an order."""
        found = auc_over_counts(self.X, self._held_out(fold), np.asarray(order), self.counts)
        return np.array(found)

    def curve_by_chance(self, fold: int, random: np.random.Generator) -> FloatArray:
        """Measure features in random order, the mean of several orders."""
        orders = [random.permutation(self.X.shape[1]) for _ in range(RANDOM_ORDERS)]
        return np.mean([self.curve(fold, order) for order in orders], axis=0)

    def auc_with_all_features(self, fold: int) -> float:
        """Measure the AUC in all features."""
        together, apart = (total_distances(self.X, links) for links in self._held_out(fold))
        return auc_of_distances(together, apart).auc

    def _held_out(self, fold: int) -> tuple[IntArray, IntArray]:
        return self.folds[fold][1].rows({row: row for row in range(self.X.shape[0])})


@dataclass(frozen=True)
class PairMeasurements:
    """The rankings on all pairs, and what held-out pairs told."""

    orders: dict[str, IntArray]
    held_out: HeldOutPairs


def measure_pairs(
    task: PairTask,
    selectors: Mapping[str, Any],
    top: int,
    random: np.random.Generator,
    track: Track,
    orders: Mapping[str, IntArray] | None = None,
) -> PairMeasurements:
    """Rank with every selector on all pairs and on those of every fold, and measure the rest.

    A method that looks at nothing is fitted once. `orders` are rankings on all pairs that are known
    already.
    """
    every, by_fold, seconds = _ranked(task, selectors, track, orders or {})
    folds = range(len(task.folds))
    found = {
        name: np.array([task.curve(fold, order) for fold, order in enumerate(ordered)])
        for name, ordered in by_fold.items()
    }
    found[RANDOM] = np.array([task.curve_by_chance(fold, random) for fold in folds])
    curves = {name: Curve(task.counts, values) for name, values in found.items()}
    n_folds = len(task.folds) // task.n_repeats
    held_out = HeldOutPairs(
        methods=tuple(selectors),
        n_must=task.pairs.n_must,
        n_cannot=task.pairs.n_cannot,
        n_folds=n_folds,
        n_repeats=task.n_repeats,
        auc=curves,
        standard_error=dict.fromkeys(found, task.standard_error),
        all_features=tuple(map(task.auc_with_all_features, folds)),
        differences=paired_differences(curves, *_sizes(task), n_folds),
        stability={name: stability_of_best(ordered, top) for name, ordered in by_fold.items()},
        seconds=seconds,
    )
    return PairMeasurements(every, held_out)


def _ranked(
    task: PairTask, selectors: Mapping[str, Any], track: Track, known: Mapping[str, IntArray]
) -> tuple[dict[str, IntArray], dict[str, list[IntArray]], dict[str, float]]:
    """Return the orders on all pairs, those of every fold, and the median time of a fit."""
    every = {name: known[name] for name in selectors if name in known}
    fits: dict[str, list[tuple[IntArray, float]]] = {name: [] for name in selectors}
    folds = range(len(task.folds))
    refitted = [name for name, selector in selectors.items() if _sees_pairs(selector)]
    steps = [(name, -1) for name in selectors if name not in every or name not in refitted]
    steps += [(name, fold) for fold in folds for name in refitted]
    for name, fold in track(steps):
        if fold < 0:
            every[name], seconds = task.rank(selectors[name], task.pairs)
            if name not in refitted:
                fits[name] = [(every[name], seconds)] * len(folds)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all pairs has warned already
            fits[name].append(task.rank(selectors[name], task.folds[fold][0]))
    by_fold = {name: [order for order, _ in done] for name, done in fits.items()}
    times = {name: float(np.median([spent for _, spent in done])) for name, done in fits.items()}
    return every, by_fold, times


def _sees_pairs(selector: Any) -> bool:
    return describe(selector).sees == "pairs"


def _sizes(task: PairTask) -> tuple[int, int]:
    """Return how many pairs train and how many are held out, on average over folds."""
    counts = [[side.n_must + side.n_cannot for side in sides] for sides in task.folds]
    n_train, n_test = np.mean(counts, axis=0).tolist()
    return max(1, round(n_train)), max(1, round(n_test))
