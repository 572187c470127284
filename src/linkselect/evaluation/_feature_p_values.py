"""Significance of each feature, by permuting which row is which sample."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state, check_scalar

from linkselect._arrays import FloatArray, IntArray, Matrix
from linkselect._bibliography import cites
from linkselect._blocks import map_threads, slices
from linkselect._files import written_whole
from linkselect._messages import GuidedValueError, many
from linkselect._samples.checks import Given
from linkselect.evaluation._held_out_labels import label_ways
from linkselect.evaluation._inputs import (
    Track,
    check_matrix,
    check_selector,
    read_given,
    reproducible,
)
from linkselect.evaluation._permutation import (
    INSIDE_GROUPS,
    LEVEL,
    ROUNDING,
    TOO_FEW_WAYS,
    Arrangements,
    row_codes,
)
from linkselect.pairs import Pairs
from linkselect.pairs._labels import label_array
from linkselect.selectors import Redundancy
from linkselect.selectors._foreign import Ranked
from linkselect.selectors._method import classes_seen, describe
from linkselect.selectors._wrapper import arguments_of

# Progress is reported after this many permutations; the number must not depend on the threads.
PERMUTATIONS_PER_STEP = 8
# How long a store may lag behind, in seconds: writing it costs time, too.
SECONDS_PER_WRITE = 30


@dataclass(frozen=True)
class FeaturePValues:
    """How likely each feature's score is if pairs or labels have nothing to do with X.

    Attributes
    ----------
    p_values : ndarray of shape (n_features,)
        Of each feature by itself, without correction for the number of features.
    adjusted : ndarray of shape (n_features,)
        Corrected by step-down max-T: if all features with a value of at most 0.05 are called
        relevant, any of them is wrong in at most 5 % of analyses.
    q_values : ndarray of shape (n_features,)
        If all features with a value of at most 0.1 are called relevant, at most 10 % of them are
        expected to be wrong.
    n_permutations : int
        How many permutations.
    """

    p_values: FloatArray
    adjusted: FloatArray
    q_values: FloatArray
    n_permutations: int


@cites("westfall1993", "benjamini1995")
def feature_p_values(
    selector: Any,
    X: Any,
    y: Any = None,
    *,
    pairs: Pairs | None = None,
    sample_ids: Iterable[Hashable] | None = None,
    groups: ArrayLike | None = None,
    batches: ArrayLike | None = None,
    n_permutations: int = 199,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    track: Track = iter,
    store: str | os.PathLike[str] | None = None,
) -> FeaturePValues:
    """Test for each feature whether its score is better than chance, by permuting the samples.

    The statistic is the feature's value in `scores_`, in the direction that the method declares.
    For a method that searches for a subset, that is the score of the feature alone. The method is
    fitted again with the samples permuted, and pairs or labels kept.

    A small value means that a feature is related to the pairs or labels. It does not mean that the
    feature adds anything to others: two copies of one feature have the same value.

    Parameters
    ----------
    selector : selector
        A method that uses pairs or labels, of this library or another; it is not changed.
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,), optional
        Labels. Only labelled rows are exchanged, unless there are pairs, too.
    pairs : Pairs, optional
        Must-links and cannot-links. For pairs and labels together pass
        `pairs | Pairs.from_labels(y)`. Pairs that are `Pairs.adaptive` are refused.
    sample_ids : iterable of hashable, optional
        The id of each row. Default: the index of a pandas X, else row numbers.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a patient. A group is exchanged with others of its size as a
        whole.
    batches : array-like of shape (n_samples,), optional
        The batch of each row, such as a plate. Rows are exchanged inside their batch only.
    n_permutations : int, default=199
        How many permutations. No p-value is smaller than `1 / (1 + n_permutations)`.
    random_state : int, RandomState or None, default=None
        Determines the permutations, and what the selector draws if its own `random_state` is None.
        None is the same as 0, so that the same call gives the same result.
    n_jobs : int, optional
        The number of threads. Default: as many as BLAS may use. The result is the same.
    track : callable, default=iter
        Wraps the list of steps, to show progress.
    store : path, optional
        A file (.npz) that keeps the scores of finished permutations. The same call, also with more
        permutations, continues from it. A file that holds anything else is refused.

    Returns
    -------
    FeaturePValues

    See Also
    --------
    validate : Whether the selected features together are better than chance.

    Notes
    -----
    The test is exact if pairs or labels were chosen without looking at X, and if rows of a batch,
    or groups of one size, are exchangeable. Pairs share samples, so samples are permuted, never
    links.

    `p_values` are `(1 + b) / (1 + B)`, where b of B permutations give a feature a score at least as
    good; scores that differ by rounding count as equal. For the other two, each feature's scores
    are standardised by their mean and standard deviation over all 1 + B arrangements, the observed
    one included. `adjusted` compares with the largest of these among the features that are not
    better [1]_, and so allows for their correlation. `q_values` follow Benjamini and Hochberg [2]_,
    from p-values for which the permuted scores of all features form one null distribution; with few
    permutations no p-value of a single feature would be small enough. This assumes that the
    standardised scores of irrelevant features have the same distribution, and that features depend
    on each other positively or weakly. Where a few features have a very different distribution, say
    rare binary ones among continuous ones, prefer `adjusted`.

    A missing score (NaN), as of a constant feature, counts as the worst one: where the observed
    score is missing, all three values are 1. Before standardising, infinite scores are replaced by
    values beyond the feature's finite ones, at a distance of their range. A permutation that cannot
    be ranked counts against every feature.

    Memory for `(1 + n_permutations) * n_features` numbers is needed.

    Examples
    --------
    >>> import numpy as np
    >>> from linkselect import FisherScore
    >>> from linkselect.evaluation import feature_p_values
    >>> y = np.repeat([0, 1], 20)
    >>> X = np.random.default_rng(0).normal(size=(40, 50))
    >>> X[:, 3] += 2 * y
    >>> found = feature_p_values(FisherScore(), X, y, n_permutations=99)
    >>> np.flatnonzero(found.adjusted < 0.05)
    array([3])
    """
    check_selector(selector)
    known = _Known.read(selector, X, y, pairs, sample_ids, groups, batches)
    check_scalar(n_permutations, "n_permutations", Integral, min_val=1)
    given_seed = 0 if random_state is None else random_state
    seed = int(check_random_state(given_seed).randint(np.iinfo(np.int32).max))
    method = _for_scores(reproducible(selector, seed))
    scores = np.empty((1 + n_permutations, known.X.shape[1]))
    kept = None if store is None else _Store(Path(store), known.fingerprint(method, seed))
    n_done = 0 if kept is None else kept.load(scores)
    _permute(known, method, seed, scores, n_done, n_jobs, track, kept)
    if not describe(method).greater_is_better:
        np.negative(scores, out=scores)
    return FeaturePValues(*_p_values(scores), int(n_permutations))


# -- the permutations ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Known:
    """The samples, what is known about them, and how they may be exchanged."""

    X: Matrix
    given: Given
    ways: Arrangements

    @classmethod
    def read(
        cls, selector: Any, X: Any, y: Any, pairs: Any, sample_ids: Any, groups: Any, batches: Any
    ) -> _Known:
        """Check the arguments of `feature_p_values`, and refuse what cannot be tested."""
        sees, name = describe(selector).sees, type(selector).__name__
        if sees == "nothing":
            raise GuidedValueError(
                f"{name} uses neither pairs nor labels, so there is nothing to test: its scores "
                "stay the same whichever row is which sample.",
                "Use a method that does, such as LinkSelector().",
                "selector",
            )
        samples = check_matrix(X, "feature_p_values")
        given = read_given(selector, X, y, pairs, sample_ids, listed=False)
        if given.is_empty:
            needed = "y" if sees != "pairs" else "pairs= or y"
            raise GuidedValueError(
                f"There is nothing that {name} could be tested with.", f"Pass {needed}."
            )
        n_samples = samples.shape[0]
        if given.pairs is not None:
            return cls(samples, given, _ways_of_pairs(given, n_samples, groups, batches))
        # A selector of another library may take numbers; then every row is labelled.
        ours = hasattr(selector, "sees")
        codes = classes_seen(selector, y)[0] if ours else row_codes(y, n_samples, "y")
        ways = Arrangements.of(n_samples, groups, batches, np.flatnonzero(codes >= 0))
        _check_enough(label_ways(codes, ways))
        values = label_array(y, sees != "labels").ravel() if ours else np.asarray(y)
        return cls(samples, replace(given, y=values), ways)

    def moved(self, to: IntArray) -> Given:
        """Give the label and the id of each row to another one."""
        y, ids = self.given.y, self.given.sample_ids
        return replace(
            self.given,
            y=None if y is None else _at(to, np.asarray(y)),
            sample_ids=None if ids is None else tuple(_at(to, _objects(ids))),
        )

    def fingerprint(self, method: Any, seed: int) -> str:
        """Name everything that the scores depend on."""
        pairs = None if self.given.pairs is None else self.given.pairs.__getstate__()
        known = np.asarray(self.given.y), pairs, self.given.sample_ids, self.ways.blocks
        what = type(method).__qualname__, method.get_params(), self.X, *known, seed
        return str(joblib.hash(what))


def _at(to: IntArray, values: NDArray[Any]) -> NDArray[Any]:
    moved = np.empty_like(values)
    moved[to] = values
    return moved


def _objects(ids: Iterable[Hashable]) -> NDArray[Any]:
    """Put ids into an array one by one: NumPy would make a table of tuples."""
    listed = list(ids)
    found = np.empty(len(listed), dtype=object)
    found[:] = listed
    return found


def _ways_of_pairs(given: Given, n_samples: int, groups: Any, batches: Any) -> Arrangements:
    """Let all rows change places, unless pairs cannot be tested in this way."""
    pairs = given.pairs
    assert pairs is not None
    if pairs.n_adaptive:
        raise GuidedValueError(
            f"Cannot test features: {many(pairs.n_adaptive, 'pair')} of "
            f"{pairs.n_must + pairs.n_cannot:,} were chosen by looking at the samples "
            "(Pairs.adaptive), so permuted samples are no fair comparison.",
            "Pass pairs that were drawn at random only.",
            "pairs",
        )
    ways = Arrangements.of(n_samples, groups, batches)
    row_of = {sample: row for row, sample in enumerate(given.sample_ids or ())}
    group, links = ways.group, np.concatenate(pairs.rows(row_of))
    inside = group[links[:, 0]] == group[links[:, 1]]
    if groups is not None and not pairs._groupings and inside.all():
        raise GuidedValueError(INSIDE_GROUPS)
    named = [row_of[sample] for sample in pairs.ids]
    _check_enough(ways.count(np.array(named, dtype=np.intp)))
    return ways


def _check_enough(n_ways: float) -> None:
    if n_ways < 1 / LEVEL:
        raise GuidedValueError(TOO_FEW_WAYS)


def _for_scores(selector: Any) -> Any:
    """Copy a selector so that it computes `scores_` and as little else as possible."""
    if not hasattr(selector, "sees"):
        return Ranked(clone(selector))
    copy = clone(selector)
    if hasattr(copy, "set_callbacks"):
        copy.set_callbacks()
    if isinstance(copy, Redundancy):  # its scores are those of what it wraps
        inner = copy.estimator
        inner = _for_scores(inner) if hasattr(inner, "sees") else inner
        return copy.set_params(estimator=inner, n_features_to_select=1)
    if describe(copy).searches and not describe(copy).wraps:
        copy.set_params(n_features_to_select=1)
    return copy


def _permute(
    known: _Known,
    method: Any,
    seed: int,
    scores: FloatArray,
    n_done: int,
    n_jobs: int | None,
    track: Track,
    kept: _Store | None,
) -> None:
    """Fill in the scores: first of the samples as they are, then of permuted ones."""

    def fit(given: Given) -> FloatArray:
        fitted = clone(method).fit(known.X, **arguments_of(given, method))
        return np.asarray(fitted.scores_, dtype=np.float64)

    if n_done == 0:
        scores[0] = fit(known.given)
        n_done = 1
        if kept is not None:
            kept.save(scores[:1], at_once=True)  # what is wrong with the path is said at once
    rng = np.random.RandomState(seed)
    draws = [known.ways.draw(rng) for _ in range(len(scores) - 1)]
    against = np.inf if describe(method).greater_is_better else -np.inf

    def work(place: int) -> None:
        try:
            scores[place] = fit(known.moved(draws[place - 1]))
        except ValueError:  # what cannot be ranked counts against every feature
            scores[place] = against

    try:
        left = range(n_done, len(scores))
        steps: Iterable[slice] = track(slices(len(left), PERMUTATIONS_PER_STEP))
        for part in steps:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit to the samples as they are has warned
                map_threads(work, left[part], n_jobs)
            n_done = left[part][-1] + 1
            if kept is not None:
                kept.save(scores[:n_done])
    finally:
        if kept is not None:
            kept.save(scores[:n_done], at_once=True)


class _Store:
    """Scores on disk: one array for each arrangement, so that each is read by itself."""

    def __init__(self, path: Path, call: str) -> None:
        self._path, self._call = path, call
        self._n_kept, self._written = 0, time.monotonic()

    def load(self, scores: FloatArray) -> int:
        """Fill in what is there, and return how many arrangements that are."""
        if not self._path.exists():
            return 0
        try:
            with self._path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                call, self._n_kept = str(file["call"]), len(file.files) - 1
                n_found = min(self._n_kept, len(scores)) if call == self._call else 0
                for place in range(n_found):
                    scores[place] = file[str(place)]
        except (ValueError, KeyError, EOFError, BadZipFile, AttributeError, TypeError) as error:
            raise GuidedValueError(
                f"{str(self._path)!r} was not written by feature_p_values, or is damaged.",
                "Remove it, or name another file.",
                "store",
            ) from error
        if call != self._call:
            raise GuidedValueError(
                f"{str(self._path)!r} holds permutations of other data, another method or another "
                "seed.",
                "Remove it, or name another file.",
                "store",
            )
        return n_found

    def save(self, scores: FloatArray, *, at_once: bool = False) -> None:
        """Write the scores if there are new ones, and enough time has passed."""
        late = at_once or time.monotonic() - self._written > SECONDS_PER_WRITE
        if len(scores) <= self._n_kept or not late:
            return
        arrays = {str(place): row for place, row in enumerate(scores)}
        with written_whole(self._path) as part, part.open("wb") as file:
            np.savez(file, allow_pickle=False, call=np.array(self._call), **arrays)
        self._n_kept, self._written = len(scores), time.monotonic()


# -- the p-values ----------------------------------------------------------------------------------


def _p_values(scores: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return p-values, adjusted ones and q-values; larger scores are better.

    Parameters
    ----------
    scores : array of shape (1 + n_permutations, n_features)
        Those of the samples as they are first; infinite throughout where a permutation could not
        be ranked. The array is overwritten.
    """
    n_null, n_features = len(scores) - 1, scores.shape[1]
    lacks = np.isnan(scores[0])
    failed = np.array([bool(np.isposinf(row).all()) for row in scores])
    failed[0] = False
    least = np.empty(n_features)
    for columns in slices(n_features, max(1, (1 << 20) // len(scores))):
        block = scores[:, columns]
        ranked, least[columns] = _standardized(block[~failed])
        block[~failed] = ranked
    same = np.isneginf(least)
    order = np.argsort(-scores[0], kind="stable")
    by_size = np.argsort(least, kind="stable")
    alone, stepped, pooled = (np.zeros(n_features, dtype=np.intp) for _ in range(3))
    for row in scores[1:]:
        alone += row >= least
        stepped[order] += np.maximum.accumulate(row[order][::-1])[::-1] >= least[order]
        pooled[by_size] += n_features - np.searchsorted(np.sort(row), least[by_size])
    p_values, adjusted = (1 + alone) / (1 + n_null), (1 + stepped) / (1 + n_null)
    adjusted[order] = np.maximum.accumulate(adjusted[order])
    q_values = _benjamini_hochberg(np.where(same, 1.0, (1 + pooled) / (1 + n_null * n_features)))
    p_values[lacks] = adjusted[lacks] = q_values[lacks] = 1.0
    return p_values, adjusted, q_values


def _standardized(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Standardise the scores of some features over all arrangements.

    Returns
    -------
    scores : array
        With mean 0 and standard deviation 1; minus infinity where they are all the same.
    least : array of shape (n_features,)
        What counts as at least the first one, which may differ by rounding; minus infinity for a
        feature whose scores are all the same.
    """
    finite = np.isfinite(scores)
    low = np.where(finite, scores, np.inf).min(axis=0)
    high = np.where(finite, scores, -np.inf).max(axis=0)
    none = low > high
    low[none], high[none] = 0.0, 0.0
    span = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    # No score is the worst.
    scores = np.clip(np.where(np.isnan(scores), -np.inf, scores), low - span, high + span)
    rounding = ROUNDING * np.abs(scores).max(axis=0)
    scores -= scores.mean(axis=0)
    deviation = scores.std(axis=0)
    same = deviation <= rounding
    deviation[same] = 1.0
    scores /= deviation
    scores[:, same] = -np.inf
    return scores, np.where(same, -np.inf, scores[0] - rounding / deviation)


def _benjamini_hochberg(p_values: FloatArray) -> FloatArray:
    """Return the smallest false discovery rate at which each feature is called relevant."""
    n_features = len(p_values)
    order = np.argsort(p_values, kind="stable")
    rates = p_values[order] * n_features / np.arange(1, n_features + 1)
    found = np.empty(n_features)
    found[order] = np.minimum.accumulate(rates[::-1])[::-1]
    return np.minimum(found, 1.0)
