"""Labelled rows held out, and how many of them their nearest labelled row classifies."""

from __future__ import annotations

import copy
import warnings
from typing import Any, Self

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from linkselect._arrays import FloatArray, IntArray
from linkselect._messages import GuidedValueError, many
from linkselect._samples import as_samples
from linkselect.evaluation._accuracy import nearest_classes, nearest_neighbor_curve
from linkselect.evaluation._held_out import Estimate, Fold, HeldOut
from linkselect.evaluation._permutation import Arrangements, log_ways
from linkselect.selectors._method import describe

# Other rows would be labelled, other features selected, and other neighbours found. On real data
# that doubles the variance of the held-out rows; docs/calibration.md has the coverage.
REFITTING = 2.0
# Nearest neighbours of more rows cost more than they tell.
MOST_ROWS = 2000


class LabelFolds(HeldOut):
    """Labelled rows held out, each once; all other rows stay for the fit."""

    measure = "1-NN accuracy"
    too_few = "Cannot test against chance: too few labelled rows are held out in each fold."

    def __init__(
        self,
        X: Any,
        codes: IntArray,
        n_folds: int,
        seed: int,
        n_repeats: int = 1,
        groups: IntArray | None = None,
    ) -> None:
        self._X, self._codes = as_samples(X).rows_first, codes
        self.groups, self._seed = groups, seed
        labelled = np.flatnonzero(codes >= 0)
        sizes = np.bincount(codes[labelled]) if len(labelled) else np.zeros(1, dtype=np.intp)
        if np.count_nonzero(sizes) < 2 or sizes.max() < 2 or len(sizes) > len(labelled) / 2:
            classes = many(int(np.count_nonzero(sizes)), "class")
            raise GuidedValueError(
                f"y has {many(len(labelled), 'label')} of {classes}, but holding some out needs "
                "two classes, with two rows each on average."
            )
        rng = np.random.RandomState(seed)
        if len(labelled) > MOST_ROWS:
            labelled = np.sort(rng.choice(labelled, MOST_ROWS, replace=False))
        self._labelled = labelled
        known = codes[labelled]
        self.chance = float(np.bincount(known).max() / len(known))
        self.n_folds = min(n_folds, int(np.bincount(known).max()))
        kept = None if groups is None else groups[labelled]
        if kept is not None:
            self.n_folds = min(self.n_folds, len(np.unique(kept)))
        if self.n_folds < 2:
            raise GuidedValueError("All labelled rows are in one group, so none can be held out.")
        self.n_repeats = n_repeats
        self.folds = []
        for repeat in range(n_repeats):
            kind = StratifiedKFold if kept is None else StratifiedGroupKFold
            splitter = kind(self.n_folds, shuffle=True, random_state=seed + repeat)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # small classes are not in every fold
                places = list(splitter.split(known, known, kept))
            self.folds += [
                Fold(
                    labelled[train],
                    labelled[test],
                    (len(test) if kept is None else len(np.unique(kept[test])),),
                )
                for train, test in places
                if len(test)
            ]

    def fit(self, selector: Any, fold: Fold) -> Any:
        """Fit to all rows but those held out."""
        rows = self._left(fold)
        if describe(selector).sees == "labels":
            rows = rows[self._codes[rows] >= 0]
        return selector.fit(self._X[rows], self._codes[rows])

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return int(self._X.shape[1])

    def _left(self, fold: Fold) -> IntArray:
        return np.setdiff1d(np.arange(len(self._codes)), fold.test)

    def inside(self, fold: Fold, n_folds: int) -> LabelFolds:
        """Deal out what a fold leaves."""
        rows = self._left(fold)
        groups = None if self.groups is None else self.groups[rows]
        return LabelFolds(self._X[rows], self._codes[rows], n_folds, self._seed, groups=groups)

    def value(self, features: IntArray, fold: Fold) -> float:
        """Classify the held-out rows by their nearest labelled row."""
        return float(self.parts(features, fold)[0].mean())

    def parts(self, features: IntArray, fold: Fold) -> tuple[FloatArray, ...]:
        """Return 1 for every held-out row whose nearest labelled row has its class, else 0."""
        hits = self._predicted(features, fold) == self._codes[fold.test]
        return (hits.astype(np.float64),)

    def _predicted(self, features: IntArray, fold: Fold) -> IntArray:
        train, test = (self._X[rows][:, features] for rows in (fold.train, fold.test))
        return nearest_classes(train, self._codes[fold.train], test)

    def curve(self, order: IntArray, fold: Fold, counts: IntArray) -> FloatArray:
        """Classify the held-out rows by their nearest labelled row, for each count."""
        kept = order[: counts[-1]]
        both = (self._X[rows][:, kept] for rows in (fold.train, fold.test))
        train, test = (as_samples(some).dense() for some in both)
        y_train, y_test = (self._codes[rows] for rows in (fold.train, fold.test))
        first = np.arange(len(kept))
        return nearest_neighbor_curve(train, y_train, test, y_test, first, counts)

    def moved(self, to: IntArray) -> Self:
        """Give every label, with its place in the folds, to another row."""
        other = copy.copy(self)
        other._codes = np.empty_like(self._codes)
        other._codes[to] = self._codes
        other.folds = [
            fold._replace(train=to[fold.train], test=to[fold.test]) for fold in self.folds
        ]
        return other

    def named(self, fold: Fold | None = None) -> IntArray:
        """Return the rows that a fold holds out, or all labelled rows."""
        return self._labelled if fold is None else np.sort(fold.test)

    def count_ways(self, ways: Arrangements) -> float:
        """Return how many different labellings there are: rows of one class are exchangeable."""
        found = 0.0
        for block in ways.blocks:
            kinds = np.unique(self._codes[block], axis=0, return_counts=True)[1]
            found += log_ways(kinds)
        return float(np.exp(min(found, 700.0)))

    def shuffled(
        self, features: IntArray, fold: Fold, ways: Arrangements, n: int, seed: int
    ) -> tuple[float, FloatArray]:
        """Give the labels of held-out rows to each other's rows."""
        predicted = np.full(ways.n_samples, -1, dtype=np.intp)
        predicted[fold.test] = self._predicted(features, fold)
        known, rng = self._codes[fold.test], np.random.RandomState(seed)
        null = [np.mean(predicted[ways.draw(rng)[fold.test]] == known) for _ in range(n)]
        return float(np.mean(predicted[fold.test] == known)), np.array(null)

    def log_outcomes(self, fold: Fold) -> float:
        """Count the ways to give the held-out rows their labels."""
        return log_ways(np.bincount(self._codes[fold.test]))

    def summary(self, chance: float | None, value: float, **measured: Any) -> Estimate:
        """Name what was measured."""
        n_independent = sum(fold.independent[0] for fold in self.folds) / self.n_repeats
        # One more hit and one more miss: no finite number of rows is certain.
        shrunk = (value * n_independent + 1) / (n_independent + 2)
        return Estimate(
            self.measure,
            value=value,
            standard_error=float(np.sqrt(REFITTING * shrunk * (1 - shrunk) / n_independent)),
            chance=self.chance if chance is None else chance,
            n_folds=self.n_folds,
            n_repeats=self.n_repeats,
            n_held_out=len(self._labelled),
            **measured,
        )
