"""Fits of a selector on resamples that preserve labels, pairs and groups."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import BoolArray, FloatArray, IntArray
from linkselect._blocks import map_threads, slices
from linkselect._resampling import DRAWS_PER_STEP, deal_units, seeded
from linkselect._samples import Samples
from linkselect._samples.checks import Given
from linkselect._supervision import Supervision, by_rows, nothing
from linkselect.pairs._labels import encode_labels, label_array
from linkselect.selectors._method import describe, uses_groups

HALF = 0.5


class Draw(NamedTuple):
    """A resample: a copy of the selector, the drawn rows and the arguments of `fit`."""

    selector: Any
    rows: IntArray
    arguments: dict[str, Any]

    @property
    def n_pairs(self) -> tuple[int, int]:
        """Numbers of must-links and cannot-links whose samples are both among the rows."""
        pairs = self.arguments.get("pairs")
        return (0, 0) if pairs is None else (pairs.n_must, pairs.n_cannot)


class Selections(NamedTuple):
    """Selected features and ranks in the resamples that could be ranked.

    Attributes
    ----------
    selected : ndarray of bool of shape (n_ranked, n_features)
        Whether each feature is selected in each resample.
    mean_rank : ndarray of shape (n_features,)
        Mean rank of each feature.
    errors : list of ValueError
        The errors of the resamples that could not be ranked.
    """

    selected: BoolArray
    mean_rank: FloatArray
    errors: list[ValueError]


def draw_resamples(
    selector: Any,
    given: Given,
    n_samples: int,
    n_resamples: int,
    rng: np.random.RandomState,
    share: float = HALF,
    groups: IntArray | None = None,
) -> list[Draw]:
    """Draw resamples; halves are drawn in complementary pairs (Shah & Samworth 2013).

    Parameters
    ----------
    selector : selector
        The selector that is copied with a new seed for each draw.
    given : Given
        Labels, pairs and sample IDs. The IDs are read more than once.
    n_samples, n_resamples : int
        The number of rows and the number of draws.
    rng : RandomState
        The random number generator.
    share : float, default=0.5
        Fraction of the samples in a draw.
    groups : array of int of shape (n_samples,), optional
        Group of each row. Groups are never split.
    """
    known, labels, pairs, ids = _known(selector, given, n_samples)
    least = _most_neighbors(selector) + 1
    draws: list[Draw] = []
    others: IntArray | None = None
    for _ in range(n_resamples):
        copy = seeded(selector, rng)
        if others is None:
            rows, rest = deal_units(known, share, least, rng, groups)
            others = rest if share == HALF else None
        else:
            rows, others = others, None
        arguments: dict[str, Any] = {"y": None if labels is None else labels[rows]}
        if pairs is not None:
            here = [ids[row] for row in rows]
            arguments = {"y": None, "pairs": pairs.restrict(here), "sample_ids": here}
        if groups is not None and uses_groups(selector):
            arguments["groups"] = groups[rows]
        draws.append(Draw(copy, rows, arguments))
    return draws


def fit_resamples(
    draws: list[Draw],
    X: Samples,
    track: Callable[[Iterable[Any]], Iterable[Any]] = iter,
    n_jobs: int | None = None,
) -> Selections:
    """Fit the selector on every resample, ignoring resamples that cannot be ranked.

    Parameters
    ----------
    draws : list of Draw
        The result of `draw_resamples`.
    X : Samples
        All samples.
    track : callable, default=iter
        Function that wraps the iterable of steps to report progress.
    n_jobs : int, optional
        Number of threads.
    """

    def work(draw: Draw) -> tuple[Any, Any] | ValueError:
        try:
            fitted = draw.selector.fit(X.take(draw.rows).values, **draw.arguments)
        except ValueError as error:
            return error
        support = fitted.get_support()
        return support, getattr(fitted, "ranking_", np.where(support, 1, 2))

    found: list[tuple[Any, Any] | ValueError] = []
    for part in track(slices(len(draws), DRAWS_PER_STEP)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all samples has already warned
            found += map_threads(work, draws[part], n_jobs)
    ranked = [one for one in found if isinstance(one, tuple)]
    n_features = X.shape[1]
    selected = np.array([support for support, _ in ranked], dtype=bool).reshape(-1, n_features)
    ranks = np.array([rank for _, rank in ranked]).reshape(-1, n_features)
    mean = ranks.mean(axis=0) if ranked else np.full(n_features, np.nan)
    return Selections(selected, mean, [one for one in found if isinstance(one, ValueError)])


def _known(
    selector: Any, given: Given, n_samples: int
) -> tuple[Supervision, NDArray[Any] | None, Any, Any]:
    """Return the supervision, and the labels, pairs and IDs from which resamples are drawn."""
    sees = describe(selector).sees
    if given.pairs is None or sees in ("labels", "some labels"):
        # A method that needs every label reads -1 as a class.
        minus_one = sees != "labels"
        labels = None if given.y is None else label_array(given.y, minus_one).ravel()
        if labels is None or len(labels) != n_samples:  # possible if the selector ignores y
            return nothing(n_samples), None, None, None
        classes, names = encode_labels(labels, minus_one)
        # With that many different values, y is numeric, and the selector ignores it.
        is_number = len(names) > n_samples / 2
        return nothing(n_samples) if is_number else Supervision(classes), labels, None, None
    ids = range(n_samples) if given.sample_ids is None else tuple(given.sample_ids)
    pairs = given.pairs.restrict(ids)
    if not pairs._groupings:  # the order in which pairs are listed must not matter
        pairs = by_rows(pairs, {sample: row for row, sample in enumerate(ids)}, ids)
    return Given(pairs=pairs, sample_ids=ids).supervision(n_samples, "drop"), None, pairs, ids


def _most_neighbors(selector: Any) -> int:
    """Return the largest `n_neighbors` of a selector and the selectors that it wraps."""
    values = selector.get_params(deep=True).items()
    return max((n for name, n in values if name.split("__")[-1] == "n_neighbors"), default=0)
