"""A tree over results in order: the same merges whoever finishes first."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

# How many results one merge takes; of large ones fewer, since so many wait on every level.
FAN_IN, FAN_IN_OF_LARGE = 8, 2


def level_sizes(n_leaves: int, fan_in: int = FAN_IN) -> list[int]:
    """Return the number of results on every level, from the leaves to the one at the top.

    Examples
    --------
    >>> level_sizes(20), level_sizes(1)
    ([20, 3, 1], [1])
    """
    sizes = [n_leaves]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // fan_in))
    return sizes


class MergeTree:
    """Merge results as they come: whoever brings the last of a group merges it.

    So few results wait at any time, and the tree is the same for any number of threads.

    Parameters
    ----------
    n_leaves : int
        How many results will come.
    merge : callable
        Takes a list of results in order and returns one.
    fan_in : int
        How many results are merged at a time.
    """

    def __init__(
        self, n_leaves: int, merge: Callable[[list[Any]], Any], fan_in: int = FAN_IN
    ) -> None:
        self.merge, self.fan_in = merge, fan_in
        self.sizes = level_sizes(n_leaves, fan_in)
        self.waiting: dict[tuple[int, int], dict[int, Any]] = {}
        self.lock = threading.Lock()
        self.top: Any = None

    def add(self, place: int, result: Any) -> None:
        """Put the result of one leaf in its place."""
        for level, size in enumerate(self.sizes[:-1]):
            group = place // self.fan_in
            expected = min(self.fan_in, size - group * self.fan_in)
            with self.lock:
                here = self.waiting.setdefault((level, group), {})
                here[place] = result
                if len(here) < expected:
                    return
                del self.waiting[level, group]
            result = merge_group(self.merge, [here[key] for key in sorted(here)])
            place = group
        self.top = result


def merge_group(merge: Callable[[list[Any]], Any], results: Sequence[Any]) -> Any:
    """Merge results; one alone stays as it is."""
    return results[0] if len(results) == 1 else merge(list(results))
