"""AUC of pairs, which measures how well distances separate cannot-links from must-links."""

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
# Variance inflation for the training part: with other pairs, other features would be selected. On
# real data this adds up to half of the variance of the held-out pairs; docs/calibration.md reports
# the coverage.
REFITTING = 1.5


class PairAUC(NamedTuple):
    """The AUC of pairs, which compares the distances of cannot-links with those of must-links."""

    auc: float
    """The AUC over all combinations of a must-link and a cannot-link; ties count one half."""
    standard_error: float
    """The standard error of the AUC, which accounts for pairs that share samples."""
    chance: float
    """The expected AUC in uninformative features, if no two pairs share a sample."""


@cites("hanley1982")
def pair_auc(X: Any, pairs: Pairs, sample_ids: Iterable[Hashable] | None = None) -> PairAUC:
    """Measure how well distances between samples separate cannot-links from must-links.

    The AUC is the fraction of all combinations of a must-link and a cannot-link in which the
    samples of the cannot-link are farther apart, by Euclidean distance in the given columns. Ties
    count one half. The best value is 1, and 0.5 corresponds to chance.

    For pairs to which a selector was fitted, the AUC is optimistic; use held-out pairs instead
    (`PairKFold`, `pair_auc_curve`). The standard error is computed by the formula of Hanley &
    McNeil for the number of pairs that share no sample. In this formula, the AUC is shrunk towards
    chance, so that the error is not 0 if a few pairs are separated perfectly.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        The samples, with the features to evaluate as columns, such as the output of a selector's
        `transform`.
    pairs : Pairs
        Must-links and cannot-links. Pairs with a sample that is not in X are ignored.
    sample_ids : iterable of hashable, optional
        The ID of each sample. Default: the index of X if it is a pandas object, otherwise row
        numbers.

    Returns
    -------
    PairAUC
        The AUC, its standard error and the chance level.

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
    """AUC of held-out pairs as a function of the number of features.

    Attributes
    ----------
    n_features : ndarray of int of shape (n_points,)
        The numbers of features, in ascending order.
    values : ndarray of shape (n_folds, n_points)
        The AUC of the held-out pairs of each fold, in the features ranked with the training pairs.
    standard_error : ndarray of shape (n_points,)
        The standard error of the mean over folds, as in `validate`. It is the same for every number
        of features.
    all_features : float
        The mean AUC with all features.
    chance : float
        The expected AUC of an uninformative selection.
    """

    standard_error: FloatArray
    all_features: float
    chance: float = CHANCE

    @property
    def average(self) -> PairAUC:
        """The mean AUC over folds and numbers of features, with its standard error."""
        # Averaging over numbers of features does not reduce the error: the pairs are the same.
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
    """Measure the AUC of held-out pairs for several numbers of features.

    In every fold of the pairs, the selector is fitted to all samples and the training pairs. Then
    the `pair_auc` of the held-out pairs is computed in the first k features, for each k in
    `n_features`.

    To test whether a ranking is better than chance, use `validate`. Do not use this curve to choose
    the number of features: in experiments, this choice led to a lower accuracy than using all
    features.

    Parameters
    ----------
    selector : selector
        A selector that has the attribute `order_` after fitting. It is cloned. Its parameter
        `n_features_to_select`, if any, is set to the largest number of features, and each
        `random_state` that is None is set to a fixed seed. If the selector drops cannot-links that
        contradict must-links, these cannot-links are not held out either.
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        The samples.
    pairs : Pairs
        Must-links and cannot-links.
    n_features : sequence of int, optional
        The numbers of features, in ascending order. Default: 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70
        and 100, limited to the number of all features.
    cv : PairKFold, optional
        The splitter that holds out pairs. Default: two folds, repeated four times, with
        `random_state=0`.
    sample_ids : iterable of hashable, optional
        The ID of each sample. Default: the index of X if it is a pandas object, otherwise row
        numbers.
    groups : array-like of shape (n_samples,), optional
        The group of each sample, such as the patient. Training and held-out pairs of a fold never
        share a group.

    Returns
    -------
    PairCurve
        The AUC of each fold for each number of features.
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
    """A scorer for scikit-learn's parameter searches, as returned by `pair_scorer`.

    Parameters
    ----------
    pairs : Pairs
        Pairs of sample IDs from the index of X.
    """

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs

    def __repr__(self) -> str:
        return f"pair_scorer({self.pairs!r})"

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """Return the AUC of the pairs between samples in X, after applying `transform`."""
        index = index_of(X)
        if index is None:
            raise GuidedValueError(
                "X has no index, so the pairs cannot be matched with its samples.",
                "Pass a pandas DataFrame whose index contains the sample IDs used in the pairs.",
            )
        ids = tuple(index)
        check_index(self.pairs, ids)
        # Pairs of other folds are excluded on purpose, so this causes no warning.
        return pair_auc(estimator.transform(X), self.pairs.restrict(ids), ids).auc


def pair_scorer(pairs: Pairs) -> PairScorer:
    """Return a scorer for scikit-learn's parameter searches that computes the AUC of pairs.

    The scorer applies `pair_auc` to the output of the estimator's `transform`. Only pairs whose
    samples are both in the scored fold are used. X must be a pandas DataFrame whose index contains
    the sample IDs used in the pairs, because a search passes only some samples to the scorer.

    Use few, large folds: with k folds, a random pair lies in a given fold with probability 1 / k^2.
    A fold without must-links or without cannot-links cannot be scored.

    The search splits the samples. To keep the samples of a patient together, pass
    `cv=GroupKFold(3)` to the search and call `search.fit(X, groups=patient)`.

    Parameters
    ----------
    pairs : Pairs
        Pairs of sample IDs from the index of X.

    Returns
    -------
    PairScorer
        A callable with the arguments estimator, X and y. It can be pickled, as parallel searches
        require.

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
    """Return the squared distance of every pair in some or all features, computed in blocks."""
    chosen = np.arange(samples.shape[1]) if features is None else features
    found = np.empty(len(links))
    for part in slices(len(links), max(1, BLOCK_SIZE // max(1, len(chosen)))):
        apart = np.subtract(*(inputs.values_of(samples, rows, chosen) for rows in links[part].T))
        found[part] = np.square(apart, out=apart).sum(axis=1)
    return found


def auc_over_counts(
    samples: Matrix, links: tuple[IntArray, IntArray], order: IntArray, counts: IntArray
) -> FloatArray:
    """Return the AUC in the first `count` features, for each count."""
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
    """Compute the AUC from the distances of must-links and cannot-links.

    The standard error is computed for `n_independent` must-links and cannot-links, by default for
    all pairs.
    """
    m, n = len(together), len(apart)
    # Equal distances may differ in the last digit, depending on the order and scale of features.
    auc = share_of_wins(with_equal_ties(np.concatenate([together, apart])), m)
    return PairAUC(auc, _hanley_mcneil(auc, *(n_independent or (m, n))), CHANCE)


def share_of_wins(distances: FloatArray, m: int) -> float:
    """Return the probability that a value of `distances[m:]` exceeds one of `distances[:m]`."""
    n = len(distances) - m
    return float((rankdata(distances)[m:].sum() - n * (n + 1) / 2) / (m * n))


def _hanley_mcneil(auc: float, m: int, n: int) -> float:
    # Shrunk by one success and one failure, since no finite number of pairs gives certainty.
    shrunk = (auc * m * n + 1) / (m * n + 2)
    # Q1 and Q2 of Hanley & McNeil (1982) for exponential distributions: the probabilities that two
    # cannot-links are farther apart than one must-link, and one cannot-link than two must-links.
    larger, twice = shrunk / (2 - shrunk), 2 * shrunk**2 / (1 + shrunk)
    variance = shrunk * (1 - shrunk)
    variance += (n - 1) * (larger - shrunk**2) + (m - 1) * (twice - shrunk**2)
    return float(np.sqrt(variance / (m * n)))


def held_out_error(n_must: int, n_cannot: int) -> float:
    """Return the standard error of a held-out AUC for given numbers of independent pairs.

    This is the standard error of the Mann-Whitney statistic at an AUC of 0.5, where it is largest,
    increased to account for the selection of features. The error at the observed AUC would be too
    small whenever this AUC is too large by chance.
    """
    variance = (n_must + n_cannot + 1) / (12 * n_must * n_cannot)
    return float(np.sqrt(REFITTING * variance))


@dataclass(frozen=True)
class PairRuns(Runs):
    """Folds of pairs, for fitting with the training pairs and evaluating on held-out pairs.

    Parameters
    ----------
    X, counts, runs
        As in `Runs`. Each run consists of training pairs and held-out pairs.
    pairs : Pairs
        All pairs, by row number.
    n_repeats : int
        The number of repeats of the folds.
    standard_error : float
        The standard error of the mean AUC over folds.
    groups : array of int or None
        The group of each sample.
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
        """Split pairs of row numbers into folds, without splitting groups."""
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
        """The number of folds in each repeat."""
        return len(self.runs) // self.n_repeats

    @property
    def sizes(self) -> tuple[int, int]:
        """The mean numbers of training and held-out pairs over the folds."""
        counts = [[side.n_must + side.n_cannot for side in sides] for sides in self.runs]
        n_train, n_test = np.mean(counts, axis=0).tolist()
        return max(1, round(n_train)), max(1, round(n_test))

    def is_refitted(self, selector: Any) -> bool:
        """Return whether a selector uses pairs."""
        return describe(selector).sees == "pairs"

    def given(self, selector: Any, run: int) -> tuple[Matrix, dict[str, Any]]:
        """Return all samples, and the training pairs if the selector uses pairs."""
        pairs = self.pairs if run < 0 else self.runs[run][0]
        return self.X, arguments_of(Given(pairs=pairs, groups=self.groups), selector)

    def measure(self, run: int, order: IntArray, counts: IntArray) -> FloatArray:
        """Return the AUC of the held-out pairs in the first `count` features, for each count."""
        links = self.runs[run][1].rows({row: row for row in range(self.X.shape[0])})
        return auc_over_counts(self.X, links, order, counts)
