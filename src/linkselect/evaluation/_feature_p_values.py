"""Significance of each feature, by permuting which row is which sample."""

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
    links. In a permutation no feature is related to the pairs or labels; so if the score of a
    feature depends on other features, as in `LinkSelector`, the error rates are exact where no
    feature is relevant, and approximate beside relevant ones.

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
