"""Cross-validation folds of pairs, and the AUC of held-out pairs."""

import warnings
from collections.abc import Hashable
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.spatial.distance import cdist

from linkselect._arrays import FloatArray, IntArray, Matrix
from linkselect._messages import GuidedValueError, pairs_text
from linkselect._samples.checks import Given
from linkselect.evaluation import _pair_auc as auc
from linkselect.evaluation._held_out import Fold, HeldOut
from linkselect.evaluation._inputs import values_of
from linkselect.evaluation._pair_folds import (
    MOST_LABELS,
    Groups,
    PairKFold,
    check_between,
    check_enough,
    read_units,
)
from linkselect.evaluation._permutation import Arrangements, log_ways
from linkselect.pairs import Pairs
from linkselect.pairs._consequences import some_listed, with_all_listed, with_fewer_labels
from linkselect.pairs._links import must_components
from linkselect.selectors._wrapper import arguments_of

# With more pairs of a kind, computing distances takes long and hardly improves precision.
MOST_PAIRS = 500


class Links(NamedTuple):
    """Must-links and cannot-links between samples; random pairs may replace the cannot-links."""

    must: IntArray
    cannot: IntArray


class WeightedLinks(NamedTuple):
    """Training pairs with their weights."""

    must: IntArray
    cannot: IntArray
    weights: tuple[FloatArray, FloatArray]


class PairFolds(HeldOut):
    """Cross-validation folds that split the pairs but not the samples.

    The pairs are repeatedly split into halves, because the test requires many held-out pairs. Pairs
    that were chosen by looking at the samples are never held out. If they make up at least half of
    all pairs, all other pairs are held out at once.
    """

    measure = "pair AUC"
    chance = auc.CHANCE

    def __init__(
        self,
        X: Matrix,
        pairs: Pairs,
        ids: tuple[Hashable, ...],
        n_repeats: int,
        seed: int,
        groups: IntArray | None = None,
    ) -> None:
        # Cannot-links that contradict must-links were not used in the fit either.
        held = with_all_listed(with_fewer_labels(pairs.without_conflicts(), MOST_LABELS))
        self._X, self._rows = X, tuple(range(len(ids)))
        self.groups = groups
        self.is_adaptive = held.n_adaptive > 0
        links = held.rows(dict(zip(ids, self._rows, strict=True)))
        by_row = Pairs._from_codes(self._rows, *links, len(ids), held._adaptive, (), held._weights)
        adaptive_must, adaptive_cannot = by_row._adaptive
        random = some_listed(by_row, ~adaptive_must, ~adaptive_cannot, by_row.n_samples)
        what = "randomly drawn " if self.is_adaptive else ""
        group_of: Groups | None = None if groups is None else dict(enumerate(groups.tolist()))
        must_only = by_row.n_cannot == 0
        check_between(by_row, groups)
        check_enough(*read_units(random, group_of).independent, must_only, what)
        n_all = held.n_must + held.n_cannot
        at_once = self.is_adaptive and 2 * held.n_adaptive >= n_all
        if at_once:
            sides = [(_without_random(by_row, group_of), random)]
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the estimate reports the number of folds
                splitter = PairKFold(2, n_repeats, random_state=seed)
                sides = list(splitter.split(by_row, group_of))
        rng = np.random.RandomState(seed)
        self.folds = [self._fold(train, test, group_of, rng) for train, test in sides]
        self.n_folds = 1 if at_once else 2
        self.n_repeats = len(self.folds) // self.n_folds
        self.contrast = "random pairs" if must_only else "cannot-links"
        self._count(must_only, what)

    def _count(self, must_only: bool, what: str) -> None:
        """Count the held-out pairs, and raise an error if there are too few."""
        counted = 1 if must_only else 2
        once = [links for fold in self.folds[: self.n_folds] for links in fold.test[:counted]]
        self.n_held_out = sum(map(len, once))
        counts = np.sum([one.independent for one in self.folds], axis=0) // self.n_repeats
        n_must, n_cannot = counts.tolist()
        check_enough(n_must, n_cannot, must_only, what)
        self._error = auc.held_out_error(n_must, n_cannot)
        self.too_few = (
            "Cannot test against chance: only "
            f"{pairs_text(n_must, 0 if must_only else n_cannot)} share no sample, but a "
            "permutation test without refitting the method requires more."
        )

    def _fold(
        self, train: Pairs, test: Pairs, group_of: Groups | None, rng: np.random.RandomState
    ) -> Fold:
        same: dict[Hashable, int] = {row: row for row in self._rows}
        n_must, n_cannot = read_units(test, group_of).independent
        must, cannot = test.rows(same)
        if not train.n_cannot and not test.n_cannot:
            cannot, n_cannot = _between_units(test, group_of), n_must
        tested = Links(_some_links(must, rng), _some_links(cannot, rng))
        counts = (min(n_must, MOST_PAIRS), min(n_cannot, MOST_PAIRS))
        return Fold(WeightedLinks(*train.rows(same), train._weights), tested, counts)

    def _pairs(self, links: WeightedLinks) -> Pairs:
        # Restricted to samples in pairs, because every fit has to look up the IDs.
        named = np.unique(np.concatenate([kind.ravel() for kind in links[:2]]))
        must, cannot = (np.searchsorted(named, kind) for kind in links[:2])
        parts = tuple(named.tolist()), must, cannot, len(self._rows)
        return Pairs._from_codes(*parts, (None, None), (), links.weights)

    def fit(self, selector: Any, fold: Fold) -> Any:
        """Fit the selector to all samples and the training pairs of a fold."""
        given = Given(pairs=self._pairs(fold.train), groups=self.groups)
        return selector.fit(self._X, **arguments_of(given, selector))

    def value(self, features: IntArray, fold: Fold) -> float:
        """Return the AUC of the held-out pairs of a fold."""
        together, apart = self._distances(features, fold)
        return auc.auc_of_distances(together, apart).auc

    def parts(self, features: IntArray, fold: Fold) -> tuple[FloatArray, ...]:
        """Return the fraction of correct comparisons for each must-link and each cannot-link."""
        together, apart = self._distances(features, fold)
        wins = np.sign(apart - together[:, None]) / 2 + 0.5
        return wins.mean(axis=1), wins.mean(axis=0)

    def _distances(self, features: IntArray, fold: Fold) -> tuple[FloatArray, FloatArray]:
        must, cannot = (auc.total_distances(self._X, links, features) for links in fold.test)
        return must, cannot

    def curve(self, order: IntArray, fold: Fold, counts: IntArray) -> FloatArray:
        """Return the AUC of the held-out pairs for each number of features."""
        return auc.auc_over_counts(self._X, fold.test, order, counts)

    def moved(self, to: IntArray) -> Self:
        """Return a copy whose pairs refer to permuted samples."""

        def there(links: Any) -> Any:
            return links._replace(must=to[links.must], cannot=to[links.cannot])

        return self.with_folds(
            [fold._replace(train=there(fold.train), test=there(fold.test)) for fold in self.folds]
        )

    def named(self, fold: Fold | None = None) -> IntArray:
        """Return the samples in the held-out pairs of one fold or of all folds."""
        folds = self.folds if fold is None else [fold]
        return np.unique(np.concatenate([links.ravel() for one in folds for links in one.test]))

    def count_ways(self, ways: Arrangements) -> float:
        """Return the number of distinct ways to assign samples to the held-out pairs."""
        return ways.count(self.named())

    def is_inside(self, ways: Arrangements) -> bool:
        """Return whether every held-out pair lies within a group that is permuted as a whole."""
        group = ways.group
        kinds = 2 if self.contrast == "cannot-links" else 1
        links = np.concatenate([one for fold in self.folds for one in fold.test[:kinds]])
        return bool((group[links[:, 0]] == group[links[:, 1]]).all())

    def shuffled(
        self, features: IntArray, fold: Fold, ways: Arrangements, n: int, seed: int
    ) -> tuple[float, FloatArray]:
        """Return the AUC of a fold for the observed and for permuted held-out samples."""
        rows = ways.rows
        samples = values_of(self._X, rows, features)
        apart = cdist(samples, samples, "sqeuclidean")
        rng = np.random.RandomState(seed)
        found = np.empty(n + 1)
        for place in range(n + 1):
            to = np.arange(ways.n_samples) if place == 0 else ways.draw(rng)
            ends = (np.searchsorted(rows, to[links]) for links in fold.test)
            between = np.concatenate([apart[link[:, 0], link[:, 1]] for link in ends])
            found[place] = auc.share_of_wins(between, len(fold.test.must))
        return float(found[0]), found[1:]

    def log_outcomes(self, fold: Fold) -> float:
        """Return the log of the number of ways to choose must-links among independent pairs."""
        return log_ways(np.array(fold.independent))

    def standard_error(self, value: float) -> float:
        """Return the standard error, which depends only on the number of independent pairs."""
        return self._error


def _without_random(pairs: Pairs, groups: Groups | None) -> Pairs:
    """Keep the adaptive pairs that are not connected to other pairs by samples or links."""
    units = read_units(pairs, groups)
    tested = units.keep(*(~kind for kind in pairs._adaptive)).named
    must, cannot = ~tested[units.must], np.asarray(~tested[units.cannot].any(axis=1))
    if not must.any() or (len(cannot) and not cannot.any()):
        raise GuidedValueError(
            "Cannot validate: all other must-links or all other cannot-links share samples with "
            "randomly drawn pairs.",
            "Answer more questions.",
        )
    return some_listed(pairs, must, cannot, pairs.n_samples)


def _between_units(test: Pairs, groups: Groups | None) -> IntArray:
    """List pairs of samples from held-out must-links that no must-link or group connects."""
    ids = np.array(test.ids, dtype=np.intp)
    place: dict[Hashable, int] = {int(row): place for place, row in enumerate(ids)}
    must, _ = test.rows(place)
    unit = must_components(must, len(ids))
    one, other = np.triu_indices(len(ids), 1)
    apart = unit[one] != unit[other]
    if groups is not None:
        group = np.array([groups[int(row)] for row in ids], dtype=object)
        apart &= group[one] != group[other]
    return np.column_stack([ids[one[apart]], ids[other[apart]]])


def _some_links(links: IntArray, rng: np.random.RandomState) -> IntArray:
    if len(links) <= MOST_PAIRS:
        return links
    return links[np.sort(rng.choice(len(links), MOST_PAIRS, replace=False))]
