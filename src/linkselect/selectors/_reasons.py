"""Why each feature is selected or not, in a word or two."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import BoolArray, IntArray


def feature_reasons(
    order: IntArray,
    n_selected: int,
    constant: BoolArray,
    names: Sequence[str] | NDArray[Any],
    *,
    copy_of: IntArray | None = None,
    correlated: Mapping[int, int] | None = None,
    excluded: BoolArray | None = None,
    unstable: BoolArray | None = None,
) -> NDArray[np.object_]:
    """Give the reason why each feature is selected or not, in the order of the columns.

    Parameters
    ----------
    order : ndarray of int of shape (n_features,)
        Feature indices, best first.
    n_selected : int
        How many of them are selected.
    constant : ndarray of bool of shape (n_features,)
        Which features have one value only.
    names : sequence of str
        The names of the features.
    copy_of : ndarray of int of shape (n_features,), optional
        Of which feature each is a copy; -1 for none.
    correlated : mapping of int to int, optional
        With which selected feature others are highly correlated.
    excluded, unstable : ndarray of bool of shape (n_features,), optional
        Which features the user excluded, and which are left out since they are unstable.

    Examples
    --------
    >>> import numpy as np
    >>> constant = np.array([False, False, True, False])
    >>> copy_of = np.array([-1, 0, -1, -1])
    >>> feature_reasons(np.array([0, 3, 1, 2]), 1, constant, "abcd", copy_of=copy_of).tolist()
    ['selected', 'copy of a', 'constant', 'below the cut']
    """
    found = np.full(len(order), "below the cut", dtype=object)
    # What comes later counts more.
    for feature, other in (correlated or {}).items():
        found[feature] = f"correlated with {names[other]}"
    if unstable is not None:
        found[unstable] = "unstable"
    if copy_of is not None:
        for copy in np.flatnonzero(copy_of >= 0):
            found[copy] = f"copy of {names[copy_of[copy]]}"
    found[constant] = "constant"
    if excluded is not None:
        found[excluded] = "excluded"
    found[order[:n_selected]] = "selected"
    return found
