"""What a ranking is worth on supervision that it has not seen, beside chance."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from linkselect.arrays import FloatArray, IntArray
from linkselect.blocks import map_threads, slices
from linkselect.evaluation.accuracy import count_hits, nearest_neighbor_curve
from linkselect.evaluation.curves import Curve
from linkselect.evaluation.inputs import order_of
from linkselect.evaluation.pair_auc import CHANCE, auc_of_distances, total_distances
from linkselect.evaluation.pair_folds import PairKFold
from linkselect.given import Given
from linkselect.messages import GuidedValueError, many
from linkselect.pairs import Pairs
from linkselect.selectors.method import describe
from linkselect.selectors.wrapper import arguments_of

__all__ = ["Estimate", "HeldOut", "LabelFolds", "PairFolds"]

# Progress is reported after this many folds; the number must not depend on the threads.
FOLDS_PER_STEP = 2
RANDOM_CHOICES = 5
# Nearest neighbours of more rows cost more than they tell.
MOST_ROWS = 2000
# About one in forty rankings that know nothing is called better than chance.
STANDARD_ERRORS = 2.0

Track = Callable[[Iterable[Any]], Iterable[Any]]
Fold = tuple[Any, Any]


@dataclass(frozen=True)
class Estimate:
    """What the selected number of features is worth on held-out supervision.

    Attributes
    ----------
    measure : {"pair AUC", "1-NN accuracy"}
        How often a held-out cannot-link is farther apart than a held-out must-link, or how often
        the nearest labelled row tells the class of a held-out row.
    value, standard_error : float
        The estimate. Repeating it on other data like these would give about as much, give or take
        two standard errors.
    chance : float
        What knowing nothing gives: 0.5, or the share of the largest class.
    all_features, random_features : float
        The same measure in all features, and in as many features chosen at random.
    n_folds, n_held_out : int
        How many folds, and how many pairs or rows were held out in all.
    """

    measure: Literal["pair AUC", "1-NN accuracy"]
    value: float
    standard_error: float
    chance: float
    all_features: float
    random_features: float
    n_folds: int
    n_held_out: int

    @property
    def better_than_chance(self) -> bool:
        """Whether it exceeds chance by more than two standard errors."""
        return self.value - self.chance > STANDARD_ERRORS * self.standard_error


class HeldOut:
    """Folds of some supervision: what to fit on, and what a choice of features is worth."""

    folds: list[Fold]
    n_folds: int
    """How many folds hold out everything once; further ones repeat that."""

    def fit(self, selector: Any, fold: Fold) -> Any:
        """Fit a selector to what a fold leaves."""
        raise NotImplementedError

    def worth(self, features: IntArray, fold: Fold) -> tuple[float, float]:
        """Measure a choice of features on what a fold holds out, with the standard error."""
        raise NotImplementedError

    def curve(self, order: IntArray, fold: Fold, counts: IntArray) -> FloatArray:
        """Measure the first features of an order on what a fold holds out, for each count."""
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

    def estimate(
        self,
        orders: Sequence[IntArray],
        n_selected: int,
        n_features: int,
        rng: np.random.RandomState,
    ) -> dict[str, Any]:
        """Measure the best features by each fold, all features, and some at random.

        Repeats hold out the same rows again, so the standard error is that of holding out once.
        """
        everything = np.arange(n_features)
        wanted = [
            [best[:n_selected], everything, *_at_random(n_features, n_selected, rng)]
            for best in orders
        ]

        def work(fold: int) -> list[tuple[float, float]]:
            return [self.worth(features, self.folds[fold]) for features in wanted[fold]]

        values = np.array(map_threads(work, range(len(orders))))
        return {
            "value": float(values[:, 0, 0].mean()),
            "standard_error": float(np.sqrt(np.mean(values[:, 0, 1] ** 2) / self.n_folds)),
            "all_features": float(values[:, 1, 0].mean()),
            "random_features": float(values[:, 2:, 0].mean()),
            "n_folds": self.n_folds,
        }


def _at_random(n_features: int, n_selected: int, rng: np.random.RandomState) -> list[IntArray]:
    return [rng.permutation(n_features)[:n_selected] for _ in range(RANDOM_CHOICES)]


class PairFolds(HeldOut):
    """Pairs held out; the samples are not split."""

    def __init__(
        self, X: Any, pairs: Pairs, ids: tuple[Hashable, ...], n_folds: int, seed: int
    ) -> None:
        # Cannot-links that contradict must-links did not count in the fit either.
        held = pairs.without_conflicts()
        self._X, self._ids = (X.tocsr() if issparse(X) else X), ids
        self._row_of = {sample: row for row, sample in enumerate(ids)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the estimate says how many folds there were
            self.folds = list(PairKFold(n_folds, random_state=seed).split(held))
        self.n_folds = len(self.folds)
        self.n_held_out = held.n_must + held.n_cannot

    def fit(self, selector: Any, fold: Fold) -> Any:
        """Fit to all samples and the pairs that are left."""
        given = Given(pairs=fold[0], sample_ids=self._ids)
        return selector.fit(self._X, **arguments_of(given, selector))

    def worth(self, features: IntArray, fold: Fold) -> tuple[float, float]:
        """Compare the distances of held-out must-links and cannot-links."""
        must, cannot = fold[1].rows(self._row_of)
        apart = [total_distances(self._X, one, features) for one in (must, cannot)]
        found = auc_of_distances(apart[0], apart[1])
        return found.auc, found.standard_error

    def curve(self, order: IntArray, fold: Fold, counts: IntArray) -> FloatArray:
        """Compare the distances of held-out pairs, which grow with every feature."""
        ends = fold[1].rows(self._row_of)
        must, cannot = (np.zeros(len(links)) for links in ends)
        found, done = [], 0
        for count in counts.tolist():
            for distances, links in zip((must, cannot), ends, strict=True):
                distances += total_distances(self._X, links, order[done:count])
            found.append(auc_of_distances(must, cannot).auc)
            done = count
        return np.array(found)

    def summary(self, **measured: Any) -> Estimate:
        """Name what was measured."""
        return Estimate("pair AUC", chance=CHANCE, n_held_out=self.n_held_out, **measured)


class LabelFolds(HeldOut):
    """Labelled rows held out, each once; all other rows stay for the fit."""

    def __init__(
        self, X: Any, codes: IntArray, n_folds: int, seed: int, n_repeats: int = 1
    ) -> None:
        self._X, self._codes = (X.tocsr() if issparse(X) else X), codes
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
        self.folds = []
        for repeat in range(n_repeats):
            splitter = StratifiedKFold(self.n_folds, shuffle=True, random_state=seed + repeat)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # small classes are not in every fold
                places = list(splitter.split(known, known))
            self.folds += [(labelled[train], labelled[test]) for train, test in places]

    def fit(self, selector: Any, fold: Fold) -> Any:
        """Fit to all rows but those held out."""
        rows = np.setdiff1d(np.arange(len(self._codes)), fold[1])
        if describe(selector).sees == "labels":
            rows = rows[self._codes[rows] >= 0]
        return selector.fit(self._X[rows], self._codes[rows])

    def worth(self, features: IntArray, fold: Fold) -> tuple[float, float]:
        """Classify the held-out rows by their nearest labelled row."""
        train, test = (self._X[rows][:, features] for rows in fold)
        y_train, y_test = (self._codes[rows] for rows in fold)
        hits, n_test = count_hits(train, y_train, test, y_test), len(y_test)
        # One more hit and one more miss: no finite number of rows is certain.
        shrunk = (hits + 1) / (n_test + 2)
        return hits / n_test, float(np.sqrt(shrunk * (1 - shrunk) / n_test))

    def curve(self, order: IntArray, fold: Fold, counts: IntArray) -> FloatArray:
        """Classify the held-out rows by their nearest labelled row, for each count."""
        kept = order[: counts[-1]]
        train, test = (self._X[rows][:, kept] for rows in fold)
        if issparse(train):
            train, test = train.toarray(), test.toarray()
        y_train, y_test = (self._codes[rows] for rows in fold)
        first = np.arange(len(kept))
        return nearest_neighbor_curve(train, y_train, test, y_test, first, counts)

    def summary(self, **measured: Any) -> Estimate:
        """Name what was measured."""
        n_held_out = len(self._labelled)
        return Estimate("1-NN accuracy", chance=self.chance, n_held_out=n_held_out, **measured)
