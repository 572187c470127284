"""Advice on whether to answer more questions, based on simulations of similar situations."""

from typing import NamedTuple

N_SETS, MOST_ANSWERS = 30, 100


class State(NamedTuple):
    """Simulated effect of 20 more answers, depending on the stability of the best features."""

    least: float
    """Minimum proportion of the best features that were also among the best ones 10 answers ago."""
    gained: int
    """Percentage of runs in which 20 more answers increased accuracy by more than one point.

    `gained` and `lost` are taken from docs/asking_simulation.md.
    """
    lost: int
    """Percentage of runs in which 20 more answers reduced accuracy by more than one point."""
    words: str
    """The recommendation."""


# The first matching state applies.
STATES = (
    State(0.7, 24, 24, "20 more answers are unlikely to improve the ranking much.{}"),
    State(0.4, 29, 22, "20 more answers may improve the ranking slightly.{}"),
    State(0.0, 42, 23, "The best features are still changing: keep answering."),
)
# Until the ranking is shown to be better than chance, more answers also serve to validate it.
TO_CHECK = " More answers would help to validate the ranking."


def advice(n_kept: int | None, n_best: int, *, is_trusted: bool) -> str:
    """Return a sentence on the expected benefit of 20 more answers, or "" if it is unknown.

    Parameters
    ----------
    n_kept : int or None
        Number of the best features that were already among the best before the last 10 answers.
        None if there was no ranking at that time.
    n_best : int
        Number of best features.
    is_trusted : bool
        Whether the ranking has been shown to be better than chance.

    Examples
    --------
    >>> print(advice(2, 10, is_trusted=False))  # doctest: +ELLIPSIS
    The best features are still changing: keep answering. In simulations on 30 data sets with ...
    """
    if n_kept is None:
        return ""
    state = next(one for one in STATES if n_kept >= one.least * n_best - 1e-9)
    return (
        f"{state.words.format('' if is_trusted else TO_CHECK)} In simulations on {N_SETS} data "
        f"sets with up to {MOST_ANSWERS} answers, 20 more answers increased accuracy by more than "
        f"one percentage point in {state.gained} % of such cases and reduced it by more than one "
        f"percentage point in {state.lost} %."
    )
