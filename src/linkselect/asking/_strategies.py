"""The strategies of asking, by name, and the questions among theirs that are drawn at random."""

from __future__ import annotations

from dataclasses import replace

from linkselect._messages import GuidedValueError
from linkselect.asking._at_random import apart, at_random
from linkselect.asking._grow import grow
from linkselect.asking._known import Known, Rows
from linkselect.asking._minmax import minmax
from linkselect.asking._situation import Situation, Strategy

STRATEGIES: dict[str, Strategy] = {"grow": grow, "minmax": minmax, "random": at_random}
# A ranking can be validated only by pairs that were chosen without looking at the samples. So every
# fifth question is drawn at random, whatever the strategy.
EVERY = 5


def is_drawn(strategy: str, n_answers: int) -> bool:
    """Tell whether the question after so many answers is drawn at random."""
    return strategy == "random" or n_answers % EVERY == EVERY - 1


def next_question(strategy: str, now: Situation, seen: Known) -> Rows | None:
    """Choose the next question; None if nothing is left.

    Parameters
    ----------
    strategy : str
        The name of the strategy.
    now : Situation
        All that is known.
    seen : Known
        What the strategy may see: the answers to drawn questions are missing, and their samples
        are named. It would else choose by what is to validate its choice.
    """
    if is_drawn(strategy, now.n_answers):
        return at_random(now) if strategy == "random" else apart(now)
    found = STRATEGIES[strategy](replace(now, known=seen))
    # Once all samples are named, it may come upon what follows from drawn questions.
    return STRATEGIES[strategy](now) if found is None or now.known.decided(*found) else found


def check_strategy(name: object) -> str:
    """Return the name if it is one of a strategy."""
    if not isinstance(name, str) or name not in STRATEGIES:
        known = ", ".join(map(repr, STRATEGIES))
        raise GuidedValueError(
            f"strategy={name!r}, but there is no such strategy.",
            f"Choose one of {known}.",
            "strategy",
        )
    return name
