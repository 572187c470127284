"""Compare selectors on one data set: accuracy, agreement, stability, time, and who led."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils.validation import check_consistent_length

from linkselect.arrays import IntArray
from linkselect.evaluation.checks import check_classes, check_methods, check_numbers
from linkselect.evaluation.curves import numbers_of_features
from linkselect.evaluation.measuring import Measurements, Split, Task, Track, measure
from linkselect.evaluation.result import Comparison
from linkselect.evaluation.significance import rank_correlation, top_overlap
from linkselect.evaluation.statistics import paired_differences, stability_of_best
from linkselect.pairs import Pairs, encode_labels

__all__ = ["compare"]


def compare(
    selectors: Mapping[str, Any],
    X: Any,
    y: ArrayLike,
    *,
    pairs: Pairs | None = None,
    sample_ids: Sequence[Hashable] | None = None,
    n_features: Sequence[int] | None = None,
    top: int | None = None,
    n_splits: int = 20,
    test_size: float = 0.2,
    prepare: Any = None,
    classifier: Any = None,
    random_state: int = 0,
    track: Track = iter,
) -> Comparison:
    """Compare selectors by what classifiers make of the features that they rank first.

    Labelled rows are split at random, classes in proportion, `n_splits` times. In each split
    every selector is fitted on the training rows, a classifier learns from its first k features
    for each k in `n_features`, and its accuracy on the test rows is measured. Unlabelled rows
    are training rows in every split, for selectors that can use them.

    Two methods are compared by their accuracy averaged over `n_features`, paired by split, with
    the corrected resampled t-test (Nadeau & Bengio 2003), which takes into account that splits
    overlap, and Holm's correction over all pairs of methods, a random choice of features
    counting as one.

    Parameters
    ----------
    selectors : dict of str to selector
        The methods by name. Their `n_features_to_select` is set to the largest of `n_features`.
    X : array or sparse matrix of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,)
        Labels; -1, None and NaN mean unlabelled, for every method.
    pairs : Pairs, optional
        For methods that use pairs; those with both ends among the training rows count.
    sample_ids : sequence of hashable, optional
        The id of each row, by which pairs name samples. Default: row numbers.
    n_features : ascending ints, optional
        The numbers of features. Default: `numbers_of_features`.
    top : int, optional
        How many of the best features agreement and stability look at; all if there are fewer.
        Default: 10, or half of all if there are fewer than 20.
    n_splits, test_size : int, float
        How many splits, and the share of test rows.
    prepare : transformer, optional
        Fills missing values or scales; fitted on training rows only.
    classifier : classifier, optional
        Default: the nearest neighbour.
    random_state : int, default=0
        Determines the splits and the random choice.
    track : callable, default=iter
        Wraps the iterable of steps (method, split); a progress bar may count them. Split -1
        stands for all rows.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import FisherScore, VarianceScore, compare
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare({"fisher": FisherScore(), "variance": VarianceScore()}, X, y, n_splits=5)
    >>> found.leader
    'fisher'
    """
    samples = X.tocsr() if issparse(X) else np.asarray(X)
    codes, _ = encode_labels(y)
    check_consistent_length(samples, codes)
    n_all = samples.shape[1]
    counts = np.asarray(numbers_of_features(n_all) if n_features is None else n_features)
    top = min(10, max(1, n_all // 2)) if top is None else top
    check_methods(selectors)
    check_classes(codes, has_minus_one=bool(np.any(np.asarray(y) == -1)))
    check_numbers(counts, n_all, top, n_splits, test_size)
    task = Task(samples, codes, pairs, sample_ids, counts, prepare, classifier)
    sized = {name: _sized(selector, counts[-1]) for name, selector in selectors.items()}
    splits = list(_splits(codes, n_splits, test_size, random_state))
    measured = measure(task, sized, splits, np.random.default_rng(random_state), track)
    return _put_together(task, sized, splits, measured, min(top, n_all), test_size)


def _sized(selector: Any, n_features: int) -> Any:
    return clone(selector).set_params(n_features_to_select=int(n_features))


def _splits(codes: IntArray, n_splits: int, test_size: float, random_state: int) -> Iterator[Split]:
    """Split the labelled rows into training and test rows, classes in proportion."""
    labelled = np.flatnonzero(codes >= 0)
    draw = StratifiedShuffleSplit(n_splits, test_size=test_size, random_state=random_state)
    for train, test in draw.split(labelled, codes[labelled]):
        yield labelled[train], labelled[test]


def _put_together(
    task: Task,
    selectors: Mapping[str, Any],
    splits: Sequence[Split],
    measured: Measurements,
    top: int,
    test_size: float,
) -> Comparison:
    """Derive agreement, stability and differences from what was measured."""
    n_samples, n_features = task.X.shape
    ranks = np.array([np.argsort(order) + 1 for order in measured.orders.values()])
    stability = {
        name: stability_of_best(orders, top) for name, orders in measured.split_orders.items()
    }
    return Comparison(
        methods=tuple(selectors),
        n_samples=n_samples,
        n_features=n_features,
        n_splits=len(splits),
        test_size=test_size,
        classifier="1-NN" if task.classifier is None else type(task.classifier).__name__,
        accuracy=measured.accuracy,
        all_features=measured.all_features,
        top=top,
        spearman=tuple(map(tuple, rank_correlation(ranks).tolist())),
        overlap=tuple(map(tuple, top_overlap(ranks, top).tolist())),
        stability=stability,
        seconds=measured.seconds,
        rankings={name: tuple(order.tolist()) for name, order in measured.orders.items()},
        saw={name: task.supervision_text(selector) for name, selector in selectors.items()},
        differences=paired_differences(measured.accuracy, *map(len, splits[0])),
    )
