"""Compare selectors on one data set: accuracy, agreement, stability, time, and who led."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.stats import rankdata, t
from sklearn.base import clone
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import get_tags

from linkselect.experiments.curves import Curve
from linkselect.experiments.evaluation import nearest_neighbor_curve
from linkselect.pairs import Pairs, encode_labels
from linkselect.selectors.wrappers import nogueira_index

__all__ = [
    "RANDOM",
    "Comparison",
    "Difference",
    "compare",
    "corrected_t_test",
    "holm",
    "numbers_of_features",
]

# What every method should beat: features in random order.
RANDOM = "random choice"
RANDOM_ORDERS = 5

IntArray = NDArray[np.intp]
Split = tuple[IntArray, IntArray]
Step = tuple[str, int]
Track = Callable[[Iterable[Step]], Iterable[Step]]


@dataclass(frozen=True)
class Difference:
    """The paired difference of two methods' mean accuracy, and whether it can be shown.

    Parameters
    ----------
    better, worse : str
        The methods; `better` has the larger mean.
    mean : float
        By how much, as a share of the test rows.
    p : float
        The two-sided p-value of the corrected resampled t-test.
    p_adjusted : float
        The same after Holm's correction over all pairs of methods.
    """

    better: str
    worse: str
    mean: float
    p: float
    p_adjusted: float


@dataclass(frozen=True)
class Comparison:
    """What was measured of several methods on one data set.

    Parameters
    ----------
    methods : tuple of str
        The names, in the order given.
    n_samples, n_features : int
        The size of the data.
    n_splits : int
        How many random splits into training and test rows.
    test_size : float
        The share of labelled rows that were test rows.
    classifier : str
        What measured accuracy.
    accuracy : dict of str to Curve
        Test accuracy over the number of features, one row for each split; of every method, and
        of features in random order under the name `RANDOM`.
    all_features : tuple of float
        Test accuracy with all features, in each split.
    top : int
        How many of the best features `overlap` and `stability` look at.
    spearman, overlap : tuple of tuples of float
        For each two methods, fitted on all rows: the rank correlation of their rankings, and the
        share of the `top` features that they have in common.
    stability : dict of str to float
        How alike the `top` features of each method were over the splits (Nogueira's index):
        1 for always the same, about 0 for chance. NaN where `top` is all features.
    seconds : dict of str to float
        The time to fit on all rows.
    rankings : dict of str to tuple of int
        The features, best first, of each method fitted on all rows.
    differences : tuple of Difference
        Every two methods, and each method and a random choice: largest difference first.
    level : float
        Below which adjusted p-value a difference counts as shown.
    """

    methods: tuple[str, ...]
    n_samples: int
    n_features: int
    n_splits: int
    test_size: float
    classifier: str
    accuracy: Mapping[str, Curve]
    all_features: tuple[float, ...]
    top: int
    spearman: tuple[tuple[float, ...], ...]
    overlap: tuple[tuple[float, ...], ...]
    stability: Mapping[str, float]
    seconds: Mapping[str, float]
    rankings: Mapping[str, tuple[int, ...]]
    differences: tuple[Difference, ...]
    level: float = 0.05

    @property
    def mean_accuracy(self) -> dict[str, float]:
        """The mean accuracy of each method over splits and numbers of features, best first."""
        means = {name: float(self.accuracy[name].values.mean()) for name in self.methods}
        return dict(sorted(means.items(), key=lambda item: -item[1]))

    @property
    def leader(self) -> str:
        """The method with the largest mean accuracy, whether or not its lead can be shown."""
        return next(iter(self.mean_accuracy))

    def difference(self, one: str, other: str) -> Difference:
        """Return the difference of two methods."""
        return next(d for d in self.differences if {d.better, d.worse} == {one, other})

    @property
    def summary(self) -> tuple[str, ...]:
        """Plain sentences: who led and by how much, against whom that can be shown."""
        return tuple(_summarize(self))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data that JSON can hold."""
        curves = {
            name: {
                "n_features": curve.n_features.tolist(),
                "mean": curve.mean.tolist(),
                "spread": curve.spread.tolist(),
                "values": curve.values.tolist(),
            }
            for name, curve in self.accuracy.items()
        }
        return {
            "summary": list(self.summary),
            "methods": list(self.methods),
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "n_splits": self.n_splits,
            "test_size": self.test_size,
            "classifier": self.classifier,
            "mean_accuracy": self.mean_accuracy,
            "all_features": float(np.mean(self.all_features)),
            "differences": [vars(difference) for difference in self.differences],
            "accuracy": curves,
            "top": self.top,
            "spearman": [list(row) for row in self.spearman],
            "overlap": [list(row) for row in self.overlap],
            "stability": dict(self.stability),
            "seconds": dict(self.seconds),
            "rankings": {name: list(order) for name, order in self.rankings.items()},
        }


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
    the corrected resampled t-test (Nadeau & Bengio 2003), which heeds that splits overlap, and
    Holm's correction over all pairs of methods.

    Parameters
    ----------
    selectors : dict of str to selector
        The methods by name. Their `n_features_to_select` is set to the largest of `n_features`.
    X : array or sparse matrix of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,)
        Labels; -1, None and NaN mean unlabelled.
    pairs : Pairs, optional
        For methods that use pairs; those with both ends among the training rows count.
    sample_ids : sequence of hashable, optional
        What pairs call the rows. Default: row numbers.
    n_features : ascending ints, optional
        The numbers of features. Default: `numbers_of_features`.
    top : int, optional
        How many of the best features agreement and stability look at. Default: 10, or half of
        all if there are fewer than 20.
    n_splits, test_size : int, float
        How many splits, and the share of test rows.
    prepare : transformer, optional
        Fills or scales; fitted on training rows only.
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
    >>> from linkselect import FisherScore, VarianceScore
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare({"fisher": FisherScore(), "variance": VarianceScore()}, X, y, n_splits=5)
    >>> found.leader
    'fisher'
    """
    codes, _ = encode_labels(y)
    rows_first = X.tocsr() if issparse(X) else np.asarray(X)
    counts = np.asarray(n_features or numbers_of_features(X.shape[1]), dtype=np.intp)
    _check(selectors, codes, counts, X.shape[1], n_splits)
    top = top or min(10, max(1, X.shape[1] // 2))
    task = _Task(rows_first, codes, pairs, sample_ids, counts, prepare, classifier)
    sized = {name: _sized(selector, counts[-1]) for name, selector in selectors.items()}
    splits = list(_splits(codes, n_splits, test_size, random_state))
    measured = _measure(task, sized, splits, np.random.default_rng(random_state), track)
    masks = {
        name: np.array([np.isin(np.arange(X.shape[1]), order[:top]) for order in orders])
        for name, orders in measured.orders.items()
    }
    return Comparison(
        methods=tuple(selectors),
        n_samples=X.shape[0],
        n_features=X.shape[1],
        n_splits=n_splits,
        test_size=test_size,
        classifier="1-NN" if classifier is None else type(classifier).__name__,
        accuracy=measured.accuracy,
        all_features=measured.all_features,
        top=top,
        spearman=_agreement(measured.whole, _spearman),
        overlap=_agreement(measured.whole, partial(_overlap, top=top)),
        stability={name: nogueira_index(selected) for name, selected in masks.items()},
        seconds=measured.seconds,
        rankings={name: tuple(order.tolist()) for name, order in measured.whole.items()},
        differences=_differences(measured.accuracy, test_size / (1 - test_size)),
    )


def numbers_of_features(n_all: int, most: int = 100) -> tuple[int, ...]:
    """Return numbers of features to measure at: 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100.

    Examples
    --------
    >>> numbers_of_features(12)
    (1, 2, 3, 5, 7, 10, 12)
    """
    last = min(n_all, most)
    steps = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)
    return (*(step for step in steps if step < last), last)


@dataclass(frozen=True)
class _Measured:
    """Orders and times on all rows, and orders and accuracies in each split."""

    whole: dict[str, IntArray]
    seconds: dict[str, float]
    orders: dict[str, list[IntArray]]
    accuracy: dict[str, Curve]
    all_features: tuple[float, ...]


def _measure(
    task: _Task,
    selectors: Mapping[str, Any],
    splits: Sequence[Split],
    rng: np.random.Generator,
    track: Track,
) -> _Measured:
    """Rank with every selector on all rows and in every split."""
    everything = np.arange(len(task.codes))
    ranked: dict[str, tuple[IntArray, float]] = {}
    orders: dict[str, list[IntArray]] = {name: [] for name in selectors}
    for name, split in track([(name, i) for i in range(-1, len(splits)) for name in selectors]):
        if split < 0:
            ranked[name] = task.rank(selectors[name], everything)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said already of all rows
            orders[name].append(task.rank(selectors[name], splits[split][0])[0])
    accuracy = {
        name: Curve(task.counts, np.array(list(map(task.curve, splits, found))))
        for name, found in orders.items()
    }
    accuracy[RANDOM] = Curve(task.counts, np.array([task.by_chance(one, rng) for one in splits]))
    return _Measured(
        {name: order for name, (order, _) in ranked.items()},
        {name: seconds for name, (_, seconds) in ranked.items()},
        orders,
        accuracy,
        tuple(map(task.with_all_features, splits)),
    )


@dataclass(frozen=True)
class _Task:
    """The data, and how a ranking of training rows is measured on test rows."""

    X: Any
    codes: IntArray
    pairs: Pairs | None
    sample_ids: Sequence[Hashable] | None
    counts: IntArray
    prepare: Any
    classifier: Any

    def rank(self, selector: Any, train: IntArray) -> tuple[IntArray, float]:
        """Fit a selector on training rows and those without a label; return order and time."""
        rows = np.union1d(train, np.flatnonzero(self.codes < 0))
        if get_tags(selector).target_tags.required:
            rows = rows[self.codes[rows] >= 0]
        values = self.X[rows]
        if self.prepare is not None:
            values = clone(self.prepare).fit_transform(values)
        given: dict[str, Any] = {}
        if self.pairs is not None:
            numbers = rows.tolist()
            ids = numbers if self.sample_ids is None else [self.sample_ids[i] for i in numbers]
            given = {"pairs": self.pairs.restrict(ids), "sample_ids": ids}
        start = time.perf_counter()
        selector.fit(values, self.codes[rows], **given)
        return selector.order_, time.perf_counter() - start

    def curve(self, split: Split, order: IntArray) -> NDArray[np.float64]:
        """Measure accuracy with the first features of an order, for each wanted number."""
        a, b = self._prepared(split, order[: self.counts[-1]])
        if self.classifier is None and not issparse(a):
            train, test = (self.codes[rows] for rows in split)
            places = np.arange(a.shape[1])
            return nearest_neighbor_curve(a, train, b, test, places, self.counts)
        return np.array([self._accuracy(a[:, :k], b[:, :k], split) for k in self.counts])

    def by_chance(self, split: Split, rng: np.random.Generator) -> NDArray[np.float64]:
        """Measure accuracy with features in random order, the mean of several orders."""
        orders = [rng.permutation(self.X.shape[1]) for _ in range(RANDOM_ORDERS)]
        return np.mean([self.curve(split, order) for order in orders], axis=0)

    def with_all_features(self, split: Split) -> float:
        """Measure accuracy with all features."""
        return self._accuracy(*self._prepared(split, np.arange(self.X.shape[1])), split)

    def _prepared(self, split: Split, features: IntArray) -> tuple[Any, Any]:
        a, b = (self.X[rows][:, features] for rows in split)
        if self.prepare is None:
            return a, b
        prepare = clone(self.prepare).fit(a)
        return prepare.transform(a), prepare.transform(b)

    def _accuracy(self, a: Any, b: Any, split: Split) -> float:
        from sklearn.neighbors import KNeighborsClassifier

        train, test = (self.codes[rows] for rows in split)
        model = KNeighborsClassifier(1) if self.classifier is None else clone(self.classifier)
        return float(model.fit(a, train).score(b, test))


def _check(
    selectors: Mapping[str, Any],
    codes: IntArray,
    counts: IntArray,
    n_all: int,
    n_splits: int,
) -> None:
    if not selectors:
        raise ValueError("There is no method to compare. Name one or more.")
    sizes = np.bincount(codes[codes >= 0])
    if len(sizes) < 2 or sizes.min() < 2:
        raise ValueError(
            f"y has {len(sizes)} classes, the smallest with {sizes.min() if len(sizes) else 0} "
            "samples; a comparison needs two classes or more, each with two samples or more."
        )
    if counts[0] < 1 or counts[-1] > n_all or (np.diff(counts) < 1).any():
        raise ValueError(
            f"n_features={counts.tolist()}, but numbers of features ascend from 1 to {n_all}."
        )
    if n_splits < 2:
        raise ValueError(f"n_splits={n_splits}, but a test needs two splits or more.")


def _sized(selector: Any, n_features: int) -> Any:
    return clone(selector).set_params(n_features_to_select=int(n_features))


def _splits(
    codes: IntArray, n_splits: int, test_size: float, random_state: int
) -> Iterator[tuple[IntArray, IntArray]]:
    labelled = np.flatnonzero(codes >= 0)
    draw = StratifiedShuffleSplit(n_splits, test_size=test_size, random_state=random_state)
    for train, test in draw.split(labelled, codes[labelled]):
        yield labelled[train], labelled[test]


def _agreement(
    orders: Mapping[str, IntArray], measure: Callable[[Any, Any], float]
) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(measure(a, b)) for b in orders.values()) for a in orders.values())


def _overlap(one: IntArray, other: IntArray, top: int) -> float:
    return len(np.intersect1d(one[:top], other[:top])) / top


def _spearman(one: IntArray, other: IntArray) -> float:
    """Correlate the ranks that two orders give; 1 for the same order, also of one feature."""
    if len(one) < 2:
        return 1.0
    return float(np.corrcoef(rankdata(np.argsort(one)), rankdata(np.argsort(other)))[0, 1])


# -- tests and words -------------------------------------------------------------------------


def corrected_t_test(differences: ArrayLike, test_to_train: float) -> float:
    """Test whether paired differences over random splits have mean zero; two-sided.

    Splits share rows, so their differences are not independent and the plain t-test finds
    differences where there are none. The variance is enlarged by `n_test / n_train` (Nadeau &
    Bengio 2003).

    Parameters
    ----------
    differences : array-like of shape (n_splits,)
        One for each split.
    test_to_train : float
        The number of test rows over that of training rows.

    Returns
    -------
    float
        The p-value; 1 if all differences are zero.

    Examples
    --------
    >>> round(corrected_t_test([0.02, 0.03, 0.01, 0.02, 0.03], 0.25), 3)
    0.017
    """
    values = np.asarray(differences, dtype=np.float64)
    n_splits = len(values)
    variance = values.var(ddof=1)
    if variance <= (1e-12 * np.abs(values).max()) ** 2:
        return 1.0 if values.mean() == 0 else 0.0
    statistic = values.mean() / np.sqrt((1 / n_splits + test_to_train) * variance)
    return float(2 * t.sf(abs(statistic), n_splits - 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values of several tests so that the chance of any false finding stays bounded.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)
    factors = len(p_values) - np.arange(len(p_values))
    adjusted = np.minimum(np.maximum.accumulate(np.asarray(p_values)[order] * factors), 1.0)
    result = np.empty(len(p_values))
    result[order] = adjusted
    return [float(p) for p in result]


def _differences(curves: Mapping[str, Curve], test_to_train: float) -> tuple[Difference, ...]:
    means = {name: curve.values.mean(axis=1) for name, curve in curves.items()}
    found = []
    for one, other in combinations(means, 2):
        gap = means[one] - means[other]
        better, worse = (one, other) if gap.mean() >= 0 else (other, one)
        found.append((better, worse, abs(float(gap.mean())), corrected_t_test(gap, test_to_train)))
    adjusted = holm([p for *_, p in found])
    differences = [Difference(*one, p) for one, p in zip(found, adjusted, strict=True)]
    return tuple(sorted(differences, key=lambda difference: -difference.mean))


def _summarize(found: Comparison) -> Iterator[str]:
    means = found.mean_accuracy
    first, *others = means
    counts = found.accuracy[first].n_features
    yield (
        f"{found.classifier} with {counts[0]} to {counts[-1]} features, {found.n_splits} random "
        f"splits: {first} had the largest mean accuracy, {_percent(means[first])}."
    )
    shown = [name for name in others if found.difference(first, name).p_adjusted < found.level]
    unclear = [name for name in others if name not in shown]
    if others and not shown:
        yield (
            f"No difference between it and the others can be shown: {_gaps(found, first, others)}."
        )
    elif others:
        yield f"It was better than {_gaps(found, first, shown)}."
        if unclear:
            yield f"No difference can be shown to {_gaps(found, first, unclear)}."
    yield _against_chance(found)
    every = float(np.mean(found.all_features))
    best = found.accuracy[first].mean
    yield (
        f"With all {found.n_features} features accuracy is {_percent(every)}; {first} reaches "
        f"{_percent(best.max())} at best, with {counts[int(best.argmax())]}."
    )


def _gaps(found: Comparison, first: str, others: Sequence[str]) -> str:
    gaps = (found.difference(first, name) for name in others)
    return ", ".join(
        f"{name} ({100 * gap.mean:.1f} points, p = {gap.p_adjusted:.2g})"
        for name, gap in zip(others, gaps, strict=True)
    )


def _against_chance(found: Comparison) -> str:
    gaps = {name: found.difference(name, RANDOM) for name in found.methods}
    beaten = [n for n, gap in gaps.items() if gap.better == n and gap.p_adjusted < found.level]
    rest = [name for name in found.methods if name not in beaten]
    chance = _percent(float(found.accuracy[RANDOM].values.mean()))
    if not rest:
        return f"Every method beat a {RANDOM} of features ({chance})."
    if not beaten:
        return f"No method can be shown to beat a {RANDOM} of features ({chance})."
    return f"Not shown to beat a {RANDOM} of features ({chance}): {', '.join(rest)}."


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
