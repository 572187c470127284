"""How many folds and resamples a table is worth: by its size and the method, never by a clock."""

from __future__ import annotations

from typing import Any

__all__ = ["count_fits"]

# Seconds of one fit on a million numbers (200 x 5,000), rounded up, as measured once. They are
# constants: with the time of this run instead, the same command could print something else.
SECONDS_PER_MILLION = {
    "SparsityScore": 60.0,
    "NearestNeighborSFS": 6.0,
    "ConsensusSelector": 6.0,
    "SCGS": 3.0,
    "SimilarityConstraintScore": 3.0,
    "EnsembleCLS": 10.0,
    "ReliefF": 1.0,
}
USUAL_SECONDS = 0.1
# Graphs compare all samples with each other: beyond this many, a sample costs more than its row.
MANY_SAMPLES = 1000
# A fit on next to nothing still takes a moment.
LEAST_NUMBERS = 100_000
SECONDS = 10.0

MOST_FOLDS, FEWEST_FOLDS = 5, 3
MOST_RESAMPLES, FEWEST_RESAMPLES = 30, 5


def count_fits(selector: Any, n_samples: int, n_features: int, n_pairs: int = 0) -> tuple[int, int]:
    """Return how many folds and how many resamples are affordable.

    5 folds and 30 resamples, or as many fits as a rough sum of constants puts at ten seconds, but
    at least 3 folds and 5 resamples. The resamples, which hold half the samples, give way first.

    Examples
    --------
    >>> from linkselect import SCGS, ConstraintScore
    >>> count_fits(ConstraintScore(), 200, 5000), count_fits(SCGS(), 200, 5000)
    ((5, 30), (3, 5))
    """
    numbers = max(n_samples * n_features, LEAST_NUMBERS) * max(1.0, n_samples / MANY_SAMPLES)
    n_fits = int(SECONDS / (_seconds(selector, n_pairs) * numbers / 1e6))
    n_resamples = min(max(2 * (n_fits - MOST_FOLDS), FEWEST_RESAMPLES), MOST_RESAMPLES)
    n_folds = min(max(n_fits - n_resamples // 2, FEWEST_FOLDS), MOST_FOLDS)
    return n_folds, n_resamples


def _seconds(selector: Any, n_pairs: int) -> float:
    """Return the seconds of one fit on a million numbers; a wrapper fits what it is around."""
    inner = getattr(selector, "estimator", None)
    if inner is not None:
        return _seconds(inner, n_pairs) * (1 + getattr(selector, "n_resamples", 0) / 2)
    members = getattr(selector, "estimators", None)
    if isinstance(members, list | tuple):
        return sum(_seconds(member, n_pairs) for _, member in members)
    name = type(selector).__name__
    seconds = SECONDS_PER_MILLION.get(name, USUAL_SECONDS)
    if name == "SimilarityConstraintScore" and n_pairs and selector.mode == "supervised":
        # It searches over the pairs, not over all pairs of samples.
        return min(seconds, USUAL_SECONDS * (1 + n_pairs / 100))
    return seconds
