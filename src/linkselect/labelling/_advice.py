"""Whether more answers are worth it: how often simulated runs gained in the same state."""

from typing import NamedTuple

N_SETS, MOST_ANSWERS = 30, 100


class State(NamedTuple):
    """Runs in which at least a share of the best features stayed over the last 10 answers."""

    least: float
    """The share."""
    gained: int
    """In how many of 100 runs 20 more answers gained more than one point of accuracy.

    This and the next number are those of docs/asking_simulation.md.
    """
    lost: int
    """In how many they lost more than one."""
    words: str
    """What that means."""


# The first state that fits counts.
STATES = (
    State(0.7, 24, 24, "20 more answers would probably improve the features little{}."),
    State(0.4, 29, 22, "20 more answers may improve the features a little{}."),
    State(0.0, 42, 23, "The features still change: go on."),
)
# Who has not seen that the ranking is better than chance needs more answers for that, too.
TO_CHECK = ", but help to check them"


def advice(n_kept: int | None, n_best: int, *, is_trusted: bool) -> str:
    """Say what 20 more answers would probably gain; nothing if that is not known.

    Parameters
    ----------
    n_kept : int or None
        How many of the best features stayed over the last 10 answers; None if there were none.
    n_best : int
        How many features are called the best.
    is_trusted : bool
        Whether the ranking was shown to be better than chance.

    Examples
    --------
    >>> print(advice(2, 10, is_trusted=False))  # doctest: +ELLIPSIS
    The features still change: go on. In simulations of up to 100 answers on 30 data sets, 20 ...
    """
    if n_kept is None:
        return ""
    state = next(one for one in STATES if n_kept >= one.least * n_best - 1e-9)
    return (
        f"{state.words.format('' if is_trusted else TO_CHECK)} In simulations of up to "
        f"{MOST_ANSWERS} answers on {N_SETS} data sets, 20 more answers in this state gained more "
        f"than one point of accuracy in {state.gained} of 100 runs and lost more than one in "
        f"{state.lost}."
    )
