"""Why each feature is selected or not."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkselect._arrays import BoolArray, IntArray

# Features that are correlated so highly count as copies.
COPY = 0.999


def feature_reasons(
    order: IntArray,
    n_selected: int,
    constant: BoolArray,
    names: Sequence[str],
    *,
    copy_of: IntArray | None = None,
    excluded: BoolArray | None = None,
    correlated: Mapping[int, int] | None = None,
    unstable: BoolArray | None = None,
) -> list[str]:
    """Say of each feature why it is selected or not, in the order of the columns.

    Parameters
    ----------
    order : ndarray of int of shape (n_features,)
        The features, best first.
    n_selected : int
        How many of them are selected.
    constant : ndarray of bool of shape (n_features,)
        Which have one value only.
    names : sequence of str
        Their names.
    copy_of : ndarray of int of shape (n_features,), optional
        The feature of which each is a copy; -1 for none.
    excluded, unstable : ndarray of bool of shape (n_features,), optional
        Which the user excluded; which were selected on all samples, but on too few resamples.
    correlated : mapping of int to int, optional
        The selected feature with which a feature is highly correlated.

    Examples
    --------
    >>> feature_reasons(np.array([1, 0, 2]), 1, np.array([False, False, True]), "abc")
    ['below the cut', 'selected', 'constant']
    """
    found = ["below the cut"] * len(order)
    for feature, other in (correlated or {}).items():
        found[feature] = f"correlated with {names[other]}"
    for feature in _where(unstable):
        found[feature] = "unstable"
    for feature in [] if copy_of is None else np.flatnonzero(copy_of >= 0).tolist():
        found[feature] = f"copy of {names[copy_of[feature]]}"
    for feature in _where(constant):
        found[feature] = "constant"
    for feature in _where(excluded):
        found[feature] = "excluded"
    for feature in order[:n_selected].tolist():
        found[feature] = "selected"
    return found


def unstable_features(selector: Any) -> BoolArray | None:
    """Return which features a selector of stable features leaves out for their frequency."""
    inner = getattr(selector, "estimator_", None)
    if not hasattr(selector, "selection_frequencies_") or inner is None:
        return None
    return np.asarray(inner.get_support() & ~selector.get_support())


def _where(mask: BoolArray | None) -> list[int]:
    return [] if mask is None else np.flatnonzero(mask).tolist()
