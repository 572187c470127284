"""Checks of what a user passes in: samples, labels, the index of a frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils._array_api import _max_precision_float_dtype
from sklearn.utils.validation import (
    validate_data,
)

from linkselect._arrays import Matrix
from linkselect._messages import (
    GuidedTypeError,
    GuidedValueError,
    RoundedFeaturesWarning,
    many,
    warn_user,
)
from linkselect._samples.degenerate import FAINT, faint_columns, is_rounded, rounded_columns
from linkselect._samples.devices import device_of
from linkselect._samples.sources import Stored, find_stored
from linkselect.pairs._labels import is_missing, label_array, warn_of_text

# How many columns an error names.
NAMES_SHOWN = 5
# How pandas and polars begin the types of dates and spans of time.
TIMES = ("date", "time", "duration")


# Sums of a thousand million squares of this are finite.
LARGEST_ON_DEVICE = 1e149
TAKE_ROWS = "Pass some of the rows: linkselect.open_stored(X).take(rows) reads them into memory."
TO_THE_CPU = "Convert it: X.cpu().numpy() for torch, cupy.asnumpy(X) for cupy."


def check_samples(estimator: BaseEstimator, X: Any) -> Matrix:
    """Check X as scikit-learn does: numbers, finite, two samples or more; dense, CSR or CSC.

    With scikit-learn's `array_api_dispatch` on, an array of another library stays as it is.
    """
    if (stored := find_stored(X)) is not None:
        return check_stored(estimator, stored)
    check_library(estimator, X)
    _check_names(X)
    given = X = without_mask(X)
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
        # A frame of polars that mixes numbers with text passes the check as an array of objects.
        if isinstance(X, np.ndarray) and X.dtype.kind in "OUS":
            X = X.astype(np.float64)
    except (TypeError, ValueError) as error:
        _name_columns_without_numbers(given, error)
        _name_columns_with_gaps(given, error)
        raise
    # Categories are compared as they are, and a selector inside another says it itself.
    as_it_is = getattr(estimator, "wraps", False) or getattr(estimator, "_takes_categories", False)
    if not (as_it_is and X.dtype.kind in "iu"):
        warn_of_rounding(_rounded(given, X))
    return each_entry_once(X)


def _rounded(given: Any, X: Matrix) -> list[Hashable]:
    """Name the columns that lose differences between whole numbers when they become float64."""
    if not _is_frame(given):
        return rounded_columns(X).tolist()
    if X.dtype.kind in "iu":
        return [given.columns[place] for place in rounded_columns(X)]
    # Beside a column of floats all have become floats.
    kinds = [str(kind).lower().partition("64")[0] for kind in given.dtypes]
    return [
        name
        for name, kind in zip(given.columns, kinds, strict=True)
        if kind in ("int", "uint") and is_rounded(np.asarray(given[name], f"{kind}64")).any()
    ]


def warn_of_rounding(names: Sequence[Hashable]) -> None:
    """Warn of features whose whole numbers float64 does not hold."""
    if names:
        shown = _listed([repr(name) for name in names])
        warn_user(
            f"{many(len(names), 'feature')} of X {'has' if len(names) == 1 else 'have'} whole "
            f"numbers above 2^53, which float64 rounds, so that small differences are lost: "
            f"{shown}.",
            RoundedFeaturesWarning,
            way_out="Subtract the least value of the column before, or leave out ids.",
        )


def without_mask(X: Any) -> Any:
    """Return a masked array as a plain one, with NaN for what is masked: NumPy drops the mask."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    return np.where(X.mask, np.nan, X.data) if X.mask.any() else X.data


def each_entry_once(X: Matrix) -> Matrix:
    """Add up entries of a sparse matrix that are stored twice, and leave stored zeros out.

    The former would count twice in a sum of squares, and the latter change the order of a sum.
    """
    if issparse(X) and not (X.has_canonical_format and X.data.all()):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def check_stored(estimator: BaseEstimator, X: Stored) -> Stored:
    """Refuse stored samples if the estimator needs them in memory; they are not read yet."""
    name = type(estimator).__name__
    if not getattr(estimator, "_reads_parts", False):
        raise _needs_memory(name, X, getattr(estimator, "_instead_of_parts", TAKE_ROWS))
    if X.shape[0] < 2:
        raise GuidedValueError(
            f"Found array with {many(X.shape[0], 'sample')} (shape={X.shape}) while a minimum of 2 "
            f"is required by {name}."
        )
    found: Any = estimator
    found.n_features_in_ = X.shape[1]
    if X.names is not None:
        found.feature_names_in_ = np.asarray(X.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del found.feature_names_in_
    return X


def refuse_stored(who: str, X: Any, way_out: str = TAKE_ROWS) -> None:
    """Refuse stored samples: turned into an array, they would be read whole without a word."""
    if (stored := find_stored(X)) is not None:
        raise _needs_memory(who, stored, way_out)


def _needs_memory(who: str, X: Stored, way_out: str) -> GuidedTypeError:
    return GuidedTypeError(
        f"{who} needs all samples in memory, but X is {X.label}, which is read part by part.",
        way_out,
        "X",
    )


def check_library(estimator: BaseEstimator, X: Any) -> None:
    """Refuse arrays that are to stay on their device if the estimator does not work there."""
    here = device_of(X)
    if here is None or not get_config()["array_api_dispatch"]:
        return
    if not get_tags(estimator).array_api_support:
        raise GuidedTypeError(
            f"{type(estimator).__name__} works on the CPU only, but X is a "
            f"{type(X).__module__.split('.')[0]} array and array_api_dispatch is on.",
            TO_THE_CPU,
            "X",
        )
    if _max_precision_float_dtype(here.xp, here.device) != here.xp.float64:
        raise GuidedTypeError(
            f"X is on the device {here.device}, which has no float64, and scores are computed in "
            "float64.",
            TO_THE_CPU,
            "X",
        )


def _is_frame(X: Any) -> bool:
    """Whether X is a data frame, of pandas, polars or another library."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def _holds_times(X: Any) -> bool:
    """Whether an array or a frame has dates or spans of time, which NumPy would count silently."""
    if _is_frame(X):
        return any(str(dtype).lower().startswith(TIMES) for dtype in X.dtypes)
    return getattr(getattr(X, "dtype", None), "kind", "") in ("m", "M")


def _check_names(X: Any) -> None:
    """Refuse a frame in which two columns have one name, which then tells neither of them."""
    if not _is_frame(X):
        return
    names = list(X.columns)
    if not names:
        raise GuidedValueError("X has no columns, so there is nothing to rank.", parameter="X")
    if len(set(names)) == len(names):
        return
    twice = [name for name, n in Counter(names).items() if n > 1]
    raise GuidedValueError(
        f"X has {many(len(twice), 'name')} that several columns share: "
        f"{_listed([repr(name) for name in twice])}.",
        "Give each column its own, or keep the first of each: X.loc[:, ~X.columns.duplicated()].",
        "X",
    )


def _name_columns_without_numbers(X: Any, error: Exception) -> None:
    """Raise an error that names the columns of a frame that hold no numbers, if there are any."""
    if not _is_frame(X):
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
    """Say which columns lack values, and how to fill them, instead of scikit-learn's advice."""
    if "contains NaN" not in str(error):
        return
    lacking = _gaps(X)
    if lacking:
        # What else scikit-learn says is about classifiers that take missing values.
        shown = _listed([f"{name!r} ({many(n, 'value')})" for name, n in lacking])
        raise GuidedValueError(
            f"Input X contains NaN. Missing in {many(len(lacking), 'column')}: {shown}.",
            "Fill them, for example by sklearn.impute.SimpleImputer().",
            "X",
        ) from error


def _gaps(X: Any) -> list[tuple[Hashable, int]]:
    """Return the columns of a frame or an array that lack values, and how many each lacks."""
    if _is_frame(X):
        counts = [
            (name, sum(is_missing(value, minus_one=False) for value in X[name]))
            for name in X.columns
        ]
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f":
        counts = list(enumerate(np.isnan(X).sum(axis=0).tolist()))
    else:
        return []
    return [(name, n) for name, n in counts if n]


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
    check_size(X)
    faint = faint_columns(X)
    if len(faint):
        name = f"feature {faint[0]}" if names is None else f"feature {names[faint[0]]!r}"
        raise GuidedValueError(
            f"{many(len(faint), 'feature')} of X {'varies' if len(faint) == 1 else 'vary'} by less "
            f"than {FAINT:g}{', first of all ' if len(faint) > 1 else ': '}{name}. The squares of "
            "so small differences underflow to 0.",
            # The scalers of scikit-learn would take so small a range for rounding.
            "Use larger units: divide each of them by its range.",
            "X",
        )


def check_size(X: Matrix) -> None:
    """Refuse values on a device whose squares overflow there without notice."""
    here = device_of(X)
    if here is None or here.xp.float64 != X.dtype:
        return
    if max(float(here.xp.max(X)), -float(here.xp.min(X))) > LARGEST_ON_DEVICE:
        raise too_large(FloatingPointError("overflow encountered in square"))


def too_large(error: FloatingPointError) -> GuidedValueError:
    """Explain an overflow by the values that caused it."""
    return GuidedValueError(
        f"X has values so large that their squares overflow ({error}).",
        "Scale the features, for example with sklearn.preprocessing.StandardScaler().",
        "X",
    )


@contextmanager
def explained_overflow() -> Iterator[None]:
    """Refuse samples whose squared differences overflow, as the selectors do."""
    try:
        with np.errstate(over="raise"):
            yield
    except FloatingPointError as error:
        raise too_large(error) from error


def check_labels(y: Any) -> Any:
    """Refuse what cannot be class labels; -1, None and NaN are looked at later."""
    warn_of_text(y)
    labels = label_array(y)
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


def check_all_labelled(name: str, y: NDArray[Any]) -> None:
    """Refuse labels of which some are missing, for the method of that name."""
    if y.dtype.kind in "fmM":
        n_missing = int(np.count_nonzero(y != y))
    elif y.dtype.kind == "O":
        n_missing = sum(is_missing(label, minus_one=False) for label in y)
    else:
        return
    if n_missing:
        raise GuidedValueError(
            f"y has {many(n_missing, 'missing label')} (None, NaN or empty text), but {name} needs "
            "a label for every sample.",
            "Use a method that takes some labels, such as SCGS or LSDF, or pass the labelled "
            "samples only.",
            "y",
        )


def index_of(X: Any) -> Iterable[Hashable] | None:
    """Return the index of a pandas frame, whose labels stay with their rows in a fold."""
    return X.index if hasattr(X, "iloc") and hasattr(X, "index") else None
