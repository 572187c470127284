"""How well distances in selected features tell must-links from cannot-links."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from linkselect._arrays import FloatArray, IntArray, Matrix
from linkselect._batches import row_codes
from linkselect._bibliography import cites
from linkselect._blocks import BLOCK_SIZE, slices
from linkselect._messages import GuidedValueError
from linkselect._samples.checks import Given, explained_overflow, index_of
from linkselect._supervision import check_index, check_is_pairs
from linkselect.evaluation import _inputs as inputs
from linkselect.evaluation._curves import Curve, check_counts, numbers_of_features
from linkselect.evaluation._measuring import Runs
from linkselect.evaluation._pair_folds import (
    Groups,
    PairKFold,
    check_between,
    check_enough,
    read_units,
)
from linkselect.pairs import Pairs
from linkselect.selectors._method import describe
from linkselect.selectors._ranking import with_equal_ties
from linkselect.selectors._wrapper import arguments_of

CHANCE = 0.5
# Other pairs would be held out, and other features selected. On real data the selection adds up to
# half of the variance that the held-out pairs have; docs/calibration.md has the coverage.
REFITTING = 1.5


class PairAUC(NamedTuple):
    """How often a cannot-link is farther apart than a must-link."""

    auc: float
    """The share of all (must-link, cannot-link) in which it is; ties count half."""
    standard_error: float
    """Its standard error; pairs that share samples count as fewer."""
    chance: float
    """What unrelated features reach on average, if no two pairs share a sample."""


@cites("hanley1982")
def pair_auc(X: Any, pairs: Pairs, sample_ids: Iterable[Hashable] | None = None) -> PairAUC:
    """Measure how well distances between samples tell cannot-links from must-links.

    Over all must-links and cannot-links, the share of combinations in which the two samples of the
    cannot-link are farther apart than those of the must-link, by Euclidean distance in the given
    columns; equal distances count half. 1 is best, 0.5 is chance.

    On the pairs that a selector was fitted on this is too good: hold pairs out (`PairKFold`,
    `pair_auc_curve`). The standard error is that of Hanley & McNeil for the number of pairs that
    share no sample, at a value shrunk towards chance, so that it is not 0 for few pairs that are
    told apart perfectly.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        The samples, in the features to be judged: what a selector's `transform` returns.
    pairs : Pairs
        Pairs with an end that is not among the samples are left out.
    sample_ids : iterable of hashable, optional
        The id of each row. Default: the index of a pandas X, else row numbers.

    Returns
    -------
    PairAUC

    Examples
    --------
    >>> import numpy as np
    >>> from linkselect import Pairs
    >>> X = np.array([[0.0], [0.2], [1.0], [1.1]])
    >>> pairs = Pairs(must=[(0, 1), (2, 3)], cannot=[(0, 2), (1, 3)])
    >>> pair_auc(X, pairs).auc
    1.0
    """
    samples = inputs.check_matrix(X)
    held, row_of = inputs.pairs_among(X, pairs, sample_ids)
    inputs.check_both_kinds(held)
    with explained_overflow():
        together, apart = (total_distances(samples, links) for links in held.rows(row_of))
        return auc_of_distances(together, apart, read_units(held).independent)


@dataclass(frozen=True)
class PairCurve(Curve):
    """Held-out AUC over numbers of features.

    Attributes
    ----------
    n_features : ndarray of int of shape (n_points,)
        The numbers of features, ascending.
    values : ndarray of shape (n_folds, n_points)
        The AUC of the held-out pairs in each fold, in the best features by the other pairs.
    standard_error : ndarray of shape (n_points,)
        Of the mean over folds, as in `validate`; the same for every number of features.
    all_features : float
        The mean AUC in all features.
    chance : float
        What a choice that knows nothing reaches on average.
    """

    standard_error: FloatArray
    all_features: float
    chance: float = CHANCE

    @property
    def average(self) -> PairAUC:
        """The mean over folds and numbers of features, with its standard error."""
        # Values at different numbers of features rest on the same pairs.
        return PairAUC(float(self.values.mean()), float(self.standard_error.mean()), self.chance)


def pair_auc_curve(
    selector: Any,
    X: Any,
    pairs: Pairs,
    n_features: Sequence[int] | None = None,
    *,
    cv: PairKFold | None = None,
    sample_ids: Iterable[Hashable] | None = None,
    groups: ArrayLike | None = None,
) -> PairCurve:
    """Judge a selector by pairs that it has not seen, for several numbers of features.

    In every fold of the pairs the selector is fitted on all samples and the other pairs. Then
    `pair_auc` of the held-out pairs is measured in its first k features, for every wanted k.

    `validate` tests whether a ranking is better than chance; this shows the estimate at several
    numbers of features. It does not choose the number: the docs have what that would lose.

    Parameters
    ----------
    selector : selector
        With `order_` after fitting; it is cloned. Its `n_features_to_select` is set to the largest
        number of features, if it has that parameter, and each `random_state` that is None to a
        fixed seed. If it drops cannot-links that contradict must-links, they are left out here.
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        The samples.
    pairs : Pairs
        Must-links and cannot-links.
    n_features : ascending ints, optional
        The numbers of features. Default: 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100 or as many as
        there are.
    cv : PairKFold, optional
        How pairs are held out. Default: halves, dealt four times with `random_state=0`.
    sample_ids : iterable of hashable, optional
        The id of each row. Default: the index of a pandas X, else row numbers.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a patient, which is never on both sides of a fold.

    Returns
    -------
    PairCurve
    """
    inputs.check_selector(selector)
    inputs.check_cv(cv)
    samples = inputs.check_matrix(X)
    n_samples, n_all = samples.shape
    counts = check_counts(numbers_of_features(n_all) if n_features is None else n_features, n_all)
    given = Given.read(X, sample_ids=sample_ids)
    by_row = inputs.in_order_of_rows(pairs, n_samples, given, [selector])
    cv = PairKFold(2, n_repeats=4, random_state=0) if cv is None else cv
    codes = None if groups is None else row_codes(groups, n_samples, "groups")
    task = PairRuns.deal(samples, counts, by_row, cv, codes)
    fitted = inputs.reproducible(selector)
    if "n_features_to_select" in fitted.get_params(deep=False):
        fitted.set_params(n_features_to_select=int(counts[-1]))
    runs = range(len(task.runs))
    orders = [task.rank(fitted, run)[0] for run in runs]
    with explained_overflow():
        values = [task.measure(run, orders[run], counts) for run in runs]
        every = float(np.mean([task.with_all_features(run) for run in runs]))
    error = np.full(len(counts), task.standard_error)
    return PairCurve(counts, np.array(values), error, every)


class PairScorer:
    """What `pair_scorer` returns: called with an estimator and the rows of a fold.

    Parameters
    ----------
    pairs : Pairs
        By the ids of the index.
    """

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs

    def __repr__(self) -> str:
        return f"pair_scorer({self.pairs!r})"

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """Measure the AUC of the pairs among the rows of X, in what the estimator makes of them."""
        index = index_of(X)
        if index is None:
            raise GuidedValueError(
                "Which rows of a fold the pairs mean cannot be told: X has no ids.",
                "Pass a pandas frame whose index holds the ids that the pairs name.",
            )
        ids = tuple(index)
        check_index(self.pairs, ids)
        # Pairs of other folds are not there by design, so nothing is said about them.
        return pair_auc(estimator.transform(X), self.pairs.restrict(ids), ids).auc


def pair_scorer(pairs: Pairs) -> PairScorer:
    """Return a scorer for scikit-learn's searches: `pair_auc` after the estimator's `transform`.

    Only pairs with both ends among the rows that are scored count, so the rows need ids: X must
    be a pandas frame whose index holds the ids that the pairs name.

    Use few, large folds: of pairs drawn at random, one in k^2 has both ends in a given one of k
    folds. A fold without a must-link or without a cannot-link cannot be scored.

    The search splits the rows: to keep those of a patient together, give it `cv=GroupKFold(3)` and
    call `search.fit(X, groups=patient)`.

    Parameters
    ----------
    pairs : Pairs
        By the ids of the index.

    Returns
    -------
    PairScorer
        Called with an estimator, X and y; it can be pickled, so that a search may use processes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV, KFold
    >>> from linkselect import LaplacianScore, Pairs
    >>> from linkselect.evaluation import pair_scorer
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> pairs = Pairs.from_labels(
    ...     y, n_must=200, n_cannot=200, sample_ids=X.index, random_state=0
    ... )
    >>> search = GridSearchCV(
    ...     LaplacianScore(2),
    ...     {"n_neighbors": [3, 10]},
    ...     scoring=pair_scorer(pairs),
    ...     cv=KFold(3, shuffle=True, random_state=0),
    ... ).fit(X)
    >>> search.best_score_ > 0.8
    np.True_
    """
    check_is_pairs(pairs)
    return PairScorer(pairs)


def total_distances(
    samples: Matrix, links: IntArray, features: IntArray | None = None
) -> FloatArray:
    """Return the squared distance of every link in some or all features, a few links at a time."""
    chosen = np.arange(samples.shape[1]) if features is None else features
    found = np.empty(len(links))
    for part in slices(len(links), max(1, BLOCK_SIZE // max(1, len(chosen)))):
        apart = np.subtract(*(inputs.values_of(samples, rows, chosen) for rows in links[part].T))
        found[part] = np.square(apart, out=apart).sum(axis=1)
    return found


def auc_over_counts(
    samples: Matrix, links: tuple[IntArray, IntArray], order: IntArray, counts: IntArray
) -> FloatArray:
    """Compare must-links and cannot-links in the first features of an order, for each count."""
    must, cannot = links
    together, apart = np.zeros(len(must)), np.zeros(len(cannot))
    found, done = [], 0
    for count in counts.tolist():
        together += total_distances(samples, must, order[done:count])
        apart += total_distances(samples, cannot, order[done:count])
        found.append(auc_of_distances(together, apart).auc)
        done = count
    return np.array(found)


def auc_of_distances(
    together: FloatArray, apart: FloatArray, n_independent: tuple[int, int] | None = None
) -> PairAUC:
    """Compare the distances of must-links with those of cannot-links.

    The standard error is that of as many independent links of each kind as `n_independent` says;
    default: of all.
    """
    m, n = len(together), len(apart)
    # The order of the features, and their units, change the last digit of equal distances.
    auc = share_of_wins(with_equal_ties(np.concatenate([together, apart])), m)
    return PairAUC(auc, _hanley_mcneil(auc, *(n_independent or (m, n))), CHANCE)


def share_of_wins(distances: FloatArray, m: int) -> float:
    """Return how often one of the distances from the m-th on is larger than one before it."""
    n = len(distances) - m
    return float((rankdata(distances)[m:].sum() - n * (n + 1) / 2) / (m * n))


def _hanley_mcneil(auc: float, m: int, n: int) -> float:
    # One more win and one more loss: no finite number of pairs is certain.
    shrunk = (auc * m * n + 1) / (m * n + 2)
    # Q1 and Q2 of Hanley & McNeil (1982), of exponential distributions: how likely two cannot-links
    # are both farther apart than one must-link, and one cannot-link than two must-links.
    larger, twice = shrunk / (2 - shrunk), 2 * shrunk**2 / (1 + shrunk)
    variance = shrunk * (1 - shrunk)
    variance += (n - 1) * (larger - shrunk**2) + (m - 1) * (twice - shrunk**2)
    return float(np.sqrt(variance / (m * n)))


def held_out_error(n_must: int, n_cannot: int) -> float:
    """Return the standard error of a held-out AUC, by the number of independent links.

    That of the Mann-Whitney statistic where it is largest, at 0.5, and what selecting features
    anew adds. An error at the observed AUC would be smallest where the AUC is too large by luck.
    """
    variance = (n_must + n_cannot + 1) / (12 * n_must * n_cannot)
    return float(np.sqrt(REFITTING * variance))


@dataclass(frozen=True)
class PairRuns(Runs):
    """Folds of the pairs: fitted on all samples and training pairs, measured by held-out pairs.

    Parameters
    ----------
    X, counts, runs
        As in `Runs`; each run is the training pairs and the held-out pairs.
    pairs : Pairs
        All pairs, by row number.
    n_repeats : int
        How often all pairs were dealt out.
    standard_error : float
        Of the mean AUC over folds.
    groups : array of int or None
        The group of each row.
    """

    X: Matrix
    counts: IntArray
    runs: Sequence[tuple[Pairs, Pairs]]
    pairs: Pairs
    n_repeats: int
    standard_error: float
    groups: IntArray | None = None

    @classmethod
    def deal(
        cls,
        X: Matrix,
        counts: IntArray,
        pairs: Pairs,
        cv: PairKFold,
        groups: IntArray | None = None,
    ) -> PairRuns:
        """Deal pairs by row number out into folds that split no group."""
        check_between(pairs, groups)
        group_of: Groups | None = None if groups is None else dict(enumerate(groups.tolist()))
        check_enough(*read_units(pairs, group_of).independent, must_only=False)
        folds = list(cv.split(pairs, group_of))
        independent = [read_units(test, group_of).independent for _, test in folds]
        n_must, n_cannot = (np.sum(independent, axis=0) // cv.n_repeats).tolist()
        check_enough(n_must, n_cannot, must_only=False)
        error = held_out_error(n_must, n_cannot)
        return cls(X, counts, folds, pairs, cv.n_repeats, error, groups)

    @property
    def n_folds(self) -> int:
        """How many folds hold out all pairs once."""
        return len(self.runs) // self.n_repeats

    @property
    def sizes(self) -> tuple[int, int]:
        """How many pairs train and how many are held out, on average over folds."""
        counts = [[side.n_must + side.n_cannot for side in sides] for sides in self.runs]
        n_train, n_test = np.mean(counts, axis=0).tolist()
        return max(1, round(n_train)), max(1, round(n_test))

    def is_refitted(self, selector: Any) -> bool:
        """Tell whether a selector looks at pairs."""
        return describe(selector).sees == "pairs"

    def given(self, selector: Any, run: int) -> tuple[Matrix, dict[str, Any]]:
        """Take all samples, and the training pairs if the selector looks at pairs."""
        pairs = self.pairs if run < 0 else self.runs[run][0]
        return self.X, arguments_of(Given(pairs=pairs, groups=self.groups), selector)

    def measure(self, run: int, order: IntArray, counts: IntArray) -> FloatArray:
        """Measure the AUC of held-out pairs with the first features, for each count."""
        links = self.runs[run][1].rows({row: row for row in range(self.X.shape[0])})
        return auc_over_counts(self.X, links, order, counts)
