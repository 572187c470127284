"""Short descriptions of why features are selected or not."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkselect._arrays import BoolArray, IntArray
from linkselect._samples.devices import to_numpy


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
    """Return the reason why each feature is selected or not, in column order.

    Parameters
    ----------
    order : ndarray of int of shape (n_features,)
        Feature indices, sorted from best to worst.
    n_selected : int
        Number of selected features.
    constant : ndarray of bool of shape (n_features,)
        A mask of the constant features.
    names : sequence of str
        Names of the features.
    copy_of : ndarray of int of shape (n_features,), optional
        For each feature, the feature of which it is a copy; -1 if it is not a copy.
    correlated : mapping of int to int, optional
        Maps a feature to the selected feature with which it is highly correlated.
    excluded, unstable : ndarray of bool of shape (n_features,), optional
        Masks of the features that were excluded by the user, and of those omitted because they are
        unstable.

    Examples
    --------
    >>> import numpy as np
    >>> constant = np.array([False, False, True, False])
    >>> copy_of = np.array([-1, 0, -1, -1])
    >>> feature_reasons(np.array([0, 3, 1, 2]), 1, constant, "abcd", copy_of=copy_of).tolist()
    ['selected', 'copy of a', 'constant', 'below the cut']
    """
    found = np.full(len(order), "below the cut", dtype=object)
    # Later assignments take precedence.
    for feature, other in (correlated or {}).items():
        found[feature] = f"correlated with {names[other]}"
    if unstable is not None:
        found[unstable] = "unstable"
    if copy_of is not None:
        for feature in np.flatnonzero(copy_of >= 0).tolist():
            found[feature] = f"copy of {names[copy_of[feature]]}"
    found[constant] = "constant"
    if excluded is not None:
        found[excluded] = "excluded"
    found[order[:n_selected]] = "selected"
    return found


def reasons_of(selector: Any, names: NDArray[Any]) -> NDArray[np.object_]:
    """Return the reason why a fitted selector does or does not select each feature."""
    own = getattr(selector, "reasons_", None)
    if own is not None:
        return np.asarray(own)
    order, constant = to_numpy(selector.order_), to_numpy(selector._constant)
    unstable = unstable_features(selector)
    return feature_reasons(order, selector.n_features_, constant, names, unstable=unstable)


def unstable_features(selector: Any) -> BoolArray | None:
    """Return a mask of the features that a `StableSelector` drops; None for other selectors."""
    inner = getattr(selector, "estimator_", None)
    if not hasattr(selector, "selection_frequencies_") or inner is None:
        return None
    return np.asarray(inner.get_support() & ~selector.get_support())
