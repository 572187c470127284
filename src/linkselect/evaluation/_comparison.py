"""Compare selectors on one data set: accuracy, agreement, stability and run time."""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length

from linkselect._arrays import IntArray, Matrix
from linkselect._batches import row_codes
from linkselect._messages import GuidedValueError, warn_user
from linkselect._samples.checks import Given
from linkselect.evaluation import _inputs as inputs
from linkselect.evaluation import _significance as significance
from linkselect.evaluation._curves import check_counts, numbers_of_features
from linkselect.evaluation._label_splits import Split, split_rows
from linkselect.evaluation._measuring import LabelRuns, Measurements, measure_runs
from linkselect.evaluation._pair_auc import PairRuns
from linkselect.evaluation._pair_folds import PairKFold, check_whole
from linkselect.evaluation._result import Comparison, HeldOutPairs
from linkselect.pairs import Pairs
from linkselect.pairs._labels import encode_labels, warn_of_text
from linkselect.selectors._foreign import ranked_with
from linkselect.selectors._method import describe

# Defaults for folds of pairs: 5 x 4 fits, like the 20 splits of labelled samples.
FOLDS, REPEATS = 5, 4


def compare(
    selectors: Mapping[str, Any],
    X: Any,
    y: ArrayLike | None = None,
    *,
    pairs: Pairs | None = None,
    sample_ids: Sequence[Hashable] | None = None,
    groups: ArrayLike | None = None,
    n_features: Sequence[int] | None = None,
    top: int | None = None,
    n_splits: int = 20,
    test_size: float = 0.2,
    cv: PairKFold | None = None,
    prepare: Any = None,
    classifier: Any = None,
    together: bool = False,
    random_state: int = 0,
    track: inputs.Track = iter,
) -> Comparison:
    """Compare selectors by classification accuracy, by the AUC of held-out pairs, or by both.

    With labels, the labelled samples are split at random `n_splits` times, stratified by class. In
    each split, every selector is fitted to the training samples. For each k in `n_features`, a
    classifier is trained on the first k features, and its accuracy on the test samples is measured.
    Unlabelled samples belong to the training set of every split and are used by selectors that
    support them.

    With groups, each split draws test groups at random from the groups of each class, as
    `GroupShuffleSplit` does, so that every class is represented in both the training and the test
    samples. Each group is assigned to its most frequent class. `StratifiedGroupKFold` is not used:
    if groups differ in size, its repeats produce nearly the same folds, but the significance test
    assumes random splits. Samples of a test group, labelled or not, are never used for training,
    and neither are pairs that contain them. A pair is held out together with all other pairs that
    involve its groups.

    With pairs, the pairs are split into folds such that training and held-out pairs share no
    sample. For each fold, every selector is fitted to all samples and the training pairs. For each
    k in `n_features`, the AUC of the held-out pairs is computed from the first k features. This
    is the probability that two cannot-linked samples are farther apart than two must-linked samples
    (see `pair_auc`); 0.5 corresponds to chance. Unsupervised selectors are fitted only once. If
    labels are also passed, selectors that use labels are not evaluated on held-out pairs, because
    the labels imply the pairs.

    Two methods are compared by their means over `n_features`, paired by split or fold. The test is
    the corrected resampled t-test (Nadeau & Bengio 2003), which accounts for the overlap between
    splits or folds. P-values are adjusted by Holm's method over all pairs of methods, where
    features in random order count as a method.

    Interpret results on held-out pairs with care: the method with the highest AUC tends to be more
    accurate than a randomly chosen one, but it is often not the most accurate. Held-out pairs
    cannot determine the number of features: in experiments on ten data sets, the number with the
    highest AUC gave an accuracy of 77.7 %, compared with 85.2 % for all features.

    Parameters
    ----------
    selectors : dict of str to selector
        The methods by name. The `n_features_to_select` of each selector is set to the largest value
        in `n_features`. Selectors of scikit-learn (`SelectKBest`, `RFE`, `SelectFromModel`) are
        supported. They select the same number of features; the selected features are ranked by
        score or coefficient and placed before all others. These selectors are fitted to labelled
        samples only.
    X : array or sparse matrix of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,), optional
        The labels. For every method, the values -1, None and NaN mark unlabelled samples.
    pairs : Pairs, optional
        Must-links and cannot-links. Some are used to fit, the others are held out. Pairs
        are required if there are no labels. If samples are split, only pairs between training
        samples are used.
    sample_ids : sequence of hashable, optional
        The ID of each sample, as used in `pairs`. Default: the index of X if it is a pandas object,
        otherwise row numbers.
    groups : array-like of shape (n_samples,), optional
        The group of each sample, such as the patient. Groups are never split.
    n_features : sequence of int, optional
        The numbers of features to evaluate, in ascending order. Default: `numbers_of_features`.
    top : int, optional
        The number of top features used to compute agreement and stability, at most the number of
        all features. Default: 10, or half of the features if there are fewer than 20.
    n_splits : int, default=20
        The number of random splits of the labelled samples.
    test_size : float, default=0.2
        The fraction of the samples, or of the groups, that are used for testing.
    cv : PairKFold, optional
        The splitter that holds out pairs. Default: 5 folds, or fewer if there are too few pairs,
        repeated 4 times with `random_state`.
    prepare : transformer, optional
        A transformer, for example one that imputes missing values or scales features. It is fitted
        to the training samples only; in the evaluation on held-out pairs, it is fitted to all
        samples.
    classifier : classifier, optional
        The classifier whose accuracy is measured. Default: the nearest-neighbour classifier (1-NN).
    together : bool, default=False
        Whether methods that use pairs also receive the labels of the training samples, as in
        `pairs | Pairs.from_labels(y)`. The evaluation on held-out pairs never uses labels.
    random_state : int, default=0
        Seed for the splits, the folds and the random orders of features, and for selectors whose
        own `random_state` is None.
    track : callable, default=iter
        A function that wraps the iterable of steps (method, split), for example in a progress bar.
        Split -1 denotes the fit to all samples and pairs. With labels and pairs, the function is
        called twice: first for splits of samples, then for folds of pairs.

    Returns
    -------
    Comparison
        The measurements, the tests and a summary in sentences.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkselect import FisherScore, VarianceScore, compare
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare({"fisher": FisherScore(), "variance": VarianceScore()}, X, y, n_splits=5)
    >>> found.leader
    'fisher'

    Without labels:

    >>> from linkselect import ConstraintScore, Pairs
    >>> pairs = Pairs.from_labels(y, n_must=20, n_cannot=20, random_state=0)
    >>> methods = {"constraint": ConstraintScore(), "variance": VarianceScore()}
    >>> found = compare(methods, X, pairs=pairs)
    >>> found.held_out_pairs.mean_auc["constraint"] > 0.9
    True
    """
    # Error messages can name the features only here, before each method reorders them.
    plain = prepare is None and classifier is None
    samples = inputs.check_matrix(X, "compare", finite=prepare is None, spread=plain)
    n_samples, n_all = samples.shape
    top = min(10, max(1, n_all // 2)) if top is None else top
    inputs.check_comparison(selectors, y is not None, pairs, cv)
    _check_numbers(top, n_splits, test_size)
    counts = check_counts(numbers_of_features(n_all) if n_features is None else n_features, n_all)
    given = Given.read(X, y, pairs, sample_ids)
    ids = None if given.sample_ids is None else tuple(given.sample_ids)
    given = Given(y, pairs, ids, given.ids_are_index)
    codes, names = _classes(y, samples)
    group = None if groups is None else row_codes(groups, n_samples, "groups")
    sized = {
        name: ranked_with(inputs.reproducible(one, random_state), int(counts[-1]))
        for name, one in selectors.items()
    }
    splits: list[Split] = []
    if names is not None:
        splits = list(split_rows(codes, n_splits, test_size, random_state, group, names))
    named = ids or tuple(range(n_samples))
    task = LabelRuns(
        samples, counts, splits, codes, pairs, named, prepare, classifier, group, together
    )
    folds = _pair_runs(task, given, sized, cv, random_state)
    by_labels = None if y is None else _measure(task, sized, None, random_state, track)
    by_pairs = None if folds is None else _measure(folds, sized, by_labels, random_state, track)
    held_out = None if folds is None or by_pairs is None else _held_out(folds, by_pairs, top)
    return _put_together(task, sized, by_labels, by_pairs, held_out, min(top, n_all), test_size)


def _check_numbers(top: int, n_splits: int, test_size: float) -> None:
    check_whole("top", top, 1)
    check_whole("n_splits", n_splits, 2)
    if not 0 < test_size < 1:
        raise GuidedValueError(f"test_size={test_size}, but it must be a fraction between 0 and 1.")


def _measure(
    task: LabelRuns | PairRuns,
    selectors: Mapping[str, Any],
    by_labels: Measurements | None,
    seed: int,
    track: inputs.Track,
) -> Measurements:
    """Evaluate the selectors on splits or folds; on folds of pairs, skip selectors using labels."""
    known = None if by_labels is None else by_labels.orders
    seen = {name: one for name, one in selectors.items() if known is None or not _uses_labels(one)}
    return measure_runs(task, seen, np.random.default_rng(seed), track, known)


def _classes(y: Any, samples: Matrix) -> tuple[IntArray, NDArray[Any] | None]:
    """Return the class code of each sample and, if there are labels, the label of each class."""
    if y is None:
        return np.full(samples.shape[0], -1), None
    warn_of_text(y)
    codes, names = encode_labels(y)
    check_consistent_length(samples, codes)
    inputs.check_classes(codes, y)
    return codes, names


def _uses_labels(selector: Any) -> bool:
    return describe(selector).sees not in ("pairs", "nothing")


def _pair_runs(
    task: LabelRuns,
    given: Given,
    selectors: Mapping[str, Any],
    cv: PairKFold | None,
    random_state: int,
) -> PairRuns | None:
    """Split the pairs into folds; with labels, warn and return None if there are too few pairs."""
    has_labels = bool((task.codes >= 0).any())
    if task.pairs is None or (has_labels and all(map(_uses_labels, selectors.values()))):
        return None
    n_samples = task.X.shape[0]
    try:
        pairs = task.pairs
        if has_labels:
            pairs = pairs.restrict(task.sample_ids)
        by_row = inputs.in_order_of_rows(pairs, n_samples, given, selectors.values())
        X = task.X
        if task.prepare is not None:
            X = inputs.as_matrix(clone(task.prepare).fit_transform(X))
        with warnings.catch_warnings():
            if cv is None:  # the result reports the number of folds
                warnings.simplefilter("ignore")
                cv = PairKFold(FOLDS, n_repeats=REPEATS, random_state=random_state)
            return PairRuns.deal(X, task.counts, by_row, cv, task.groups)
    except GuidedValueError as error:
        if not has_labels:
            raise
        warn_user(f"Held-out pairs are not evaluated. {error.problem}")
        return None


def _stability(measured: Measurements, top: int) -> dict[str, float]:
    runs = measured.run_orders.items()
    return {name: significance.stability_of_best(orders, top) for name, orders in runs}


def _held_out(folds: PairRuns, measured: Measurements, top: int) -> HeldOutPairs:
    return HeldOutPairs(
        "AUC",
        tuple(measured.run_orders),
        measured.curves,
        measured.all_features,
        significance.paired_differences(measured.curves, *folds.sizes, folds.n_folds),
        n_must=folds.pairs.n_must,
        n_cannot=folds.pairs.n_cannot,
        n_folds=folds.n_folds,
        n_repeats=folds.n_repeats,
        standard_error=dict.fromkeys(measured.curves, folds.standard_error),
        stability=_stability(measured, top),
        seconds=measured.seconds,
    )


def _put_together(
    task: LabelRuns,
    selectors: Mapping[str, Any],
    by_labels: Measurements | None,
    by_pairs: Measurements | None,
    held_out: HeldOutPairs | None,
    top: int,
    test_size: float,
) -> Comparison:
    """Assemble the result: compute agreement from the rankings, and add the measurements."""
    measured = by_labels or by_pairs
    assert measured is not None  # there are labels or pairs
    ranks = np.array([np.argsort(order) + 1 for order in measured.orders.values()])
    n_samples, n_features = task.X.shape
    found = Comparison(
        methods=tuple(selectors),
        n_samples=n_samples,
        n_features=n_features,
        top=top,
        spearman=tuple(map(tuple, significance.rank_correlation(ranks).tolist())),
        overlap=tuple(map(tuple, significance.top_overlap(ranks, top).tolist())),
        stability=_stability(measured, top),
        seconds=measured.seconds,
        rankings={name: tuple(order.tolist()) for name, order in measured.orders.items()},
        saw={name: task.supervision_text(selector) for name, selector in selectors.items()},
        held_out_pairs=held_out,
    )
    if by_labels is None:
        return found
    return replace(
        found,
        n_splits=len(task.runs),
        test_size=test_size,
        classifier="1-NN" if task.classifier is None else type(task.classifier).__name__,
        accuracy=by_labels.curves,
        all_features=by_labels.all_features,
        differences=significance.paired_differences(by_labels.curves, *task.sizes),
    )
