"""How well distances in selected features tell must-links from cannot-links."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.stats import rankdata
from sklearn.base import clone

from linkselect.arrays import FloatArray, IntArray
from linkselect.bibliography import cites
from linkselect.blocks import row_block
from linkselect.checks import index_of
from linkselect.evaluation.accuracy import check_counts
from linkselect.evaluation.curves import numbers_of_features
from linkselect.evaluation.pair_folds import PairKFold
from linkselect.given import Given
from linkselect.messages import GuidedValueError
from linkselect.pairs import Pairs
from linkselect.supervision import present_pairs

__all__ = [
    "CHANCE",
    "PairAUC",
    "PairCurve",
    "auc_of_distances",
    "pair_auc",
    "pair_auc_curve",
    "pair_scorer",
    "squared_distances",
]

CHANCE = 0.5


class PairAUC(NamedTuple):
    """How often a cannot-link is farther apart than a must-link."""

    auc: float
    """The share of all (must-link, cannot-link) in which it is; ties count half."""
    standard_error: float
    """Its standard error, as if pairs did not share samples."""
    chance: float
    """What a choice of features that knows nothing reaches on average."""


@cites("hanley1982")
def pair_auc(X: Any, pairs: Pairs, sample_ids: Iterable[Hashable] | None = None) -> PairAUC:
    """Measure how well distances between samples tell cannot-links from must-links.

    Over all must-links and cannot-links, the share of combinations in which the two samples of the
    cannot-link are farther apart than those of the must-link, by Euclidean distance in the given
    columns; equal distances count half. 1 is best, 0.5 is chance.

    On the pairs that a selector was fitted on this is too good: hold pairs out (`PairKFold`,
    `pair_auc_curve`). The standard error is that of Hanley & McNeil at a value shrunk towards
    chance, so that it is not 0 for few pairs that are told apart perfectly.

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
    samples, must, cannot = _rows(X, pairs, sample_ids)
    _check_both(must, cannot)
    everything = np.arange(samples.shape[1])
    apart = [squared_distances(samples, links, everything)[:, -1] for links in (must, cannot)]
    return auc_of_distances(apart[0], apart[1])


@dataclass(frozen=True)
class PairCurve:
    """Held-out AUC over numbers of features.

    Attributes
    ----------
    n_features : ndarray of int of shape (n_points,)
        The numbers of features, ascending.
    values : ndarray of shape (n_folds, n_points)
        The AUC of the held-out pairs in each fold, in the best features by the other pairs.
    standard_error : ndarray of shape (n_points,)
        Of the mean over folds; repeats of the folds do not make it smaller.
    all_features : float
        The mean AUC in all features.
    chance : float
        What a choice that knows nothing reaches on average.
    """

    n_features: IntArray
    values: FloatArray
    standard_error: FloatArray
    all_features: float
    chance: float = CHANCE

    @property
    def mean(self) -> FloatArray:
        """The mean over folds, at each number of features."""
        return self.values.mean(axis=0)

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
) -> PairCurve:
    """Judge a selector by pairs that it has not seen, for several numbers of features.

    In every fold of the pairs the selector is fitted on all samples and the other pairs. Then
    `pair_auc` of the held-out pairs is measured in its first k features, for every wanted k.

    Use it to see whether a ranking is better than chance. As a way to choose the number of features
    it does not work: the docs have the numbers.

    Parameters
    ----------
    selector : selector
        With `order_` after fitting; it is cloned. Its `n_features_to_select` is set to the largest
        number of features, if it has that parameter.
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        The samples.
    pairs : Pairs
        Must-links and cannot-links.
    n_features : ascending ints, optional
        The numbers of features. Default: 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100 or as many as
        there are.
    cv : PairKFold, optional
        How pairs are held out. Default: 5 folds with `random_state=0`.
    sample_ids : iterable of hashable, optional
        The id of each row. Default: the index of a pandas X, else row numbers.

    Returns
    -------
    PairCurve
    """
    ids = _ids(X, sample_ids)
    n_all = X.shape[1]
    wanted = numbers_of_features(n_all) if n_features is None else n_features
    counts = check_counts(wanted, n_all)
    folds = list((cv or PairKFold(random_state=0)).split(_present(X, pairs, ids)))
    fitted = clone(selector)
    if "n_features_to_select" in fitted.get_params(deep=False):
        fitted.set_params(n_features_to_select=int(counts[-1]))
    values, errors, every = [], [], []
    for train, test in folds:
        order = fitted.fit(X, pairs=train, sample_ids=ids).order_
        found = _auc_over_counts(X, test, ids, order, counts)
        values.append([one.auc for one in found])
        errors.append([one.standard_error for one in found])
        every.append(pair_auc(X, test, ids).auc)
    # Folds of one repeat hold out different pairs, repeats hold out the same ones again.
    n_independent = len(folds) / (cv or PairKFold()).n_repeats
    spread = np.sqrt(np.mean(np.square(errors), axis=0) / n_independent)
    return PairCurve(counts, np.array(values), spread, float(np.mean(every)))


def pair_scorer(pairs: Pairs) -> Callable[..., float]:
    """Return a scorer for scikit-learn's searches: `pair_auc` after the estimator's `transform`.

    Only pairs with both ends among the rows that are scored count, so the rows need ids: X must
    be a pandas frame whose index holds the ids that the pairs name.

    Parameters
    ----------
    pairs : Pairs
        By the ids of the index.

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

    def score(estimator: Any, X: Any, y: Any = None) -> float:  # noqa: ARG001
        ids = index_of(X)
        if ids is None:
            raise GuidedValueError(
                "Which rows of a fold the pairs mean cannot be told: X has no ids.",
                "Pass a pandas frame whose index holds the ids that the pairs name.",
            )
        return pair_auc(estimator.transform(X), pairs.restrict(ids), ids).auc

    return score


def _ids(X: Any, sample_ids: Iterable[Hashable] | None) -> tuple[Hashable, ...] | None:
    ids = Given.read(X, sample_ids=sample_ids).sample_ids
    return None if ids is None else tuple(ids)


def _present(X: Any, pairs: Pairs, ids: tuple[Hashable, ...] | None) -> Pairs:
    return present_pairs(pairs, X.shape[0], ids)[0]


def _rows(
    X: Any, pairs: Pairs, sample_ids: Iterable[Hashable] | None
) -> tuple[Any, IntArray, IntArray]:
    """Return the samples as an array, and the rows of must-links and of cannot-links."""
    ids = _ids(X, sample_ids)
    held, row_of = present_pairs(pairs, X.shape[0], ids)
    must, cannot = held.rows(row_of)
    samples = X.tocsr() if issparse(X) else np.asarray(X)
    return samples, must, cannot


def _check_both(must: IntArray, cannot: IntArray) -> None:
    for links, kind in ((must, "must-link"), (cannot, "cannot-link")):
        if not len(links):
            raise GuidedValueError(
                f"There is no {kind} among the samples, and the measure compares the two kinds.",
                "Add one.",
            )


def squared_distances(samples: Any, links: IntArray, order: IntArray) -> FloatArray:
    """Return the squared distances of links in the first 1, 2, ... features of an order."""
    if issparse(samples):
        ends = [samples[links[:, end]][:, order].toarray().astype(np.float64) for end in (0, 1)]
    else:
        ends = [row_block(samples[:, order], links[:, end]) for end in (0, 1)]
    return np.cumsum((ends[0] - ends[1]) ** 2, axis=1)


def _auc_over_counts(
    X: Any, test: Pairs, ids: tuple[Hashable, ...] | None, order: IntArray, counts: IntArray
) -> list[PairAUC]:
    samples, must, cannot = _rows(X, test, ids)
    best = np.asarray(order)[: counts[-1]]
    together, apart = (
        squared_distances(samples, must, best),
        squared_distances(samples, cannot, best),
    )
    return [auc_of_distances(together[:, count - 1], apart[:, count - 1]) for count in counts]


def auc_of_distances(together: FloatArray, apart: FloatArray) -> PairAUC:
    """Compare the distances of must-links with those of cannot-links."""
    m, n = len(together), len(apart)
    ranks = rankdata(np.concatenate([together, apart]))
    wins = ranks[m:].sum() - n * (n + 1) / 2
    # One more win and one more loss: no finite number of pairs is certain.
    shrunk = (wins + 1) / (m * n + 2)
    larger, twice = shrunk / (2 - shrunk), 2 * shrunk**2 / (1 + shrunk)
    variance = shrunk * (1 - shrunk)
    variance += (n - 1) * (larger - shrunk**2) + (m - 1) * (twice - shrunk**2)
    return PairAUC(float(wins / (m * n)), float(np.sqrt(variance / (m * n))), CHANCE)
