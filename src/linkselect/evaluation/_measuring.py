"""In each run, rank features on training data and evaluate the best ones on test data."""

import time
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from linkselect._arrays import FloatArray, IntArray, Matrix
from linkselect._messages import many
from linkselect._samples import as_samples
from linkselect._samples.checks import Given
from linkselect.evaluation._curves import RANDOM, Curve, nearest_classes, nearest_neighbor_curve
from linkselect.evaluation._inputs import Track, as_matrix, order_of
from linkselect.pairs import Pairs
from linkselect.selectors._method import describe
from linkselect.selectors._wrapper import arguments_of

# Number of random feature orders whose measure is averaged in each run.
RANDOM_ORDERS = 5


class Runs:
    """Splits or folds, which define the data for fitting selectors and for evaluating rankings.

    Attributes
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The samples.
    counts : array of int
        The numbers of features.
    runs : sequence of tuples
        The training part and the held-out part of each run; each part consists of samples or pairs.
    """

    X: Matrix
    counts: IntArray
    runs: Sequence[tuple[Any, Any]]

    def given(self, selector: Any, run: int) -> tuple[Matrix, dict[str, Any]]:
        """Return the samples and the other arguments of `fit` in a run; run -1 is the full data."""
        raise NotImplementedError

    def measure(self, run: int, order: IntArray, counts: IntArray) -> FloatArray:
        """Evaluate the first `count` features on the held-out part, for each count."""
        raise NotImplementedError

    def is_refitted(self, selector: Any) -> bool:
        """Return whether a selector is fitted to different data in each run."""
        return True

    def rank(self, selector: Any, run: int) -> tuple[IntArray, float]:
        """Fit a selector, and return its ranking of the features and the fit time in seconds."""
        samples, given = self.given(selector, run)
        start = time.perf_counter()
        selector.fit(samples, **given)
        return order_of(selector), time.perf_counter() - start

    def with_all_features(self, run: int) -> float:
        """Return the held-out performance with all features."""
        n_all = self.X.shape[1]
        return float(self.measure(run, np.arange(n_all), np.array([n_all]))[0])

    def by_chance(self, run: int, random: np.random.Generator) -> FloatArray:
        """Return the mean performance of features in random order, for each count."""
        orders = [random.permutation(self.X.shape[1]) for _ in range(RANDOM_ORDERS)]
        return np.mean([self.measure(run, order, self.counts) for order in orders], axis=0)


@dataclass(frozen=True)
class Measurements:
    """Rankings and performance of every method.

    Parameters
    ----------
    orders : dict of str to array of int
        The ranking of the features by each method on the full data, best first.
    run_orders : dict of str to list of arrays
        The ranking of the features by each method in each run.
    seconds : dict of str to float
        The median time to fit each method in a run.
    curves : dict of str to Curve
        The performance of each method, and of features in random order.
    all_features : tuple of float
        The performance with all features in each run.
    """

    orders: dict[str, IntArray]
    run_orders: dict[str, list[IntArray]]
    seconds: dict[str, float]
    curves: dict[str, Curve]
    all_features: tuple[float, ...]


def measure_runs(
    task: Runs,
    selectors: Mapping[str, Any],
    random: np.random.Generator,
    track: Track,
    known: Mapping[str, IntArray] | None = None,
) -> Measurements:
    """Fit every selector to the full data and to each run, and evaluate the rankings.

    A selector that uses the same data in all runs is fitted only once.

    Parameters
    ----------
    task : Runs
        The splits or folds.
    selectors : dict of str to selector
        The methods by name.
    random : Generator
        The generator of random orders of the features.
    track : callable
        A function that wraps the list of steps (method, run).
    known : dict of str to array of int, optional
        Rankings obtained from the full data, if they are already available.
    """
    orders = {name: known[name] for name in selectors if known and name in known}
    fits: dict[str, list[tuple[IntArray, float]]] = {name: [] for name in selectors}
    runs = range(len(task.runs))
    refitted = [name for name, selector in selectors.items() if task.is_refitted(selector)]
    steps = [(name, -1) for name in selectors if name not in orders or name not in refitted]
    steps += [(name, run) for run in runs for name in refitted]
    for name, run in track(steps):
        if run < 0:
            # Not timed unless it is the only fit: the first fit also loads and compiles code.
            orders[name], seconds = task.rank(selectors[name], run)
            if name not in refitted:
                fits[name] = [(orders[name], seconds)] * len(runs)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit to the full data has already warned
            fits[name].append(task.rank(selectors[name], run))
    run_orders = {name: [order for order, _ in done] for name, done in fits.items()}
    values = {
        name: [task.measure(run, order, task.counts) for run, order in enumerate(ordered)]
        for name, ordered in run_orders.items()
    }
    values[RANDOM] = [task.by_chance(run, random) for run in runs]
    return Measurements(
        orders,
        run_orders,
        {name: float(np.median([seconds for _, seconds in done])) for name, done in fits.items()},
        {name: Curve(task.counts, np.array(found)) for name, found in values.items()},
        tuple(map(task.with_all_features, runs)),
    )


@dataclass(frozen=True)
class LabelRuns(Runs):
    """Splits of the labelled samples, on which a classifier is trained and tested."""

    X: Matrix
    counts: IntArray
    runs: Sequence[tuple[IntArray, IntArray]]
    codes: IntArray
    pairs: Pairs | None
    sample_ids: Sequence[Hashable]
    prepare: Any
    classifier: Any
    groups: IntArray | None = None
    together: bool = False

    @property
    def sizes(self) -> tuple[int, int]:
        """The mean numbers of training and test samples (or groups) over the splits."""
        unit = np.arange(len(self.codes)) if self.groups is None else self.groups
        counts = [[len(np.unique(unit[side])) for side in sides] for sides in self.runs]
        n_train, n_test = np.mean(counts, axis=0).tolist()
        return round(n_train), round(n_test)

    def given(self, selector: Any, run: int) -> tuple[Matrix, dict[str, Any]]:
        """Return training samples, unlabelled samples and pairs, excluding those in test groups."""
        rows = np.arange(len(self.codes))
        if run >= 0:
            train, test = self.runs[run]
            rows = np.union1d(train, np.flatnonzero(self.codes < 0))
            if self.groups is not None:  # unlabelled samples of test groups are left out as well
                rows = rows[~np.isin(self.groups[rows], self.groups[test])]
        # Selectors of other libraries would treat -1 as a class, whatever their tags.
        if get_tags(selector).target_tags.required or describe(selector).sees == "labels":
            rows = rows[self.codes[rows] >= 0]
        samples = self.X[rows]
        if self.prepare is not None:
            samples = as_matrix(clone(self.prepare).fit_transform(samples))
        groups = None if self.groups is None else self.groups[rows]
        given = Given(self.codes[rows], groups=groups)
        if self.pairs is not None and describe(selector).sees == "pairs":
            ids = [self.sample_ids[row] for row in rows.tolist()]
            given = replace(given, pairs=self._pairs_among(rows, ids), sample_ids=ids)
        return samples, arguments_of(given, selector)

    def _pairs_among(self, rows: IntArray, ids: Sequence[Hashable]) -> Pairs:
        """Return the pairs between some samples; if `together`, add the pairs implied by labels."""
        assert self.pairs is not None
        present = self.pairs.restrict(ids)
        codes = self.codes[rows]
        return present | Pairs.from_labels(codes, sample_ids=ids) if self.together else present

    def supervision_text(self, selector: Any) -> str:
        """Describe the labels or pairs that a selector uses when it is fitted to all samples."""
        sees = describe(selector).sees
        n_labelled = int((self.codes >= 0).sum())
        if sees == "pairs" and self.pairs is not None:
            present = self.pairs.restrict(self.sample_ids)
            n_pairs = many(present.n_must + present.n_cannot, "pair")
            labels = f"the labels of {many(n_labelled, 'sample')}"
            return f"{n_pairs} and {labels}" if self.together and n_labelled else n_pairs
        if sees == "nothing" or n_labelled == 0:
            return "neither labels nor pairs"
        return f"the labels of {many(n_labelled, 'sample')}"

    def measure(self, run: int, order: IntArray, counts: IntArray) -> FloatArray:
        """Return the test accuracy with the first `count` features, for each count."""
        features = order[: counts[-1]]
        a, b = (self.X[rows][:, features] for rows in self.runs[run])
        if self.prepare is not None:
            prepare = clone(self.prepare).fit(a)
            a, b = (as_matrix(prepare.transform(values)) for values in (a, b))
        train, test = (self.codes[rows] for rows in self.runs[run])
        if self.classifier is None and as_samples(a).kind == "memory":
            return nearest_neighbor_curve(a, train, b, test, np.arange(a.shape[1]), counts)

        def accuracy(count: int) -> float:
            if self.classifier is None:
                found = nearest_classes(a[:, :count], train, b[:, :count])
                return float(np.mean(found == test))
            model = clone(self.classifier).fit(a[:, :count], train)
            return float(model.score(b[:, :count], test))

        return np.array([accuracy(count) for count in counts])
