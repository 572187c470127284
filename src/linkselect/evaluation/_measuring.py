"""Rank on training rows, and measure on test rows what a classifier makes of the best features."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from linkselect._arrays import FloatArray, IntArray, Matrix
from linkselect._messages import many
from linkselect._samples import as_samples
from linkselect.evaluation._accuracy import count_hits, nearest_neighbor_curve
from linkselect.evaluation._curves import RANDOM, Curve
from linkselect.pairs import Pairs
from linkselect.selectors._method import describe

# How many random orders of the features are averaged in each split.
RANDOM_ORDERS = 5

Split = tuple[IntArray, IntArray]
Step = tuple[str, int]
Track = Callable[[Iterable[Step]], Iterable[Step]]


@dataclass(frozen=True)
class Measurements:
    """What was measured of every method.

    Parameters
    ----------
    orders : dict of str to array of int
        The features, best first, of each method fitted on all rows.
    split_orders : dict of str to list of arrays
        The same for each method fitted on the training rows of each split.
    seconds : dict of str to float
        The median time of a fit in a split.
    accuracy : dict of str to Curve
        Test accuracy of each method, and of features in random order.
    all_features : tuple of float
        Test accuracy with all features, in each split.
    """

    orders: dict[str, IntArray]
    split_orders: dict[str, list[IntArray]]
    seconds: dict[str, float]
    accuracy: dict[str, Curve]
    all_features: tuple[float, ...]


def measure(
    task: Task,
    selectors: Mapping[str, Any],
    splits: Sequence[Split],
    random: np.random.Generator,
    track: Track,
) -> Measurements:
    """Rank with every selector on all rows and in every split, and measure accuracy."""
    all_rows = np.arange(len(task.codes))
    orders: dict[str, IntArray] = {}
    fits: dict[str, list[tuple[IntArray, float]]] = {name: [] for name in selectors}
    for name, split in track([(name, i) for i in range(-1, len(splits)) for name in selectors]):
        if split < 0:
            # Not timed: the very first fit also loads and compiles what all later ones use.
            orders[name] = task.rank(selectors[name], all_rows)[0]
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all rows has warned already
            fits[name].append(task.rank(selectors[name], splits[split][0]))
    split_orders = {name: [order for order, _ in done] for name, done in fits.items()}
    accuracy = {
        name: Curve(task.counts, np.array(list(map(task.curve, splits, ordered))))
        for name, ordered in split_orders.items()
    }
    by_chance = [task.curve_by_chance(split, random) for split in splits]
    return Measurements(
        orders,
        split_orders,
        {name: float(np.median([seconds for _, seconds in done])) for name, done in fits.items()},
        {**accuracy, RANDOM: Curve(task.counts, np.array(by_chance))},
        tuple(map(task.accuracy_with_all_features, splits)),
    )


@dataclass(frozen=True)
class Task:
    """The data, and how a ranking of training rows is measured on test rows."""

    X: Any
    codes: IntArray
    pairs: Pairs | None
    sample_ids: Sequence[Hashable] | None
    counts: IntArray
    prepare: Any
    classifier: Any

    def rank(self, selector: Any, train: IntArray) -> tuple[IntArray, float]:
        """Fit a selector on training rows and unlabelled ones; return the order and the time."""
        rows = np.union1d(train, np.flatnonzero(self.codes < 0))
        # Selectors of other libraries would take -1 for a class, whatever their tags say.
        if get_tags(selector).target_tags.required or describe(selector).sees == "labels":
            rows = rows[self.codes[rows] >= 0]
        values = self.X[rows]
        if self.prepare is not None:
            values = as_matrix(clone(self.prepare).fit_transform(values))
        given: dict[str, Any] = {}
        if self.pairs is not None and describe(selector).sees == "pairs":
            ids = self._ids(rows)
            given = {"pairs": self.pairs.restrict(ids), "sample_ids": ids}
        start = time.perf_counter()
        selector.fit(values, self.codes[rows], **given)
        return selector.order_, time.perf_counter() - start

    def supervision_text(self, selector: Any) -> str:
        """Say how many labels or pairs a selector uses if it is fitted on all rows."""
        sees = describe(selector).sees
        if sees == "nothing":
            return "neither labels nor pairs"
        if sees == "pairs" and self.pairs is not None:
            present = self.pairs.restrict(self._ids(np.arange(len(self.codes))))
            return many(present.n_must + present.n_cannot, "pair")
        n_labelled = int((self.codes >= 0).sum())
        if n_labelled == 0:  # it would have looked at labels
            return "neither labels nor pairs"
        return f"the labels of {many(n_labelled, 'sample')}"

    def _ids(self, rows: IntArray) -> list[Hashable]:
        numbers = rows.tolist()
        return numbers if self.sample_ids is None else [self.sample_ids[row] for row in numbers]

    def curve(self, split: Split, order: IntArray) -> FloatArray:
        """Measure accuracy with the first features of an order, for each number of features."""
        return self._accuracies(split, order[: self.counts[-1]], self.counts)

    def curve_by_chance(self, split: Split, random: np.random.Generator) -> FloatArray:
        """Measure accuracy with features in random order, the mean of several orders."""
        orders = [random.permutation(self.X.shape[1]) for _ in range(RANDOM_ORDERS)]
        return np.mean([self.curve(split, order) for order in orders], axis=0)

    def accuracy_with_all_features(self, split: Split) -> float:
        """Measure accuracy with all features."""
        n_all = self.X.shape[1]
        return float(self._accuracies(split, np.arange(n_all), np.array([n_all]))[0])

    def _accuracies(self, split: Split, features: IntArray, counts: IntArray) -> FloatArray:
        a, b = self._prepared(split, features)
        if self.classifier is None and as_samples(a).kind == "memory":
            train, test = (self.codes[rows] for rows in split)
            return nearest_neighbor_curve(a, train, b, test, np.arange(a.shape[1]), counts)
        return np.array([self._accuracy(a[:, :k], b[:, :k], split) for k in counts])

    def _prepared(self, split: Split, features: IntArray) -> tuple[Any, Any]:
        a, b = (self.X[rows][:, features] for rows in split)
        if self.prepare is None:
            return a, b
        prepare = clone(self.prepare).fit(a)
        return as_matrix(prepare.transform(a)), as_matrix(prepare.transform(b))

    def _accuracy(self, a: Any, b: Any, split: Split) -> float:
        train, test = (self.codes[rows] for rows in split)
        if self.classifier is None:
            return count_hits(a, train, b, test) / len(test)
        return float(clone(self.classifier).fit(a, train).score(b, test))


def as_matrix(prepared: Any) -> Matrix:
    """Return what a transformer made as an array or a sparse matrix, also if it makes frames."""
    return as_samples(prepared).values
