"""Merging of ordered results in a tree that does not depend on the order in which they arrive."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

# The number of results per merge. It is smaller for large results, since up to this many wait on
# every level of the tree.
FAN_IN, FAN_IN_OF_LARGE = 8, 2


def level_sizes(n_leaves: int, fan_in: int = FAN_IN) -> list[int]:
    """Return the number of results on every level of the tree, from the leaves to the root.

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
    """Tree that merges results as they arrive, in the thread that completes a group of results.

    Only a few results are therefore waiting at any time, and the tree is the same for any number of
    threads.

    Parameters
    ----------
    n_leaves : int
        The number of results to be merged.
    merge : callable
        Function that merges an ordered list of results into one result.
    fan_in : int
        The number of results that are merged at a time.
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
        """Add the result of the leaf at position `place`, and merge its group if it is complete."""
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
    """Merge a list of results; a single result is returned unchanged."""
    return results[0] if len(results) == 1 else merge(list(results))
