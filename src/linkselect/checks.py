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
# How pandas and polars begin the types of dates and spans of time.
TIMES = ("date", "time", "duration")


def check_samples(estimator: BaseEstimator, X: Any) -> Matrix:
    """Check X as scikit-learn does: numbers, finite, two samples or more; dense, CSR or CSC."""
    given = X
    try:
        if _holds_times(given):
            raise TypeError("X holds dates or spans of time, which are no numbers.")
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
        _name_columns_with_gaps(given, error)
        raise
    if issparse(X) and not (X.has_canonical_format and X.data.all()):
        # Entries that are stored twice would count twice, and stored zeros in another order.
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def _holds_times(X: Any) -> bool:
    """Whether an array or a frame has dates or spans of time, which NumPy would count silently."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return any(str(dtype).lower().startswith(TIMES) for dtype in X.dtypes)
    return getattr(getattr(X, "dtype", None), "kind", "") in ("m", "M")


def _name_columns_without_numbers(X: Any, error: Exception) -> None:
    """Raise an error that names the columns of a frame that hold no numbers, if there are any."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    odd = [(name, value) for name in X.columns if (value := _no_number(X[name])) is not None]
    if not odd:
        return
    shown = _listed([f"{name!r} (such as {str(value)!r})" for name, value in odd])
    raise GuidedValueError(
        f"X has {many(len(odd), 'column')} without numbers: {shown}.",
        "Leave such columns out, or turn them into numbers: "
        "sklearn.preprocessing.OneHotEncoder() makes a column of each category, and "
        "(date - date.min()).dt.days counts days.",
        "X",
    ) from error


def _name_columns_with_gaps(X: Any, error: Exception) -> None:
    """Add the columns of a frame that lack values to what scikit-learn says about NaN."""
    if "contains NaN" not in str(error) or not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    lacking = [(name, n) for name in X.columns if (n := sum(map(is_missing, X[name])))]
    if lacking:
        shown = _listed([f"{name!r} ({many(n, 'value')})" for name, n in lacking])
        first, *others = str(error).split("\n")
        raise GuidedValueError(
            f"{first} Missing in {many(len(lacking), 'column')}: {shown}.",
            "\n".join(["Fill them, for example by sklearn.impute.SimpleImputer().", *others]),
            "X",
        ) from error


def _listed(names: list[str]) -> str:
    more = f", and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more


def _no_number(column: Any) -> Any:
    """Return the first value of a column that is no number; None if all are, or are missing."""
    values = np.asarray(column)
    if values.dtype.kind in "mM":
        # NumPy would count nanoseconds, but dates do not go together with numbers.
        return next((value for value in column if not is_missing(value)), values.dtype)
    try:
        values.astype(float)
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
