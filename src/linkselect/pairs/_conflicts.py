"""Cannot-links that contradict must-links."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

from linkselect._messages import GuidedValueError, many

if TYPE_CHECKING:
    from linkselect.pairs._pairs import Pairs

Pair = tuple[Hashable, Hashable]

# Longer chains are shortened in the middle; the other two numbers are the samples shown at the
# start and at the end.
LONGEST_SHOWN = 8
FIRST_SHOWN, LAST_SHOWN = 4, 3

CORRECT_THE_PAIRS = (
    'Correct the pairs (Pairs.conflicts() lists all conflicts), or pass on_conflict="drop" to '
    "ignore these cannot-links."
)


class Conflict(NamedTuple):
    """A cannot-link and the chain of must-links that contradicts it."""

    cannot: Pair
    chain: tuple[Hashable, ...]

    def __str__(self) -> str:
        names = [repr(sample) for sample in self.chain]
        if len(names) > LONGEST_SHOWN:
            names[FIRST_SHOWN:-LAST_SHOWN] = [
                f"... ({len(names) - FIRST_SHOWN - LAST_SHOWN} more) ..."
            ]
        path = " = ".join(names)
        return f"cannot-link {self.cannot!r}, but must-links connect its samples: {path}"


class PairConflictError(GuidedValueError):
    """Raised when cannot-links contradict must-links.

    Parameters
    ----------
    problem : str
        The cannot-links and the chains of must-links that contradict them.
    hint : str
        Advice on how to resolve the conflicts.
    parameter : str
        The name of the invalid parameter.
    """

    def __init__(
        self, problem: str, hint: str = CORRECT_THE_PAIRS, parameter: str = "pairs"
    ) -> None:
        super().__init__(problem, hint, parameter)


def describe_conflicts(pairs: Pairs) -> str:
    """State the number of contradicting cannot-links, and describe the first three conflicts."""
    n_conflicts = pairs.n_conflicts
    shown = "; ".join(map(str, pairs.conflicts(limit=3)))
    more = f"; and {n_conflicts - 3} more" if n_conflicts > 3 else ""
    verb = "contradicts" if n_conflicts == 1 else "contradict"
    return f"{many(n_conflicts, 'cannot-link')} {verb} the must-links: {shown}{more}."
