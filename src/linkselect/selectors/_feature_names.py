"""Functions that find features by name, index, mask, pattern or group."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from linkselect._arrays import IntArray
from linkselect._messages import GuidedValueError, many, nearest


def find_features(wanted: Any, names: Sequence[str] | None, n: int, parameter: str) -> IntArray:
    """Return the unique indices of features that are given by name, index or mask."""
    if wanted is None:
        return np.empty(0, dtype=np.intp)
    given = list(wanted)
    if given and all(isinstance(one, bool | np.bool_) for one in given):
        if len(given) != n:
            raise GuidedValueError(
                f"{parameter} is a mask of {many(len(given), 'value')}, but X has "
                f"{many(n, 'feature')}.",
                "Pass a mask with one value for each feature, or use names or indices.",
                parameter,
            )
        return np.flatnonzero(given)
    found = [_find_feature(one, names, n, parameter) for one in given]
    return np.array(list(dict.fromkeys(found)), dtype=np.intp)


def _find_feature(one: Any, names: Sequence[str] | None, n: int, parameter: str) -> int:
    if isinstance(one, str):
        if names is None:
            raise GuidedValueError(
                f"{parameter} contains the feature name {one!r}, but X has no feature names.",
                "Pass X as a data frame with strings as column names, or pass indices.",
                parameter,
            )
        places = [place for place, name in enumerate(names) if name == one]
        if places:
            return places[0]
        raise GuidedValueError(
            f"{parameter} contains the name {one!r}, which is not a feature of X.",
            nearest(one, map(str, names)),
            parameter,
        )
    if isinstance(one, int | np.integer) and not isinstance(one, bool) and 0 <= one < n:
        return int(one)
    raise GuidedValueError(
        f"{parameter} contains {one!r}, which is not a feature of X.",
        f"Pass names of features, indices from 0 to {n - 1}, or a mask.",
        parameter,
    )


def find_groups(groups: Any, names: Sequence[str] | None, n: int) -> list[IntArray]:
    """Return the members of each group. A string defines a group by a pattern for names."""
    if groups is None:
        return []
    listed = list(groups.items() if isinstance(groups, Mapping) else enumerate(groups))
    found: list[IntArray] = []
    owner: dict[int, Any] = {}
    for name, members in listed:
        if isinstance(members, str):
            places = _matching(members, names)
        else:
            places = find_features(members, names, n, "groups")
        if not len(places):
            raise GuidedValueError(
                f"Group {name!r} has no members.", "List at least one feature.", "groups"
            )
        for place in places.tolist():
            if place in owner:
                feature = place if names is None else names[place]
                raise GuidedValueError(
                    f"Feature {feature!r} is in two groups, {owner[place]!r} and {name!r}.",
                    "Assign each feature to at most one group.",
                    "groups",
                )
            owner[place] = name
        found.append(places)
    return found


def _matching(pattern: str, names: Sequence[str] | None) -> IntArray:
    if names is None:
        raise GuidedValueError(
            f"groups contains the pattern {pattern!r}, but X has no feature names.",
            "Pass X as a data frame with strings as column names, or pass lists of indices.",
            "groups",
        )
    # A name may contain brackets, which have a special meaning in a pattern.
    found = [i for i, name in enumerate(names) if name == pattern or fnmatchcase(name, pattern)]
    if not found:
        problem = f"No feature matches the pattern {pattern!r} in groups."
        raise GuidedValueError(problem, nearest(pattern, map(str, names)), "groups")
    return np.array(found, dtype=np.intp)
