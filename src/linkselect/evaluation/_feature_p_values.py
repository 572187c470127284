"""Permutation tests of each feature, corrected for multiple testing."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state, check_scalar

from linkselect._arrays import FloatArray
from linkselect._bibliography import cites
from linkselect._blocks import slices
from linkselect.evaluation._inputs import Track, check_selector, reproducible
from linkselect.evaluation._permutation import ROUNDING
from linkselect.evaluation._permuted_scores import Known, ScoreStore, for_scores, permute
from linkselect.pairs import Pairs
from linkselect.selectors._method import describe


@dataclass(frozen=True)
class FeaturePValues:
    """P-values of all features under the null hypothesis that X is unrelated to pairs or labels.

    Attributes
    ----------
    p_values : ndarray of shape (n_features,)
        The permutation p-value of each feature, not corrected for multiple testing.
    adjusted : ndarray of shape (n_features,)
        P-values adjusted by the step-down max-T procedure. Selecting all features with a value of
        at most 0.05 controls the family-wise error rate at 5 %: at least one selected feature is a
        false positive in at most 5 % of analyses.
    q_values : ndarray of shape (n_features,)
        P-values adjusted by the Benjamini-Hochberg procedure. Selecting all features with a value
        of at most 0.1 controls the false discovery rate at 10 %: on average, at most 10 % of the
        selected features are false positives.
    n_permutations : int
        The number of permutations.
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
    """Test by permutation whether the score of each feature is better than expected by chance.

    The test statistic is the feature's value in `scores_`; the method defines whether larger or
    smaller values are better. For a method that searches for a subset, the test statistic is the
    score of the feature alone. The method is refitted to permuted samples, while pairs and labels
    remain unchanged.

    A small p-value means that a feature is related to the pairs or labels. It does not mean that
    the feature adds information beyond that in the other features: two copies of a feature have the
    same p-value.

    Parameters
    ----------
    selector : selector
        A method that uses pairs or labels, from this library or from another one. It is cloned.
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,), optional
        Labels. Without pairs, only labelled samples are permuted.
    pairs : Pairs, optional
        Must-links and cannot-links. To use labels as well, pass `pairs | Pairs.from_labels(y)`.
        Adaptive pairs (`Pairs.adaptive`) raise an error.
    sample_ids : iterable of hashable, optional
        The ID of each sample. Default: the index of X if it is a pandas object, otherwise row
        numbers.
    groups : array-like of shape (n_samples,), optional
        The group of each sample, such as the patient. Groups are permuted as a whole, among groups
        of the same size.
    batches : array-like of shape (n_samples,), optional
        The batch of each sample, such as the plate. Samples are permuted only within batches.
    n_permutations : int, default=199
        The number of permutations. The smallest possible p-value is `1 / (1 + n_permutations)`.
    random_state : int, RandomState or None, default=None
        Seed for the permutations, and for the selector if its own `random_state` is None. The value
        None is equivalent to 0, so that repeated calls give the same result.
    n_jobs : int, optional
        The number of threads. Default: the number of threads that BLAS may use. The result does not
        depend on the number of threads.
    track : callable, default=iter
        A function that wraps the list of steps, for example in a progress bar.
    store : path, optional
        A file (.npz) in which the scores of completed permutations are saved. If the call is
        repeated, even with more permutations, it resumes from this file. If the file has any other
        content, an error is raised.

    Returns
    -------
    FeaturePValues
        P-values, adjusted p-values and q-values.

    See Also
    --------
    validate : Test whether the selected features together are better than chance.

    Notes
    -----
    The test is exact if the pairs or labels were chosen without looking at X, and if
    samples within a batch, or groups of the same size, are exchangeable. Because pairs may share
    samples, the samples are permuted instead of the pairs. After a permutation, no feature is
    related to the pairs or labels. If the score of a feature also depends on other features, as in
    `LinkSelector`, the error rates are therefore exact if no feature is relevant, and approximate
    otherwise.

    `p_values` are `(1 + b) / (1 + B)`, where b is the number of the B permutations in which the
    score of the feature is at least as good. Scores that differ only by rounding are treated as
    equal.

    For `adjusted` and `q_values`, the scores of each feature are standardised by their mean and
    standard deviation over the observed and all permuted samples. For `adjusted`, each feature is
    compared with the maximum over all features whose score is not better [1]_, which accounts for
    correlation between features. For `q_values`, the Benjamini-Hochberg procedure [2]_ is applied
    to p-values from a null distribution pooled over all features; with few permutations, the
    p-values of single features could not become small enough. This assumes that the standardised
    scores of all irrelevant features have the same distribution, and that dependence between
    features is positive or weak. If some features have a very different distribution, such as rare
    binary features among continuous ones, prefer `adjusted`.

    A missing score (NaN), for example of a constant feature, is treated as the worst possible
    score. If the observed score of a feature is missing, its p-values and q-value are 1. Before
    standardisation, each infinite score is replaced by a finite score that lies outside the
    feature's range, at a distance equal to the width of this range. If the method cannot be fitted
    to a permutation, this counts as evidence against every feature.

    The test stores `(1 + n_permutations) * n_features` numbers in memory.

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
    known = Known.read(selector, X, y, pairs, sample_ids, groups, batches)
    check_scalar(n_permutations, "n_permutations", Integral, min_val=1)
    given_seed = 0 if random_state is None else random_state
    seed = int(check_random_state(given_seed).randint(np.iinfo(np.int32).max))
    method = for_scores(reproducible(selector, seed))
    scores = np.empty((1 + n_permutations, known.X.shape[1]))
    kept = None if store is None else ScoreStore(Path(store), known.fingerprint(method, seed))
    n_done = 0 if kept is None else kept.load(scores)
    permute(known, method, seed, scores, n_done, n_jobs, track, kept)
    if not describe(method).greater_is_better:
        np.negative(scores, out=scores)
    return FeaturePValues(*_p_values(scores), int(n_permutations))


def _p_values(scores: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return p-values, max-T adjusted p-values and q-values; larger scores are better.

    Parameters
    ----------
    scores : array of shape (1 + n_permutations, n_features)
        The first row contains the scores of the observed samples, and each other row contains the
        scores of one permutation. A row is infinite if the method could not be fitted to the
        permutation. The array is overwritten.
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
    """Standardise the scores of some features over the observed and all permuted samples.

    Returns
    -------
    scores : array
        Scores with mean 0 and standard deviation 1; minus infinity if all scores of a feature are
        equal.
    least : array of shape (n_features,)
        The smallest score that is treated as equal to the observed score: the observed score minus
        a tolerance for rounding errors. It is minus infinity for a feature whose scores are all
        equal.
    """
    finite = np.isfinite(scores)
    low = np.where(finite, scores, np.inf).min(axis=0)
    high = np.where(finite, scores, -np.inf).max(axis=0)
    none = low > high
    low[none], high[none] = 0.0, 0.0
    span = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    # A missing score counts as the worst.
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
    """Return the smallest false discovery rate at which each feature is selected."""
    n_features = len(p_values)
    order = np.argsort(p_values, kind="stable")
    rates = p_values[order] * n_features / np.arange(1, n_features + 1)
    found = np.empty(n_features)
    found[order] = np.minimum.accumulate(rates[::-1])[::-1]
    return np.minimum(found, 1.0)
