"""How many folds, permutations and resamples a table gets: by its size and method, not a clock."""

from typing import Any, NamedTuple

# Seconds of one fit of a selector of another library on a million numbers. Ours say it themselves.
USUAL_SECONDS = 0.1
# Graphs compare all samples with each other: beyond this many, a sample costs more than its row.
MANY_SAMPLES = 1000
# A fit on next to nothing still takes a moment.
LEAST_NUMBERS = 100_000
SECONDS = 10.0
# Groups that a fold holds out are too few to change places among themselves, so that ranking again
# is the only test: it may take this many times as long.
FOR_GROUPS = 3
# Folds are dealt more than once, to average out their luck, if that is a matter of a moment.
SECONDS_FOR_REPEATS = 2.0

MOST_FOLDS, FEWEST_FOLDS = 5, 3
MOST_REPEATS = 2
# Folds of what a fold leaves, by which it chooses a number of features.
FOLDS_INSIDE = 3
MOST_RESAMPLES, FEWEST_RESAMPLES = 50, 10
# The fewest permutations with which one test in forty can be passed.
PERMUTATIONS = 39


class Effort(NamedTuple):
    """How often a method is fitted.

    Attributes
    ----------
    n_folds : int
        Into how many folds labels are dealt; pairs are dealt into two.
    n_repeats : int
        How often the folds are dealt.
    n_resamples : int
        On how many halves of the samples stability is measured.
    n_permutations : int
        On how many permutations all folds are ranked again; 0 if that would take too long.
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
    """Return how many fits are affordable.

    With labels 5 folds, with pairs 2, and 50 resamples; or as many fits as a rough sum of constants
    puts at ten seconds, but at least 3 folds and 10 resamples. The resamples, which hold half the
    samples, give way first. The folds are ranked again on 39 permutations if that takes no more
    than ten seconds, with groups thirty, and dealt twice if it takes two.

    Parameters
    ----------
    selector : selector
        The method.
    n_samples, n_features, n_pairs : int
        The size of the problem.
    by_pairs : bool, default=False
        Whether pairs are held out, and not labels.
    fits_per_fold : int, default=1
        How many fits each fold takes.
    grouped : bool, default=False
        Whether rows of a group stay together.

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
    """Return the seconds of one fit on a million numbers; a wrapper fits what it is around."""
    inner = getattr(selector, "estimator", None)
    if inner is not None:
        return _seconds(inner, n_pairs) * (1 + getattr(selector, "n_resamples", 0) / 2)
    members = getattr(selector, "estimators", None)
    if isinstance(members, list | tuple):
        return sum(_seconds(member, n_pairs) for _, member in members)
    estimate = getattr(selector, "_seconds_per_million", None)
    return USUAL_SECONDS if estimate is None else float(estimate(n_pairs))
