"""Rank on a part of what is known, and measure the best features on the rest, run by run."""

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

# How many random orders of the features are averaged in each run.
RANDOM_ORDERS = 5


class Runs:
    """What each run ranks by, and how a ranking is measured on what the run holds out.

    Attributes
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The samples.
    counts : array of int
        The numbers of features.
    runs : sequence of tuples
        What trains and what is held out: rows, or pairs.
    """

    X: Matrix
    counts: IntArray
    runs: Sequence[tuple[Any, Any]]

    def given(self, selector: Any, run: int) -> tuple[Matrix, dict[str, Any]]:
        """Return the samples and the other arguments to fit a selector in a run; -1 for all."""
        raise NotImplementedError

    def measure(self, run: int, order: IntArray, counts: IntArray) -> FloatArray:
        """Measure the first features of an order on what a run holds out, for each count."""
        raise NotImplementedError

    def is_refitted(self, selector: Any) -> bool:
        """Tell whether what a selector looks at differs between runs."""
        return True

    def rank(self, selector: Any, run: int) -> tuple[IntArray, float]:
        """Fit a selector; return the order of the features and the time."""
        samples, given = self.given(selector, run)
        start = time.perf_counter()
        selector.fit(samples, **given)
        return order_of(selector), time.perf_counter() - start

    def with_all_features(self, run: int) -> float:
        """Measure all features."""
        n_all = self.X.shape[1]
        return float(self.measure(run, np.arange(n_all), np.array([n_all]))[0])

    def by_chance(self, run: int, random: np.random.Generator) -> FloatArray:
        """Measure features in random order, the mean of several orders."""
        orders = [random.permutation(self.X.shape[1]) for _ in range(RANDOM_ORDERS)]
        return np.mean([self.measure(run, order, self.counts) for order in orders], axis=0)


@dataclass(frozen=True)
class Measurements:
    """What was measured of every method.

    Parameters
    ----------
    orders : dict of str to array of int
        The features, best first, of each method fitted on everything.
    run_orders : dict of str to list of arrays
        The same for each method fitted in each run.
    seconds : dict of str to float
        The median time of a fit in a run.
    curves : dict of str to Curve
        The measure of each method, and of features in random order.
    all_features : tuple of float
        The measure with all features, in each run.
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
    """Rank with every selector on everything and in every run, and measure the rankings.

    A selector to which all runs look the same is fitted once.

    Parameters
    ----------
    task : Runs
        What to rank by and to measure on.
    selectors : dict of str to selector
        The methods by name.
    random : Generator
        Draws the random orders of the features.
    track : callable
        Wraps the list of steps (method, run).
    known : dict of str to array of int, optional
        Rankings on everything that need no fit any more.
    """
    orders = {name: known[name] for name in selectors if known and name in known}
    fits: dict[str, list[tuple[IntArray, float]]] = {name: [] for name in selectors}
    runs = range(len(task.runs))
    refitted = [name for name, selector in selectors.items() if task.is_refitted(selector)]
    steps = [(name, -1) for name in selectors if name not in orders or name not in refitted]
    steps += [(name, run) for run in runs for name in refitted]
    for name, run in track(steps):
        if run < 0:
            # Not timed if others follow: the very first fit loads and compiles what all use.
            orders[name], seconds = task.rank(selectors[name], run)
            if name not in refitted:
                fits[name] = [(orders[name], seconds)] * len(runs)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on everything has warned already
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
    """Splits of the labelled rows: a classifier learns from training rows, and names test rows."""

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
        """How many rows, or groups, train and how many are test rows, on average over splits."""
        unit = np.arange(len(self.codes)) if self.groups is None else self.groups
        counts = [[len(np.unique(unit[side])) for side in sides] for sides in self.runs]
        n_train, n_test = np.mean(counts, axis=0).tolist()
        return round(n_train), round(n_test)

    def given(self, selector: Any, run: int) -> tuple[Matrix, dict[str, Any]]:
        """Take training rows, unlabelled ones of no test group, and the pairs among them."""
        rows = np.arange(len(self.codes))
        if run >= 0:
            train, test = self.runs[run]
            rows = np.union1d(train, np.flatnonzero(self.codes < 0))
            if self.groups is not None:  # unlabelled rows of a test group are left out, too
                rows = rows[~np.isin(self.groups[rows], self.groups[test])]
        # Selectors of other libraries would take -1 for a class, whatever their tags say.
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
        """Return the pairs among some rows, with what their labels imply if both count."""
        assert self.pairs is not None
        present = self.pairs.restrict(ids)
        codes = self.codes[rows]
        return present | Pairs.from_labels(codes, sample_ids=ids) if self.together else present

    def supervision_text(self, selector: Any) -> str:
        """Say how many labels or pairs a selector uses if it is fitted on all rows."""
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
        """Measure the accuracy on test rows with the first features, for each count."""
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
