"""Checks of what a user passes in: samples, labels, the index of a frame."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    validate_data,
)

from linkselect.arrays import Matrix
from linkselect.columns import FAINT, faint_columns
from linkselect.messages import GuidedValueError, many
from linkselect.pairs import is_missing

__all__ = ["check_labels", "check_samples", "check_spread", "index_of", "too_large"]

# How many columns an error names.
NAMES_SHOWN = 5


def check_samples(estimator: BaseEstimator, X: Any) -> Matrix:
    """Check X as scikit-learn does: numbers, finite, two samples or more; dense, CSR or CSC."""
    given = X
    try:
        X = validate_data(
            estimator,
            X,
            accept_sparse=("csr", "csc"),
            # Integers stay integers: column blocks become float64 one at a time.
            dtype="numeric",
            ensure_min_samples=2,
        )
        if X.dtype.kind in "OUS":  # what polars has mixed with text passes the check
            X = X.astype(np.float64)
    except (TypeError, ValueError) as error:
        _name_columns_without_numbers(given, error)
        raise
    if issparse(X) and not (X.has_canonical_format and X.data.all()):
        # Entries that are stored twice would count twice, and stored zeros in another order.
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def _name_columns_without_numbers(X: Any, error: Exception) -> None:
    """Raise an error that names the columns of a frame that hold no numbers, if there are any."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    odd = [(name, value) for name in X.columns if (value := _no_number(X[name])) is not None]
    if not odd:
        return
    shown = ", ".join(f"{name!r} (such as {value!r})" for name, value in odd[:NAMES_SHOWN])
    more = f", and {len(odd) - NAMES_SHOWN} more" if len(odd) > NAMES_SHOWN else ""
    raise GuidedValueError(
        f"X has {many(len(odd), 'column')} without numbers: {shown}{more}.",
        "Leave such columns out, or turn them into numbers: "
        "sklearn.preprocessing.OneHotEncoder() makes a column of each category.",
        "X",
    ) from error


def _no_number(column: Any) -> Any:
    """Return the first value of a column that is no number; None if all are, or are missing."""
    try:
        np.asarray(column, dtype=float)
    except (TypeError, ValueError):
        for value in column:
            try:
                float(np.nan if is_missing(value) else value)
            except (TypeError, ValueError):
                return value
    return None


def check_spread(X: Matrix, names: NDArray[Any] | None = None) -> None:
    """Refuse features that vary so little that the squares of their differences underflow."""
    faint = faint_columns(X)
    if len(faint):
        name = f"feature {faint[0]}" if names is None else f"feature {names[faint[0]]!r}"
        raise GuidedValueError(
            f"{many(len(faint), 'feature')} of X {'varies' if len(faint) == 1 else 'vary'} by less "
            f"than {FAINT:g}{', first of all ' if len(faint) > 1 else ': '}{name}. The squares of "
            "so small differences underflow to 0.",
            "Use larger units, for example by sklearn.preprocessing.MinMaxScaler().",
            "X",
        )


def too_large(error: FloatingPointError) -> GuidedValueError:
    """Explain an overflow by the values that caused it."""
    return GuidedValueError(
        f"X has values so large that their squares overflow ({error}).",
        "Scale the features, for example with sklearn.preprocessing.StandardScaler().",
        "X",
    )


def check_labels(y: Any) -> Any:
    """Refuse what cannot be class labels; -1, None and NaN are looked at later."""
    labels = np.asarray(y)
    if labels.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{labels}\n")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.dtype.kind == "f":
        whole = labels[labels == labels]
        if np.isinf(whole).any() or (whole != np.floor(whole)).any():
            odd = whole[np.isinf(whole) | (whole != np.floor(whole))][0]
            raise GuidedValueError(
                f"y has the value {odd:g}, but classes are whole numbers or text, with -1, None or "
                "NaN for unlabelled samples.",
                "Cut a continuous target into classes first.",
            )
    return labels


def index_of(X: Any) -> Iterable[Hashable] | None:
    """Return the index of a pandas frame, whose labels stay with their rows in a fold."""
    return X.index if hasattr(X, "iloc") and hasattr(X, "index") else None
