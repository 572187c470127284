"""Compare selectors on one data set: accuracy, agreement, stability, time, and who led."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import get_tags
from sklearn.utils.validation import check_consistent_length

from linkselect.arrays import FloatArray, IntArray
from linkselect.evaluation.accuracy import nearest_neighbor_curve
from linkselect.evaluation.curves import Curve
from linkselect.evaluation.significance import (
    corrected_t_test,
    holm,
    p_text,
    rank_correlation,
    top_overlap,
)
from linkselect.messages import many
from linkselect.pairs import Pairs, encode_labels
from linkselect.selectors.selector import LabelSelector, PairSelector, RankingSelector
from linkselect.selectors.stability import nogueira_index

__all__ = [
    "RANDOM",
    "Comparison",
    "Difference",
    "compare",
    "numbers_of_features",
    "supervision_of",
]

# What every method should beat: features in random order.
RANDOM = "random choice"
RANDOM_ORDERS = 5

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
        The same after Holm's correction over all pairs of methods, a random choice counting as
        one of them.
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
        The time to fit on the training rows of a split, the median over splits.
    rankings : dict of str to tuple of int
        The features, best first, of each method fitted on all rows.
    saw : dict of str to str
        What each method was told, fitted on all rows: labels, pairs or neither, and how many.
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
    saw: Mapping[str, str]
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
            "saw": dict(self.saw),
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
    Holm's correction over all pairs of methods, a random choice of features counting as one.

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
        What pairs call the rows. Default: row numbers.
    n_features : ascending ints, optional
        The numbers of features. Default: `numbers_of_features`.
    top : int, optional
        How many of the best features agreement and stability look at; all if there are fewer.
        Default: 10, or half of all if there are fewer than 20.
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
    samples = X.tocsr() if issparse(X) else np.asarray(X)
    codes, _ = encode_labels(y)
    check_consistent_length(samples, codes)
    n_all = samples.shape[1]
    counts = np.asarray(numbers_of_features(n_all) if n_features is None else n_features)
    top = min(10, max(1, n_all // 2)) if top is None else top
    _check_methods(selectors)
    _check_classes(codes, has_minus_one=bool(np.any(np.asarray(y) == -1)))
    _check_numbers(counts, n_all, top, n_splits, test_size)
    task = _Task(samples, codes, pairs, sample_ids, counts, prepare, classifier)
    sized = {name: _sized(selector, counts[-1]) for name, selector in selectors.items()}
    splits = list(_splits(codes, n_splits, test_size, random_state))
    measured = _measure(task, sized, splits, np.random.default_rng(random_state), track)
    return _put_together(task, sized, splits, measured, min(top, n_all), test_size)


def _put_together(
    task: _Task,
    selectors: Mapping[str, Any],
    splits: Sequence[Split],
    measured: _Measured,
    top: int,
    test_size: float,
) -> Comparison:
    """Derive agreement, stability and differences from what was measured."""
    n_samples, n_features = task.X.shape
    ranks = np.array([np.argsort(order) + 1 for order in measured.whole.values()])
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
        stability={name: _stability(found, top) for name, found in measured.orders.items()},
        seconds=measured.seconds,
        rankings={name: tuple(order.tolist()) for name, order in measured.whole.items()},
        saw={name: task.told(selector) for name, selector in selectors.items()},
        differences=_differences(measured.accuracy, len(splits[0][0]), len(splits[0][1])),
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
    """Orders on all rows; orders and accuracies in each split, and the usual time of one."""

    whole: dict[str, IntArray]
    orders: dict[str, list[IntArray]]
    seconds: dict[str, float]
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
    whole: dict[str, IntArray] = {}
    found: dict[str, list[tuple[IntArray, float]]] = {name: [] for name in selectors}
    for name, split in track([(name, i) for i in range(-1, len(splits)) for name in selectors]):
        if split < 0:
            # Not timed: the first fit of all also loads and compiles what the others then have.
            whole[name] = task.rank(selectors[name], everything)[0]
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said already of all rows
            found[name].append(task.rank(selectors[name], splits[split][0]))
    orders = {name: [order for order, _ in fits] for name, fits in found.items()}
    seconds = {name: float(np.median([spent for _, spent in fits])) for name, fits in found.items()}
    accuracy = {
        name: Curve(task.counts, np.array(list(map(task.curve, splits, ordered))))
        for name, ordered in orders.items()
    }
    accuracy[RANDOM] = Curve(task.counts, np.array([task.by_chance(one, rng) for one in splits]))
    every = tuple(map(task.with_all_features, splits))
    return _Measured(whole, orders, seconds, accuracy, every)


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
        if self.pairs is not None and supervision_of(selector, pairs_given=True) == "pairs":
            ids = self._ids(rows)
            given = {"pairs": self.pairs.restrict(ids), "sample_ids": ids}
        start = time.perf_counter()
        selector.fit(values, self.codes[rows], **given)
        return selector.order_, time.perf_counter() - start

    def told(self, selector: Any) -> str:
        """Say what of labels and pairs a selector looks at, when fitted on all rows."""
        kind = supervision_of(selector, self.pairs is not None)
        if kind == "labels":
            return f"the labels of {many(int((self.codes >= 0).sum()), 'sample')}"
        if kind == "pairs" and self.pairs is not None:
            held = self.pairs.restrict(self._ids(np.arange(len(self.codes))))
            return many(held.n_must + held.n_cannot, "pair")
        return "neither labels nor pairs"

    def _ids(self, rows: IntArray) -> list[Hashable]:
        numbers = rows.tolist()
        return numbers if self.sample_ids is None else [self.sample_ids[row] for row in numbers]

    def curve(self, split: Split, order: IntArray) -> FloatArray:
        """Measure accuracy with the first features of an order, for each wanted number."""
        return self._accuracies(split, order[: self.counts[-1]], self.counts)

    def by_chance(self, split: Split, rng: np.random.Generator) -> FloatArray:
        """Measure accuracy with features in random order, the mean of several orders."""
        orders = [rng.permutation(self.X.shape[1]) for _ in range(RANDOM_ORDERS)]
        return np.mean([self.curve(split, order) for order in orders], axis=0)

    def with_all_features(self, split: Split) -> float:
        """Measure accuracy with all features."""
        n_all = self.X.shape[1]
        return float(self._accuracies(split, np.arange(n_all), np.array([n_all]))[0])

    def _accuracies(self, split: Split, features: IntArray, counts: IntArray) -> FloatArray:
        a, b = self._prepared(split, features)
        if self.classifier is None and not issparse(a):
            train, test = (self.codes[rows] for rows in split)
            return nearest_neighbor_curve(a, train, b, test, np.arange(a.shape[1]), counts)
        return np.array([self._accuracy(a[:, :k], b[:, :k], split) for k in counts])

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


def _check_methods(selectors: Mapping[str, Any]) -> None:
    if not selectors:
        raise ValueError("There is no method to compare. Name one or more.")
    if RANDOM in selectors:
        raise ValueError(
            f"A method is called {RANDOM!r}, but that is what features in random order are called "
            "in the result. Choose another name."
        )


def _check_classes(codes: IntArray, has_minus_one: bool) -> None:
    sizes = np.bincount(codes[codes >= 0])
    if len(sizes) >= 2 and sizes.min() >= 2:
        return
    hint = " -1 means unlabelled here; where it is a class, pass y.astype(str)."
    raise ValueError(
        f"y has {len(sizes)} {'class' if len(sizes) == 1 else 'classes'}, the smallest with "
        f"{sizes.min() if len(sizes) else 0} samples; a comparison needs two classes or more, each "
        f"with two samples or more.{hint if has_minus_one else ''}"
    )


def _check_numbers(
    counts: NDArray[Any], n_all: int, top: int, n_splits: int, test_size: float
) -> None:
    whole = counts.ndim == 1 and counts.size > 0 and counts.dtype.kind in "iu"
    if not whole or counts[0] < 1 or counts[-1] > n_all or (np.diff(counts) < 1).any():
        raise ValueError(
            f"n_features={counts.tolist()}, but numbers of features are whole and ascend from 1 to "
            f"{n_all}."
        )
    if top < 1:
        raise ValueError(f"top={top}, but at least one feature is looked at. Choose 1 or more.")
    if n_splits < 2:
        raise ValueError(f"n_splits={n_splits}, but a test needs two splits or more.")
    if not 0 < test_size < 1:
        raise ValueError(f"test_size={test_size}, but it is a share between 0 and 1.")


def _sized(selector: Any, n_features: int) -> Any:
    return clone(selector).set_params(n_features_to_select=int(n_features))


def _splits(
    codes: IntArray, n_splits: int, test_size: float, random_state: int
) -> Iterator[tuple[IntArray, IntArray]]:
    labelled = np.flatnonzero(codes >= 0)
    draw = StratifiedShuffleSplit(n_splits, test_size=test_size, random_state=random_state)
    for train, test in draw.split(labelled, codes[labelled]):
        yield labelled[train], labelled[test]


def _stability(orders: Sequence[IntArray], top: int) -> float:
    everything = np.arange(len(orders[0]))
    return nogueira_index(np.array([np.isin(everything, order[:top]) for order in orders]))


def supervision_of(selector: Any, pairs_given: bool) -> Literal["labels", "pairs", "nothing"]:
    """Tell what a selector looks at, given labels and perhaps pairs.

    Examples
    --------
    >>> from linkselect import ConstraintScore, VarianceScore
    >>> supervision_of(ConstraintScore(), pairs_given=True)
    'pairs'
    >>> supervision_of(VarianceScore(), pairs_given=True)
    'nothing'
    """
    if isinstance(selector, RankingSelector) and hasattr(selector, "estimator"):
        return supervision_of(selector.estimator, pairs_given)
    if isinstance(selector, PairSelector) and pairs_given:
        return "pairs"
    if isinstance(selector, RankingSelector) and not isinstance(
        selector, LabelSelector | PairSelector
    ):
        return "nothing"
    return "labels"


# -- differences and words --------------------------------------------------------------------


def _differences(curves: Mapping[str, Curve], n_train: int, n_test: int) -> tuple[Difference, ...]:
    means = {name: curve.values.mean(axis=1) for name, curve in curves.items()}
    found = []
    for one, other in combinations(means, 2):
        gap = means[one] - means[other]
        better, worse = (one, other) if gap.mean() >= 0 else (other, one)
        p = corrected_t_test(gap, n_train, n_test)
        found.append((better, worse, abs(float(gap.mean())), p))
    adjusted = holm([p for *_, p in found])
    differences = [Difference(*one, p) for one, p in zip(found, adjusted, strict=True)]
    return tuple(sorted(differences, key=lambda difference: -difference.mean))


def _summarize(found: Comparison) -> Iterator[str]:
    first = found.leader
    counts = found.accuracy[first].n_features
    few = "" if len(counts) == 1 else f"{counts[0]} to "
    yield (
        f"{found.classifier} with {few}{many(counts[-1], 'feature')}, {found.n_splits} random "
        f"splits: {_who_led(found)}."
    )
    others = [name for name in found.mean_accuracy if name not in _leaders(found)]
    shown = [name for name in others if found.difference(first, name).p_adjusted < found.level]
    unclear = [name for name in others if name not in shown]
    if shown:
        yield f"{first} was better than {_gaps(found, first, shown)}."
    if unclear:
        yield f"No difference can be shown between {first} and {_gaps(found, first, unclear)}."
    yield _against_chance(found)
    yield _what_they_saw(found)
    best = found.accuracy[first].mean
    yield (
        f"All features ({found.n_features:,}) give {_percent(float(np.mean(found.all_features)))}; "
        f"{first} reaches {_percent(best.max())} at best, with "
        f"{many(counts[int(best.argmax())], 'feature')}."
    )


def _leaders(found: Comparison) -> list[str]:
    """Name the method with the largest mean, and those that have the same."""
    means = found.mean_accuracy
    return [name for name in means if np.isclose(means[name], means[found.leader], 0, 1e-9)]


def _who_led(found: Comparison) -> str:
    names = _leaders(found)
    mean = found.mean_accuracy[found.leader]
    chance = float(found.accuracy[RANDOM].values.mean())
    less = f", less than a {RANDOM} of features" if mean < chance else ""
    if len(found.methods) == 1:
        return f"{names[0]} had a mean accuracy of {_percent(mean)}{less}"
    if len(names) == 1:
        return f"{names[0]} had the largest mean accuracy of the methods, {_percent(mean)}{less}"
    together = f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{together} had the same largest mean accuracy, {_percent(mean)}{less}"


def _gaps(found: Comparison, first: str, others: Sequence[str]) -> str:
    gaps = (found.difference(first, name) for name in others)
    return ", ".join(
        f"{name} ({100 * gap.mean:.1f} points, p {p_text(gap.p_adjusted)})"
        for name, gap in zip(others, gaps, strict=True)
    )


def _against_chance(found: Comparison) -> str:
    gaps = {name: found.difference(name, RANDOM) for name in found.methods}
    beaten = [n for n, gap in gaps.items() if gap.better == n and gap.p_adjusted < found.level]
    rest = [name for name in found.methods if name not in beaten]
    chance = _percent(float(found.accuracy[RANDOM].values.mean()))
    if rest and beaten:
        return f"Not shown to beat a {RANDOM} of features ({chance}): {', '.join(rest)}."
    several = len(found.methods) > 1
    if beaten:
        who = "Every method" if several else beaten[0]
        return f"{who} beat a {RANDOM} of features ({chance})."
    who = "No method can" if several else f"{rest[0]} cannot"
    return f"{who} be shown to beat a {RANDOM} of features ({chance})."


def _what_they_saw(found: Comparison) -> str:
    """Say what each method was told, since more is easier."""
    by_kind: dict[str, list[str]] = {}
    for name, saw in found.saw.items():
        by_kind.setdefault(saw, []).append(name)
    if len(by_kind) == 1:
        who = "every method" if len(found.methods) > 1 else found.methods[0]
        return f"Fitted on all rows, {who} saw {next(iter(by_kind))}."
    parts = (f"{saw} ({', '.join(names)})" for saw, names in by_kind.items())
    return f"Fitted on all rows, methods saw different things: {'; '.join(parts)}."


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
