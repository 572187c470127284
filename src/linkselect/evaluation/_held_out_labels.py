"""Folds of labelled samples, and the accuracy of the nearest neighbour on held-out samples."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from linkselect._arrays import FloatArray, IntArray, Matrix
from linkselect._messages import GuidedValueError, many
from linkselect._samples.checks import Given
from linkselect.evaluation._curves import nearest_classes, nearest_neighbor_curve
from linkselect.evaluation._held_out import Fold, HeldOut
from linkselect.evaluation._inputs import values_of
from linkselect.evaluation._permutation import Arrangements, log_ways
from linkselect.pairs import Pairs
from linkselect.selectors._method import describe
from linkselect.selectors._wrapper import arguments_of

# Variance inflation for the training part: with other labelled samples, other features would be
# selected and other neighbours found. On real data that doubles the variance of the held-out
# samples; docs/calibration.md reports the coverage.
REFITTING = 2.0
# Above this number of labelled samples, computing nearest neighbours takes too long.
MOST_ROWS = 2000
# With fewer labelled samples, accuracies differ by chance alone.
FEWEST_LABELLED = 30


class LabelFolds(HeldOut):
    """Cross-validation folds of labelled samples; all other samples are used for training.

    If pairs are also given, those without held-out samples are used for training. Unlabelled
    samples of a held-out group are excluded as well, because pairs with these samples might reveal
    the class of the group.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The samples.
    codes : array of int of shape (n_samples,)
        The class code of each sample; -1 if unlabelled.
    n_folds, seed, n_repeats : int
        The number of folds, their random seed, and the number of repeats.
    groups : array of int or None
        The group of each sample; groups are held out as a whole.
    pairs : Pairs or None
        The complete supervision, including the pairs implied by labels. If given, selectors are
        fitted to these pairs.
    ids : sequence of hashable
        The ID of each sample, as used in `pairs`.
    """

    measure = "1-NN accuracy"
    too_few = "Cannot test against chance: each fold holds out too few labelled samples."

    def __init__(
        self,
        X: Matrix,
        codes: IntArray,
        n_folds: int,
        seed: int,
        n_repeats: int = 1,
        groups: IntArray | None = None,
        pairs: Pairs | None = None,
        ids: Sequence[Hashable] = (),
    ) -> None:
        self._X, self._codes = X, codes
        self._pairs, self._ids = pairs, ids
        self.is_adaptive = pairs is not None and pairs.n_adaptive > 0
        # The original sample of each row, which changes if the samples are permuted.
        self._sample = np.arange(len(codes))
        self.groups, self._seed = groups, seed
        labelled = np.flatnonzero(codes >= 0)
        sizes = np.bincount(codes[labelled]) if len(labelled) else np.zeros(1, dtype=np.intp)
        if np.count_nonzero(sizes) < 2 or sizes.max() < 2 or len(sizes) > len(labelled) / 2:
            classes = many(int(np.count_nonzero(sizes)), "class")
            raise GuidedValueError(
                f"y has {many(len(labelled), 'label')} of {classes}, but cross-validation needs at "
                "least two classes and, on average, two labelled samples per class."
            )
        rng = np.random.RandomState(seed)
        if len(labelled) > MOST_ROWS:
            labelled = np.sort(rng.choice(labelled, MOST_ROWS, replace=False))
        self._labelled, self.n_held_out = labelled, len(labelled)
        known = codes[labelled]
        self.chance = float(np.bincount(known).max() / len(known))
        self.n_folds = min(n_folds, int(np.bincount(known).max()))
        kept = None if groups is None else groups[labelled]
        if kept is not None:
            self.n_folds = min(self.n_folds, len(np.unique(kept)))
        if self.n_folds < 2:
            raise GuidedValueError(
                "All labelled samples are in one group, so no group can be held out."
            )
        self.n_repeats = n_repeats
        self.folds = [
            fold for repeat in range(n_repeats) for fold in self._deal(seed + repeat, kept)
        ]

    def _deal(self, seed: int, groups: IntArray | None) -> list[Fold]:
        """Split the labelled samples into folds once, without splitting groups."""
        known = self._codes[self._labelled]
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        splitter = kind(self.n_folds, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # small classes are missing in some folds
            places = list(splitter.split(known, known, groups))
        return [
            Fold(
                self._labelled[train],
                self._labelled[test],
                (len(test) if groups is None else len(np.unique(groups[test])),),
            )
            for train, test in places
            if len(test)
        ]

    def fit(self, selector: Any, fold: Fold) -> Any:
        """Fit the selector to all samples that are not held out."""
        rows = self._left(fold)
        if describe(selector).sees == "labels":
            rows = rows[self._codes[rows] >= 0]
        given = Given(self._codes[rows])
        if self._pairs is not None:
            ids = self._ids_of(rows)
            given = Given(pairs=self._pairs.restrict(ids), sample_ids=ids)
        if self.groups is not None:
            given = replace(given, groups=self.groups[rows])
        return selector.fit(self._X[rows], **arguments_of(given, selector))

    def _ids_of(self, rows: IntArray) -> list[Hashable]:
        return [self._ids[sample] for sample in self._sample[rows]]

    def _left(self, fold: Fold) -> IntArray:
        unit = np.arange(len(self._codes)) if self.groups is None else self.groups
        return np.flatnonzero(~np.isin(unit, unit[fold.test]))

    def inside(self, fold: Fold, n_folds: int) -> LabelFolds:
        """Split the training part of a fold into folds."""
        rows = self._left(fold)
        groups = None if self.groups is None else self.groups[rows]
        ids = () if self._pairs is None else self._ids_of(rows)
        held = self._X[rows], self._codes[rows]
        return LabelFolds(*held, n_folds, self._seed, groups=groups, pairs=self._pairs, ids=ids)

    def value(self, features: IntArray, fold: Fold) -> float:
        """Return the 1-NN accuracy on the held-out samples of a fold."""
        return float(self.parts(features, fold)[0].mean())

    def parts(self, features: IntArray, fold: Fold) -> tuple[FloatArray, ...]:
        """Return 1 for each held-out sample that 1-NN classifies correctly, and 0 otherwise."""
        hits = self._predicted(features, fold) == self._codes[fold.test]
        return (hits.astype(np.float64),)

    def _predicted(self, features: IntArray, fold: Fold) -> IntArray:
        train, test = (self._X[rows][:, features] for rows in (fold.train, fold.test))
        return nearest_classes(train, self._codes[fold.train], test)

    def curve(self, order: IntArray, fold: Fold, counts: IntArray) -> FloatArray:
        """Return the 1-NN accuracy on the held-out samples for each number of features."""
        kept = order[: counts[-1]]
        train, test = (values_of(self._X, rows, kept) for rows in (fold.train, fold.test))
        y_train, y_test = (self._codes[rows] for rows in (fold.train, fold.test))
        first = np.arange(len(kept))
        return nearest_neighbor_curve(train, y_train, test, y_test, first, counts)

    def moved(self, to: IntArray) -> Self:
        """Return a copy whose labels, pairs and folds refer to permuted samples."""
        moved = [fold._replace(train=to[fold.train], test=to[fold.test]) for fold in self.folds]
        other = self.with_folds(moved)
        other._codes = np.empty_like(self._codes)
        other._codes[to] = self._codes
        other._sample = np.empty_like(self._sample)
        other._sample[to] = self._sample
        return other

    def arrangements(self, batches: Any = None) -> Arrangements:
        """Return the valid permutations of labelled samples and, with groups, of paired samples."""
        rows = self._labelled
        if self._pairs is not None and self.groups is not None:
            row_of = {sample: row for row, sample in enumerate(self._ids)}
            named = [row_of[sample] for sample in self._pairs.ids if sample in row_of]
            rows = np.union1d(rows, np.array(named, dtype=np.intp))
        ways = Arrangements.of(len(self._codes), self.groups, batches, rows, self._labelled)
        return ways.among(self._labelled)

    def named(self, fold: Fold | None = None) -> IntArray:
        """Return the held-out samples of a fold, or all labelled samples if no fold is given."""
        return self._labelled if fold is None else np.sort(fold.test)

    def count_ways(self, ways: Arrangements) -> float:
        """Return the number of distinct labellings under the valid permutations."""
        return label_ways(self._codes, ways)

    def shuffled(
        self, features: IntArray, fold: Fold, ways: Arrangements, n: int, seed: int
    ) -> tuple[float, FloatArray]:
        """Return the accuracy of a fold for the observed and for permuted held-out labels."""
        predicted = np.full(ways.n_samples, -1, dtype=np.intp)
        predicted[fold.test] = self._predicted(features, fold)
        known, rng = self._codes[fold.test], np.random.RandomState(seed)
        null = [np.mean(predicted[ways.draw(rng)[fold.test]] == known) for _ in range(n)]
        return float(np.mean(predicted[fold.test] == known)), np.array(null)

    def log_outcomes(self, fold: Fold) -> float:
        """Return the logarithm of the number of ways to label the held-out samples."""
        return log_ways(np.bincount(self._codes[fold.test]))

    def standard_error(self, value: float) -> float:
        """Return the standard error of an accuracy over independent samples."""
        n_independent = sum(fold.independent[0] for fold in self.folds) / self.n_repeats
        # Shrunk by one success and one failure, since no finite sample gives certainty.
        shrunk = (value * n_independent + 1) / (n_independent + 2)
        return float(np.sqrt(REFITTING * shrunk * (1 - shrunk) / n_independent))


def label_ways(codes: IntArray, ways: Arrangements) -> float:
    """Return the number of distinct labellings; samples of the same class are interchangeable."""
    found = 0.0
    for block in ways.blocks:
        kinds = np.unique(codes[block], axis=0, return_counts=True)[1]
        found += log_ways(kinds)
    return float(np.exp(min(found, 700.0)))
