"""The strategies of asking, by name."""

from __future__ import annotations

from linkselect.asking.at_random import at_random
from linkselect.asking.grow import grow
from linkselect.asking.minmax import minmax
from linkselect.asking.situation import Strategy
from linkselect.messages import GuidedValueError

__all__ = ["STRATEGIES", "find_strategy"]

STRATEGIES: dict[str, Strategy] = {"grow": grow, "minmax": minmax, "random": at_random}


def find_strategy(name: object) -> Strategy:
    """Return the strategy of a name."""
    if not isinstance(name, str) or name not in STRATEGIES:
        known = ", ".join(map(repr, STRATEGIES))
        raise GuidedValueError(
            f"strategy={name!r}, but there is no such strategy.",
            f"Choose one of {known}.",
            "strategy",
        )
    return STRATEGIES[name]
