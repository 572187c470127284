"""Compute feature scores on observed and permuted samples, and save them to disk."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import joblib
import numpy as np
from sklearn.base import clone

from linkselect._arrays import FloatArray, IntArray, Matrix
from linkselect._batches import row_codes
from linkselect._blocks import map_threads, slices
from linkselect._files import written_whole
from linkselect._messages import GuidedValueError, many
from linkselect._samples.checks import Given
from linkselect.evaluation._held_out_labels import label_ways
from linkselect.evaluation._inputs import Track, check_matrix, read_given
from linkselect.evaluation._permutation import (
    INSIDE_GROUPS,
    LEVEL,
    TOO_FEW_WAYS,
    Arrangements,
    too_few_ways,
)
from linkselect.pairs._labels import label_array
from linkselect.selectors import FeatureRules, Redundancy
from linkselect.selectors._foreign import Ranked
from linkselect.selectors._method import classes_seen, describe
from linkselect.selectors._wrapper import arguments_of

# Progress is reported after this many permutations; it must not depend on the number of threads.
PERMUTATIONS_PER_STEP = 8
# Seconds between writes to the store. Writing takes time, so results are not written one by one.
SECONDS_PER_WRITE = 30


@dataclass(frozen=True)
class Known:
    """The samples, their supervision and the valid permutations."""

    X: Matrix
    given: Given
    ways: Arrangements

    @classmethod
    def read(
        cls, selector: Any, X: Any, y: Any, pairs: Any, sample_ids: Any, groups: Any, batches: Any
    ) -> Known:
        """Check the arguments of `feature_p_values`; raise an error if no test is possible."""
        sees, name = describe(selector).sees, type(selector).__name__
        if sees == "nothing":
            raise GuidedValueError(
                f"{name} uses neither pairs nor labels, so there is nothing to test: its scores "
                "do not change when the samples are permuted.",
                "Use a supervised method, such as LinkSelector().",
                "selector",
            )
        samples = check_matrix(X, "feature_p_values")
        given = read_given(selector, X, y, pairs, sample_ids, listed=False)
        if given.is_empty:
            needed = "y" if sees != "pairs" else "pairs or y"
            raise GuidedValueError(f"Testing {name} requires supervision.", f"Pass {needed}.")
        n_samples = samples.shape[0]
        if groups is not None:
            given = replace(given, groups=row_codes(groups, n_samples, "groups"))
        if given.pairs is not None:
            return cls(samples, given, _ways_of_pairs(given, n_samples, groups, batches))
        # Selectors of other libraries may accept a numeric target, for which all samples are
        # labelled.
        ours = hasattr(selector, "sees")
        codes = classes_seen(selector, y)[0] if ours else row_codes(y, n_samples, "y")
        ways = Arrangements.of(n_samples, groups, batches, np.flatnonzero(codes >= 0))
        _check_enough(label_ways(codes, ways), too_few_ways(batches, codes))
        values = label_array(y, sees != "labels").ravel() if ours else np.asarray(y)
        return cls(samples, replace(given, y=values), ways)

    def moved(self, to: IntArray) -> Given:
        """Permute the labels and IDs of the samples, which is equivalent to permuting X."""
        y, ids, back = self.given.y, tuple(self.given.sample_ids or ()), np.argsort(to)
        return replace(
            self.given,
            y=None if y is None else np.asarray(y)[back],
            sample_ids=tuple(ids[row] for row in back) if ids else None,
        )

    def fingerprint(self, method: Any, seed: int) -> str:
        """Return a hash of all inputs on which the scores depend."""
        pairs = None if self.given.pairs is None else self.given.pairs.__getstate__()
        known = np.asarray(self.given.y), pairs, self.given.sample_ids, self.ways.blocks
        what = type(method).__qualname__, method.get_params(), self.X, *known, seed
        return str(joblib.hash(what))


def _ways_of_pairs(given: Given, n_samples: int, groups: Any, batches: Any) -> Arrangements:
    """Return the permutations of all samples; raise an error if the pairs cannot be tested."""
    pairs = given.pairs
    assert pairs is not None
    if pairs.n_adaptive:
        raise GuidedValueError(
            f"Cannot test features: {many(pairs.n_adaptive, 'pair')} of "
            f"{pairs.n_must + pairs.n_cannot:,} were chosen by looking at the samples "
            "(Pairs.adaptive). A permutation test of such pairs is not valid.",
            "Pass only pairs that were drawn at random.",
            "pairs",
        )
    ways = Arrangements.of(n_samples, groups, batches)
    row_of = {sample: row for row, sample in enumerate(given.sample_ids or ())}
    # Pairs from labels are not listed, since there may be more than memory can hold.
    if groups is not None and not pairs._groupings:
        group, links = ways.group, np.concatenate(pairs.rows(row_of))
        if (group[links[:, 0]] == group[links[:, 1]]).all():
            raise GuidedValueError(INSIDE_GROUPS)
    named = [row_of[sample] for sample in pairs.ids]
    _check_enough(ways.count(np.array(named, dtype=np.intp)))
    return ways


def _check_enough(n_ways: float, problem: str = TOO_FEW_WAYS) -> None:
    if n_ways < 1 / LEVEL:
        raise GuidedValueError(problem)


def for_scores(selector: Any) -> Any:
    """Clone a selector, and configure it to compute little more than `scores_`."""
    if not hasattr(selector, "sees"):
        return Ranked(clone(selector))
    copy = clone(selector)
    if hasattr(copy, "set_callbacks"):
        copy.set_callbacks()
    if isinstance(copy, FeatureRules):
        if copy.groups:
            return copy
        copy.set_params(keep=None, copies="all")  # these affect the order only
    if isinstance(copy, Redundancy | FeatureRules):  # scores are those of the wrapped selector
        inner = copy.estimator
        inner = for_scores(inner) if hasattr(inner, "sees") else inner
        return copy.set_params(estimator=inner, n_features_to_select=1)
    if describe(copy).searches and not describe(copy).wraps:
        copy.set_params(n_features_to_select=1)
    return copy


def permute(
    known: Known,
    method: Any,
    seed: int,
    scores: FloatArray,
    n_done: int,
    n_jobs: int | None,
    track: Track,
    kept: ScoreStore | None,
) -> None:
    """Fill in the scores of the observed samples, followed by those of the permutations."""

    def fit(given: Given) -> FloatArray:
        fitted = clone(method).fit(known.X, **arguments_of(given, method))
        return np.asarray(fitted.scores_, dtype=np.float64)

    if n_done == 0:
        scores[0] = fit(known.given)
        n_done = 1
        if kept is not None:
            kept.save(scores[:1], at_once=True)  # an invalid path raises an error immediately
    rng = np.random.RandomState(seed)
    draws = [known.ways.draw(rng) for _ in range(len(scores) - 1)]
    against = np.inf if describe(method).greater_is_better else -np.inf

    def work(place: int) -> None:
        try:
            scores[place] = fit(known.moved(draws[place - 1]))
        except ValueError:  # a failed fit counts as evidence against every feature
            scores[place] = against

    try:
        left = range(n_done, len(scores))
        steps: Iterable[slice] = track(slices(len(left), PERMUTATIONS_PER_STEP))
        for part in steps:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit to the observed samples has warned
                map_threads(work, left[part], n_jobs)
            n_done = left[part][-1] + 1
            if kept is not None:
                kept.save(scores[:n_done])
    finally:
        if kept is not None:
            kept.save(scores[:n_done], at_once=True)


class ScoreStore:
    """A file of scores with one array per permutation, so that each can be read separately."""

    def __init__(self, path: Path, call: str) -> None:
        self._path, self._call = path, call
        self._n_kept, self._written = 0, time.monotonic()

    def load(self, scores: FloatArray) -> int:
        """Read the stored scores into `scores`, and return the number of rows read."""
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
                f"{str(self._path)!r} is damaged or was not written by feature_p_values.",
                "Delete this file, or choose another one.",
                "store",
            ) from error
        if call != self._call:
            raise GuidedValueError(
                f"{str(self._path)!r} contains permutations for other data, another method or "
                "another seed.",
                "Delete this file, or choose another one.",
                "store",
            )
        return n_found

    def save(self, scores: FloatArray, *, at_once: bool = False) -> None:
        """Write the scores if there are new ones and the last write was long enough ago."""
        late = at_once or time.monotonic() - self._written > SECONDS_PER_WRITE
        if len(scores) <= self._n_kept or not late:
            return
        arrays = {str(place): row for place, row in enumerate(scores)}
        with written_whole(self._path) as part, part.open("wb") as file:
            np.savez(file, allow_pickle=False, call=np.array(self._call), **arrays)
        self._n_kept, self._written = len(scores), time.monotonic()
