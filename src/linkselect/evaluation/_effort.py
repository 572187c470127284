"""Plan the numbers of folds, permutations and resamples from the problem size and the method."""

from typing import Any, NamedTuple

# Seconds per fit and million values of X for selectors of other libraries; ours define their own.
USUAL_SECONDS = 0.1
# Graph methods compare all pairs of samples, so above this number, run time is superlinear.
MANY_SAMPLES = 1000
# Even the smallest fit takes some time, which corresponds to at least this many values.
LEAST_NUMBERS = 100_000
# Time budget in seconds, for the fits and for ranking again on permuted samples.
SECONDS = 10.0
# A fold holds out too few groups to permute them among themselves. Features must therefore be
# ranked again on permuted samples, which may take this many times longer.
FOR_GROUPS = 3
# To average over random splits, the folds are repeated if this takes at most this many seconds.
SECONDS_FOR_REPEATS = 2.0

MOST_FOLDS, FEWEST_FOLDS = 5, 3
MOST_REPEATS = 2
# Number of folds within the training part of a fold, used to choose a number of features there.
FOLDS_INSIDE = 3
MOST_RESAMPLES, FEWEST_RESAMPLES = 50, 10
# The fewest permutations with which a p-value of 1 / 40 = 0.025 can be reached.
PERMUTATIONS = 39


class Effort(NamedTuple):
    """Planned numbers of folds, resamples and permutations.

    Attributes
    ----------
    n_folds : int
        The number of folds. Pairs are always split into two folds.
    n_repeats : int
        The number of repeats of the folds, each with a different random split.
    n_resamples : int
        The number of random halves of the samples that are used to measure stability.
    n_permutations : int
        The number of permutations for which features are ranked again in all folds; 0 if this takes
        too long.
    """

    n_folds: int
    n_repeats: int
    n_resamples: int
    n_permutations: int


def plan_fits(
    selector: Any,
    n_samples: int,
    n_features: int,
    n_pairs: int = 0,
    *,
    by_pairs: bool = False,
    fits_per_fold: int = 1,
    grouped: bool = False,
) -> Effort:
    """Return the numbers of folds, resamples and permutations that fit into the time budget.

    The default is 5 folds with labels, 2 folds with pairs, and 50 resamples. If the estimated run
    time exceeds ten seconds, the number of resamples is reduced first, to at least 10, and then the
    number of folds of labels, to at least 3. Features are ranked again in all folds for 39
    permutations if this takes at most ten seconds, or thirty seconds with groups. The folds are
    repeated with a second random split if both splits together take at most two seconds.

    Parameters
    ----------
    selector : selector
        The method.
    n_samples, n_features, n_pairs : int
        The numbers of samples, features and pairs.
    by_pairs : bool, default=False
        Whether pairs are held out rather than labels.
    fits_per_fold : int, default=1
        The number of fits in each fold.
    grouped : bool, default=False
        Whether samples are held out and permuted in groups.

    Examples
    --------
    >>> from linkselect import SCGS, ConstraintScore
    >>> plan_fits(ConstraintScore(), 200, 5000, 40, by_pairs=True)
    Effort(n_folds=2, n_repeats=1, n_resamples=50, n_permutations=39)
    >>> plan_fits(SCGS(), 200, 5000)
    Effort(n_folds=3, n_repeats=1, n_resamples=10, n_permutations=0)
    """
    numbers = max(n_samples * n_features, LEAST_NUMBERS) * max(1.0, n_samples / MANY_SAMPLES)
    seconds = _seconds(selector, n_pairs) * numbers / 1e6
    n_fits = int(SECONDS / seconds)
    n_resamples = min(max(2 * (n_fits - MOST_FOLDS), FEWEST_RESAMPLES), MOST_RESAMPLES)
    n_folds = 2 if by_pairs else min(max(n_fits - n_resamples // 2, FEWEST_FOLDS), MOST_FOLDS)
    once = (PERMUTATIONS + 1) * n_folds * fits_per_fold * seconds
    n_repeats = min(max(1, int(SECONDS_FOR_REPEATS / once)), MOST_REPEATS)
    affordable = SECONDS * (FOR_GROUPS if grouped else 1)
    return Effort(n_folds, n_repeats, n_resamples, PERMUTATIONS if once <= affordable else 0)


def _seconds(selector: Any, n_pairs: int) -> float:
    """Return the estimated time of one fit, in seconds per million values of X."""
    inner = getattr(selector, "estimator", None)
    if inner is not None:
        return _seconds(inner, n_pairs) * (1 + getattr(selector, "n_resamples", 0) / 2)
    members = getattr(selector, "estimators", None)
    if isinstance(members, list | tuple):
        return sum(_seconds(member, n_pairs) for _, member in members)
    estimate = getattr(selector, "_seconds_per_million", None)
    return USUAL_SECONDS if estimate is None else float(estimate(n_pairs))
