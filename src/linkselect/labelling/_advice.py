"""Advice on whether to answer more questions, from simulations in a similar situation."""

from typing import NamedTuple

N_SETS, MOST_ANSWERS = 30, 100


class State(NamedTuple):
    """Simulated effect of 20 more answers, given how stable the best features were."""

    least: float
    """Minimum share of the best features that were also among the best 10 answers ago."""
    gained: int
    """Percentage of runs in which 20 more answers raised accuracy by more than one point.

    `gained` and `lost` are taken from docs/asking_simulation.md.
    """
    lost: int
    """Percentage of runs in which 20 more answers lowered accuracy by more than one point."""
    words: str
    """The recommendation."""


# The first matching state applies.
STATES = (
    State(0.7, 24, 24, "20 more answers are unlikely to improve the ranking much.{}"),
    State(0.4, 29, 22, "20 more answers may improve the ranking slightly.{}"),
    State(0.0, 42, 23, "The best features are still changing: keep answering."),
)
# Until the ranking is shown to be better than chance, more answers also serve to validate it.
TO_CHECK = " They would help to validate it."


def advice(n_kept: int | None, n_best: int, *, is_trusted: bool) -> str:
    """Return a sentence on the expected benefit of 20 more answers; empty if unknown.

    Parameters
    ----------
    n_kept : int or None
        Number of the best features that were also among the best 10 answers ago. None if there
        was no ranking then.
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
        f"sets with up to {MOST_ANSWERS} answers, 20 more answers raised accuracy by more than one "
        f"percentage point in {state.gained} % of such cases and lowered it as much in "
        f"{state.lost} %."
    )
