"""Compare selectors on one data set: how good they are, how alike, how stable, how fast."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_array
from sklearn.utils.validation import _get_feature_names, check_consistent_length

from linkselect._arrays import IntArray, Matrix
from linkselect._checks import Given, check_spread, refuse_stored, without_mask
from linkselect._messages import GuidedValueError, warn_user
from linkselect._samples import as_samples
from linkselect.evaluation._accuracy import check_counts
from linkselect.evaluation._argument_checks import (
    check_classes,
    check_measurable,
    check_methods,
    check_numbers,
)
from linkselect.evaluation._curves import numbers_of_features
from linkselect.evaluation._inputs import in_order_of_rows, reproducible
from linkselect.evaluation._measuring import Measurements, Split, Task, Track, as_matrix, measure
from linkselect.evaluation._pair_comparison import (
    PairMeasurements,
    PairTask,
    measure_pairs,
)
from linkselect.evaluation._pair_folds import PairKFold
from linkselect.evaluation._result import Comparison
from linkselect.evaluation._significance import rank_correlation, top_overlap
from linkselect.evaluation._statistics import paired_differences, stability_of_best
from linkselect.pairs import Pairs, encode_labels, warn_of_text
from linkselect.selectors._foreign import ranked_with
from linkselect.selectors._method import describe


def compare(
    selectors: Mapping[str, Any],
    X: Any,
    y: ArrayLike | None = None,
    *,
    pairs: Pairs | None = None,
    sample_ids: Sequence[Hashable] | None = None,
    n_features: Sequence[int] | None = None,
    top: int | None = None,
    n_splits: int = 20,
    test_size: float = 0.2,
    cv: PairKFold | None = None,
    prepare: Any = None,
    classifier: Any = None,
    random_state: int = 0,
    track: Track = iter,
) -> Comparison:
    """Compare selectors by accuracy on labels, by held-out pairs, or by both.

    With labels: labelled rows are split at random, classes in proportion, `n_splits` times. In each
    split every selector is fitted on the training rows, a classifier learns from its first k
    features for each k in `n_features`, and its accuracy on the test rows is measured. Unlabelled
    rows are training rows in every split, for selectors that can use them.

    With pairs: the pairs are dealt out into folds so that no sample is on both sides. For each fold
    every selector is fitted on all rows and pairs of other samples, and for each k in `n_features`
    it is counted how often a held-out cannot-link is farther apart than a held-out must-link in its
    first k features (`pair_auc`; 0.5 is chance). Selectors that look at nothing are fitted once. If
    there are labels too, selectors that use them are left out here: labels imply the pairs.

    Two methods are compared by their mean over `n_features`, paired by split or fold, with the
    corrected resampled t-test (Nadeau & Bengio 2003), which takes into account that splits and
    folds overlap, and Holm's correction over all pairs of methods, a random choice of features
    counting as one.

    How much held-out pairs tell: on 29 data sets with 40 pairs, choosing the method by them lost
    4.2 points of accuracy against the best of 8 methods, a method taken at random 8.1, and always
    taking `ConsensusSelector` 2.7 (measured with folds that could share samples). They do not
    choose the number of features: in experiments on ten data sets their best number reached 77.7 %
    accuracy, all features 85.2 %.

    Parameters
    ----------
    selectors : dict of str to selector
        The methods by name. Their `n_features_to_select` is set to the largest of `n_features`.
        Selectors of scikit-learn (`SelectKBest`, `RFE`, `SelectFromModel`) may be among them: they
        keep as many, and those rank before all others, by their scores or coefficients. They see
        the labelled rows only.
    X : array or sparse matrix of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,), optional
        Labels; -1, None and NaN mean unlabelled, for every method.
    pairs : Pairs, optional
        For methods that use pairs, and to be held out; needed if there are no labels. In splits of
        rows, those with both ends among the training rows count.
    sample_ids : sequence of hashable, optional
        The id of each row, by which pairs name samples. Default: the index of a pandas X, else row
        numbers.
    n_features : ascending ints, optional
        The numbers of features. Default: `numbers_of_features`.
    top : int, optional
        How many of the best features agreement and stability look at; all if there are fewer.
        Default: 10, or half of all if there are fewer than 20.
    n_splits, test_size : int, float
        How many splits of labelled rows, and the share of test rows.
    cv : PairKFold, optional
        How pairs are held out. Default: 5 folds, or as many as can be filled, dealt 4 times with
        `random_state`.
    prepare : transformer, optional
        Fills missing values or scales; fitted on training rows only, or on all rows for
        held-out pairs.
    classifier : classifier, optional
        Default: the nearest neighbour.
    random_state : int, default=0
        Determines the splits, the folds, the random choice, and what selectors draw whose own
        `random_state` is None.
    track : callable, default=iter
        Wraps the iterable of steps (method, split); a progress bar may count them. Split -1
        stands for all rows and pairs. With labels and pairs it is called twice: for splits of
        rows, then for folds of pairs.

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

    From pairs alone:

    >>> from linkselect import ConstraintScore, Pairs
    >>> pairs = Pairs.from_labels(y, n_must=20, n_cannot=20, random_state=0)
    >>> methods = {"constraint": ConstraintScore(), "variance": VarianceScore()}
    >>> found = compare(methods, X, pairs=pairs)
    >>> found.held_out_pairs.mean_auc["constraint"] > 0.9
    True
    """
    refuse_stored("compare", X)
    samples = _samples(X, prepare, classifier)
    n_samples, n_all = samples.shape
    top = min(10, max(1, n_all // 2)) if top is None else top
    check_methods(selectors)
    counts = check_counts(numbers_of_features(n_all) if n_features is None else n_features, n_all)
    check_numbers(top, n_splits, test_size)
    check_measurable(selectors, y is not None, pairs, cv)
    given = Given.read(X, y, pairs, sample_ids)
    ids = None if given.sample_ids is None else tuple(given.sample_ids)
    warn_of_text(y)
    codes = np.full(n_samples, -1) if y is None else encode_labels(y)[0]
    check_consistent_length(samples, codes)
    sized = {
        name: ranked_with(reproducible(one, random_state), int(counts[-1]))
        for name, one in selectors.items()
    }
    task = Task(samples, codes, pairs, ids, counts, prepare, classifier)
    folds = _pair_task(task, sized, cv, random_state, given.ids_are_index)
    top, measured, splits = min(top, n_all), None, []
    if y is not None:
        check_classes(codes, y)
        splits = list(_splits(codes, n_splits, test_size, random_state))
        measured = measure(task, sized, splits, np.random.default_rng(random_state), track)
    by_pairs = None
    if folds is not None:
        orders = None if measured is None else measured.orders
        seen = {name: one for name, one in sized.items() if y is None or not _uses_labels(one)}
        random = np.random.default_rng(random_state)
        by_pairs = measure_pairs(folds, seen, top, random, track, orders)
    return _put_together(task, sized, splits, measured, by_pairs, top, test_size)


def _samples(X: Any, prepare: Any, classifier: Any) -> Matrix:
    """Check the samples; return them as an array or in CSR."""
    samples = check_array(
        without_mask(X),
        accept_sparse="csr",
        dtype="numeric",
        ensure_all_finite=prepare is None,
        input_name="X",
    )
    samples = as_samples(samples).values
    if prepare is None and classifier is None:
        # Here, where features still have their names: every method has them in another order.
        check_spread(samples, _get_feature_names(X))
    return samples


def _uses_labels(selector: Any) -> bool:
    return describe(selector).sees not in ("pairs", "nothing")


def _pair_task(
    task: Task,
    selectors: Mapping[str, Any],
    cv: PairKFold | None,
    random_state: int,
    ids_are_index: bool,
) -> PairTask | None:
    """Deal the pairs out into folds; with labels, do without if there are too few of them."""
    has_labels = bool((task.codes >= 0).any())
    if task.pairs is None or (has_labels and all(map(_uses_labels, selectors.values()))):
        return None
    ids, n_samples = task.sample_ids, task.X.shape[0]
    try:
        pairs = task.pairs.restrict(ids or range(n_samples)) if has_labels else task.pairs
        by_row = in_order_of_rows(
            pairs, n_samples, ids, ids_are_index=ids_are_index, selectors=selectors.values()
        )
        X = task.X if task.prepare is None else as_matrix(clone(task.prepare).fit_transform(task.X))
        return PairTask.deal(X, by_row, task.counts, cv, random_state)
    except GuidedValueError as error:
        if not has_labels:
            raise
        warn_user(f"Held-out pairs are not measured. {error.problem}")
        return None


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
    measured: Measurements | None,
    by_pairs: PairMeasurements | None,
    top: int,
    test_size: float,
) -> Comparison:
    """Derive agreement from the rankings, and take the rest from what was measured."""
    rankings = (measured or by_pairs).orders  # type: ignore[union-attr]
    ranks = np.array([np.argsort(order) + 1 for order in rankings.values()])
    n_samples, n_features = task.X.shape
    held_out = None if by_pairs is None else by_pairs.held_out
    return Comparison(
        methods=tuple(selectors),
        n_samples=n_samples,
        n_features=n_features,
        **_by_labels(task, splits, measured, test_size),
        top=top,
        spearman=tuple(map(tuple, rank_correlation(ranks).tolist())),
        overlap=tuple(map(tuple, top_overlap(ranks, top).tolist())),
        stability=_stability(measured, top) or held_out.stability,  # type: ignore[union-attr]
        seconds=(measured or held_out).seconds,  # type: ignore[union-attr]
        rankings={name: tuple(order.tolist()) for name, order in rankings.items()},
        saw={name: task.supervision_text(selector) for name, selector in selectors.items()},
        held_out_pairs=held_out,
    )


def _stability(measured: Measurements | None, top: int) -> dict[str, float]:
    by_method = {} if measured is None else measured.split_orders
    return {name: stability_of_best(orders, top) for name, orders in by_method.items()}


def _by_labels(
    task: Task, splits: Sequence[Split], measured: Measurements | None, test_size: float
) -> dict[str, Any]:
    """Return what labels told; nothing if there are none."""
    if measured is None:
        names = ("n_splits", "test_size", "classifier", "accuracy", "all_features", "differences")
        return dict.fromkeys(names)
    return {
        "n_splits": len(splits),
        "test_size": test_size,
        "classifier": "1-NN" if task.classifier is None else type(task.classifier).__name__,
        "accuracy": measured.accuracy,
        "all_features": measured.all_features,
        "differences": paired_differences(measured.accuracy, *map(len, splits[0])),
    }
